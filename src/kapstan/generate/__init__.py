"""Generators: CRD, RBAC and webhook manifests from Python types, and Python types from CRDs."""
