"""Real Kubernetes components as processes: find or build the programs, configure them, run them.

`assets` finds programs, `controlplane` runs a whole control plane. What that is made of can be put together otherwise:
`certificates` and `kubeconfig`, the arguments of `etcd`, `apiserver`, `controllermanager` and `scheduler`, and
`process`, which keeps a program running. Modules are imported by name: this package imports none of them, so that what
needs one of them does not pay for all.
"""
