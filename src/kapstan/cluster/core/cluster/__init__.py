"""The Cluster controller: infrastructure and control plane of a cluster, and what is known of its machines."""
