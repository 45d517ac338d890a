"""The `docker` engine: build, run and transfer images. The only package that imports the Docker SDK."""
