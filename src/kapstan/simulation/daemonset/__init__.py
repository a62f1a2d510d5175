"""DaemonSets: one pod on every node that it may run on."""
