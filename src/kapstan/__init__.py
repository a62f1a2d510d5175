"""Cluster API in Python, and the operator SDK it is built with."""

__version__ = "0.1.0"
