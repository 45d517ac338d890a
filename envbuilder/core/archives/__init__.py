"""Read untrusted archives and layers within limits, and write their contents below one directory."""
