"""Run the probe in a container or on this host, and decode its facts."""
