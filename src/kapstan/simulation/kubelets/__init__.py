"""Kubelets: computers that are not there, as nodes of a cluster."""
