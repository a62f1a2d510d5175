"""MachineSet: so many machines, all alike."""
