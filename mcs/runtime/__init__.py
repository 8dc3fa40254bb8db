"""What carries decisions: reflectors, caches, work queues, the fleet of clusters, the executor of actions."""
