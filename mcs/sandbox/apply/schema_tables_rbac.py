"""Field tables of the kinds of rbac.authorization.k8s.io, in the notation that `schemas` reads.

The sandbox stores who may do what and heeds none of it: whoever has a token may do everything.
"""

TYPES = """
Role: [PolicyRule]+ rules
ClusterRole: [PolicyRule]+ rules; AggregationRule aggregationRule
RoleBinding: RoleRef!+ roleRef; [Subject] subjects
ClusterRoleBinding: RoleRef!+ roleRef; [Subject] subjects
PolicyRule: [string] apiGroups nonResourceURLs resourceNames resources; [string]+ verbs
AggregationRule: [LabelSelector] clusterRoleSelectors
RoleRef: string+ apiGroup kind name
Subject: string apiGroup namespace; string+ kind name
"""
