"""Control plane providers."""
