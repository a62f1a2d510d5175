"""PodSecurity: how far pods may reach beyond themselves, by labels of their namespace."""
