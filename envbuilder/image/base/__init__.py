"""Bases and interpreters that are made here: Debian trees, interpreter archives."""
