"""The clusterset of `mcs sandbox`: its clusters, its sample, what it shows and what it checks."""
