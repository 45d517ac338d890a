"""The HTTP client: certificates, proxies, credentials, connections, limits."""
