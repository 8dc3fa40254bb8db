"""The `mcs` command."""
