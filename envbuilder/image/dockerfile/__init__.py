"""Render a plan as a Dockerfile. The only package that imports jinja2."""
