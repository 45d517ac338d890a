"""Facts that the probe reports, as typed values without an opinion."""
