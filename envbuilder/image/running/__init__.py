"""Run commands in images without a daemon: in a sandbox, by Apptainer, by podman."""
