{{/* What a controller asks of every member. */}}
{{- define "mcs.readingRules" -}}
- {apiGroups: [""], resources: [namespaces, nodes, services], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
- {apiGroups: [multicluster.x-k8s.io], resources: [serviceexports, serviceimports], verbs: [list, watch]}
- {apiGroups: [about.k8s.io], resources: [clusterproperties], verbs: [get]}
{{- end -}}

{{/* What it asks besides of the members that it writes to. */}}
{{- define "mcs.writingRules" -}}
- {apiGroups: [""], resources: [services], verbs: [create, patch, delete]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [create, patch, delete]}
# OpenShift asks for it before a slice may hold addresses of pods.
- {apiGroups: [discovery.k8s.io], resources: [endpointslices/restricted], verbs: [create]}
- {apiGroups: [multicluster.x-k8s.io], resources: [serviceimports], verbs: [get, create, patch, delete]}
- {apiGroups: [multicluster.x-k8s.io], resources: [serviceexports/status, serviceimports/status], verbs: [patch]}
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- if .Values.autoExport }}
- {apiGroups: [multicluster.x-k8s.io], resources: [serviceexports], verbs: [get, create, patch, delete]}
{{- end }}
{{- end -}}

{{/* Whom the controllers of other clusters work here as: the hub, which writes, or those of a mesh, which read. */}}
{{- define "mcs.accessName" -}}
{{ include "mcs.name" . }}-{{ ternary "reader" "hub" (eq .Values.shape "mesh") }}
{{- end -}}

{{/* What it takes to propagate any kind to a member, roles included. */}}
{{- define "mcs.federationEverything" -}}
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch, create, patch, delete]}
# An API server lets nobody write a role that may do more than he may himself, but who has these verbs.
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, roles], verbs: [bind, escalate]}
{{- end -}}

{{/* What federation asks of the host, in the namespace of the registrations alone. */}}
{{- define "mcs.typesRules" -}}
- {apiGroups: [core.kubefed.io], resources: [federatedtypeconfigs], verbs: [list, watch, patch]}
- {apiGroups: [core.kubefed.io], resources: [federatedtypeconfigs/status], verbs: [patch]}
- {apiGroups: [core.kubefed.io], resources: [kubefedconfigs], verbs: [list, watch]}
{{- end -}}

{{/* What federation asks of the host, in all namespaces. */}}
{{- define "mcs.federatedRules" -}}
# Which kinds there are in this group is known to who enables them.
- {apiGroups: [types.kubefed.io], resources: ["*"], verbs: [list, watch, patch]}
- {apiGroups: [core.kubefed.io], resources: [clusterpropagatedversions, propagatedversions], verbs: [list, watch, create, patch, delete]}
- {apiGroups: [core.kubefed.io], resources: [clusterpropagatedversions/status, propagatedversions/status], verbs: [patch]}
- {apiGroups: [scheduling.kubefed.io], resources: [replicaschedulingpreferences], verbs: [list, watch]}
- {apiGroups: [scheduling.kubefed.io], resources: [replicaschedulingpreferences/status], verbs: [patch]}
# Whether a member is the host itself is seen by the uid of a namespace.
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- end -}}

{{/* What a controller asks of the host, in the namespace of the registrations alone. */}}
{{- define "mcs.registryRules" -}}
# Tokens that end are replaced there.
- {apiGroups: [""], resources: [secrets], verbs: [list, watch, patch]}
# It registers the kubeconfigs of labelled Secrets.
- {apiGroups: [core.kubefed.io], resources: [kubefedclusters], verbs: [get, list, watch, create, patch]}
- {apiGroups: [core.kubefed.io], resources: [kubefedclusters/status], verbs: [patch]}
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- end -}}
