"""Render a plan as a Dockerfile."""
