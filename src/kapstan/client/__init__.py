"""Talking to a Kubernetes API server: configuration, authentication, transport, and the typed client."""
