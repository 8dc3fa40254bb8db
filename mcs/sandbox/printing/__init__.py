"""What `kubectl get` prints: columns and cells, as Tables."""
