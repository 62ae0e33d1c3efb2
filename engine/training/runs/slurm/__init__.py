"""Runs on a cluster: Slurm jobs that work in the same folders."""
