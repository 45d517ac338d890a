"""Facts about images and machines, checks of them, and causes of failures."""
