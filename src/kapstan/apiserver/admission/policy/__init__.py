"""Admission policies: rules and changes written as expressions, which need no webhook."""
