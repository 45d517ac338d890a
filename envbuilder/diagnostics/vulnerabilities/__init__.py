"""Known vulnerabilities of the packages of an image, from databases in the OSV schema."""
