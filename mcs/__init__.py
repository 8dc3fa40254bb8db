"""Kubernetes Multi-Cluster Services controller (KEP-1645): exports of all clusters become imports in each."""

__version__ = "0.1.0"
