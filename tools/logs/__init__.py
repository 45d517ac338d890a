"""Failures made for real on this machine, and how to make them again: `python -m tools.make_logs`."""

from tools.logs import containers, installs, keras, machine, no_gpu, standins, user_code
from tools.logs.recipes import RECIPES as ALL

__all__ = ["ALL", "containers", "installs", "keras", "machine", "no_gpu", "standins", "user_code"]
