"""Infrastructure providers: what clusters and machines are made of."""
