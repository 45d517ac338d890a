"""From lock to ordered layers: the only place that decides what a layer is."""
