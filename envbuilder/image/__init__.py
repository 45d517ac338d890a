"""From lock to image: plan, engines, layers, bases, delivery."""
