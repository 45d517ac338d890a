"""Which environments fit what was asked for and the machines at hand, and why; if none, what to change."""
