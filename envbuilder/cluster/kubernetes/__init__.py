"""Kubernetes: node affinity, manifests and admission policies of an image."""
