"""What operators ask over HTTP: metrics, health and readiness."""
