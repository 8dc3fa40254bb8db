"""A Kubernetes API server in memory, its workloads and a demonstration clusterset, for laptops and fast tests."""
