"""Webhooks: defaulting, validation and conversion of objects, asked for by the API server over TLS."""
