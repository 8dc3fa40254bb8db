{{/* What the objects of a release are called by: "mcs" for the release mcs, "prod-mcs" for prod. */}}
{{- define "mcs.name" -}}
{{- ternary .Release.Name (printf "%s-mcs" .Release.Name) (contains "mcs" .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "mcs.selector" -}}
app.kubernetes.io/name: mcs
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of objects that belong to no component; those of one add app.kubernetes.io/component. */}}
{{- define "mcs.labels" -}}
{{ include "mcs.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
