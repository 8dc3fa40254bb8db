"""Services with EndpointSlices written by hand, for API servers beside which no kube-controller-manager runs."""

from __future__ import annotations

from tests.real.workloads import EXPORT

WEB = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - {name: http, port: 80, targetPort: 8080}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports:
- {name: http, port: 8080, protocol: TCP}
endpoints:
- addresses: [10.1.0.7]
  conditions: {ready: true}
"""
HEADLESS_DB = """
apiVersion: v1
kind: Service
metadata: {name: db}
spec:
  clusterIP: None
  ports:
  - {name: sql, port: 5432}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-1
  labels: {kubernetes.io/service-name: db}
addressType: IPv4
ports:
- {name: sql, port: 5432, protocol: TCP}
endpoints:
- addresses: [10.1.0.8]
  hostname: db-0
  conditions: {ready: true}
- addresses: [10.1.0.9]
  hostname: db-1
  conditions: {ready: false}
"""


def exports_of(*names: str) -> str:
    """A ServiceExport for each name."""
    return "---".join(EXPORT.replace("NAME", name) for name in names)
