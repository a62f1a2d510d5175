"""Real Kubernetes components as processes: find or build the programs, configure them, run them."""
