"""Failures made for real on this machine, and how to make them again: `python -m tests.repo.make_logs`."""

from tests.repo.logs import containers, installs, keras, machine, no_gpu, standins, user_code
from tests.repo.logs.recipes import RECIPES as ALL

__all__ = ["ALL", "containers", "installs", "keras", "machine", "no_gpu", "standins", "user_code"]
