"""Certificate signing requests: read, approved and signed as kube-controller-manager does."""
