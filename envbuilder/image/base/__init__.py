"""Bases and interpreters: Debian trees, interpreter archives, registry images."""
