"""API machinery: everything about Kubernetes objects that needs no I/O."""
