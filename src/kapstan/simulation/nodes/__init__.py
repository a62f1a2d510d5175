"""Nodes: which of them live, what taints them, and what becomes of the pods of those that do not."""
