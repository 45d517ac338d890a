"""Read Debian archives and unpack .deb packages without dpkg."""
