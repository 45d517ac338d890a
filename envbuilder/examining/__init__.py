"""What is wrong with this machine, and what to do about it: facts and surroundings to findings."""
