{{- define "regwarden.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "regwarden.selector" -}}
app.kubernetes.io/name: regwarden
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "regwarden.meta" -}}
name: {{ include "regwarden.name" . }}
namespace: {{ .Release.Namespace }}
{{ include "regwarden.labels" . }}
{{- end }}

{{- define "regwarden.labels" -}}
labels:
  {{- include "regwarden.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "regwarden.account" -}}
{{ .Values.serviceAccount.name | default (include "regwarden.name" .) }}
{{- end }}

{{- define "regwarden.secret" -}}
{{ .Values.secret.existing | default (include "regwarden.name" .) }}
{{- end }}

{{- define "regwarden.rules" -}}
- {apiGroups: [""], resources: [secrets, serviceaccounts], verbs: [list, watch]}
- {apiGroups: [""], resources: [events], verbs: [create]}
- {apiGroups: [source.toolkit.fluxcd.io], resources: [helmrepositories, ocirepositories], verbs: [list, watch]}
- {apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [list, watch]}
- {apiGroups: [image.toolkit.fluxcd.io], resources: [imagerepositories], verbs: [list, watch]}
- {apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [list, watch]}
- {apiGroups: [""], resources: [configmaps], resourceNames: [argocd-tls-certs-cm], verbs: [list, watch]}
{{- end }}
