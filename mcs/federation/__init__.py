"""Placement, division of replicas, overrides and propagation of federated objects. Pure."""
