"""Processes of this machine: locks, signals, ports, small files, and the programs that run beside the job."""
