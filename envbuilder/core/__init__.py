"""What every district builds on: errors, versions, names, YAML, HTTP, archives, files. Knows nothing of images."""
