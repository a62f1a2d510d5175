"""The embedded API server in the clothes of `kube-apiserver` and `etcd`, as Go's envtest starts them.

A test suite with controller-runtime's `envtest` finds its programs in the folder that `KUBEBUILDER_ASSETS` names. The
folder that `assets.write` makes has programs of the same names and flags, behind which is the embedded server.
"""
