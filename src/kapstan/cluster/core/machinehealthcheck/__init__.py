"""MachineHealthCheck: finds machines that are not well, and has them replaced."""
