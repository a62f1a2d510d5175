"""Deployments: ReplicaSets, one for each revision of a template, and the way from one to the next."""
