"""Templates of clusters: manifests with variables, in flavors that come with the product or from files."""
