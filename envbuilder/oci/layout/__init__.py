"""OCI layouts, archives, squashfs files and unpacked root file systems."""
