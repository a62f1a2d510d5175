"""Clusters as Kubernetes objects: the product."""
