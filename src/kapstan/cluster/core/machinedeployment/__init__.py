"""MachineDeployment: machines that are replaced step by step when their template changes."""
