"""The registry: the verbs of the API over storage, with Kubernetes' rules."""
