"""Controllers: what keeps a cluster in order by itself, as kube-controller-manager does for a real one."""
