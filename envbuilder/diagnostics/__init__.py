"""Facts about images and machines, checks of them, and the causes of failures."""
