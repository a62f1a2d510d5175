"""The core controllers: clusters and their machines, whatever the provider."""
