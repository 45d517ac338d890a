"""Fleets: scripts that probe every node, and the collected facts judged together."""
