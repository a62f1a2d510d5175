"""Cluster API's own controllers, in Go: built from its modules, and run as processes on any API server."""
