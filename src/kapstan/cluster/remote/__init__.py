"""Connections to workload clusters, and caches of what core reads there."""
