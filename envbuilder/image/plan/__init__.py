"""From lock to plan: the one place that decides what a layer is."""
