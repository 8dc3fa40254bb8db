"""The only door to an API server: configuration, credentials, list and watch, server-side apply, typed errors."""
