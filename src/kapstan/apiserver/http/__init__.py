"""HTTP: requests become Requests, outcomes become responses. Only `front` knows which HTTP server is used."""
