"""SimulatedMachine: from a Machine that asks for a computer to a node, and back."""
