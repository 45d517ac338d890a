"""Libraries of vendor archives: fetched, taken out unmodified, and placed in an image."""
