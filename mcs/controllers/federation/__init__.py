"""Carries out federation: types that come and go, their objects in the members, and the replicas of each cluster.

What is done is decided in `mcs.federation`.
"""
