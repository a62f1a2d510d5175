"""A cluster's certificate authorities, service-account keys and kubeconfigs, and the Secrets that hold them."""
