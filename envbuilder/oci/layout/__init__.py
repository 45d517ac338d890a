"""Where images go without a daemon: OCI layouts, archives, squashfs files, unpacked root file systems."""
