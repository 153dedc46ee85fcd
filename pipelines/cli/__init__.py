"""The command line `pts`, and what it wires into the jobs that it starts."""
