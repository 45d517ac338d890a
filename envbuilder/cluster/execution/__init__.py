"""Run one command for many environments, on this machine or on a cluster."""
