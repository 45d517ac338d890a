"""Every parser of outside data gets damaged, hostile and random input: a value or our error, within bounds."""
