"""Runtimes: what runs the components of a control plane, behind one interface."""
