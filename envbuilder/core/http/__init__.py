"""HTTP: certificates, proxies, credentials and connections, for everything that this package downloads."""
