"""What a cluster does by itself: controllers, scheduler and kubelets in short, so that workloads become endpoints."""
