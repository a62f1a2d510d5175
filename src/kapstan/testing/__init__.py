"""Test environments: a management cluster for tests, on the embedded or on the real API server."""
