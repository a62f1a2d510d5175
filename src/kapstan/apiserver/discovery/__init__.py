"""Discovery: what the server serves, told to clients: groups, resources, OpenAPI, version and health."""
