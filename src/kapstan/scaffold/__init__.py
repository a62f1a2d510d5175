"""Scaffolding: an operator's project, made and extended by commands.

A project is a pure function of its PROJECT file: `project_files(project)` is every file that the scaffold has a say
in. A command changes the PROJECT file, and what follows from the change is merged into the files that are there, so
that nobody's edits are lost and nothing has to be marked for machines.
"""
