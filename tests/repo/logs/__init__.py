"""Failures made for real on this machine, and how to make them again: `python -m tests.repo.make_logs`."""

from tests.repo.logs import installs, keras, machine, no_gpu, standins, user_code
from tests.repo.logs.recipes import RECIPES as ALL

__all__ = ["ALL", "installs", "keras", "machine", "no_gpu", "standins", "user_code"]
