"""Write tar archives whose bytes depend on their content only."""
