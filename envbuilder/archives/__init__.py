"""Read archives from strangers, and write what they hold below one directory."""
