"""Simulated infrastructure: computers that exist in the manager's memory only. Their nodes are real to API servers."""
