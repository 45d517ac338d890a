"""Run commands in a root file system, isolated from this machine: by runc, or by namespaces of the kernel."""
