"""Known vulnerabilities of the packages of a lock, from databases in the OSV schema."""
