"""The registry client: pull by digest, push, referrers."""
