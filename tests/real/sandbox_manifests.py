"""What the tests of kubectl on the sandbox apply: a small web service of one namespace, and its export."""

from __future__ import annotations


def shopfront(*, replicas: int = 2, port: int = 80) -> str:
    """A Deployment, its Service and its export, for `kubectl apply --namespace NAMESPACE -f -`."""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shopfront
  labels: {{app: shopfront}}
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{app: shopfront}}
  template:
    metadata:
      labels: {{app: shopfront}}
    spec:
      containers:
      - name: shopfront
        image: registry.k8s.io/pause:3.10
        ports:
        - {{name: http, containerPort: 8080}}
---
apiVersion: v1
kind: Service
metadata:
  name: shopfront
spec:
  selector: {{app: shopfront}}
  ports:
  - {{name: http, port: {port}, targetPort: http}}
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata:
  name: shopfront
"""


def export_of(service: str) -> str:
    """The export of a Service."""
    return f"""
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata:
  name: {service}
"""


def in_namespace(manifest: str, namespace: str) -> str:
    """The manifest with the namespace written into each object."""
    return manifest.replace("\nmetadata:\n", f"\nmetadata:\n  namespace: {namespace}\n")
