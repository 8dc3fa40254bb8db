"""The heart: exports and endpoints of all clusters become imports, derived Services, mirrored slices, conditions."""
