{{- define "portico.image" -}}
image: {{ .Values.image }}
{{- end }}

{{- /* files/portico.yaml with the names of this release, and the settings of the values. */}}
{{- define "portico.configuration" -}}
{{- $url := printf "https://%s" .Values.ingress.host }}
{{- $service := printf "%s-operations" .Release.Name }}
{{- $names := list "localhost" $service }}
{{- range list .Release.Namespace (printf "%s.svc" .Release.Namespace) (printf "%s.svc.cluster.local" .Release.Namespace) }}
{{- $names = append $names (printf "%s.%s" $service .) }}
{{- end }}
{{- $own := dict "publicUrl" $url "tokens" (dict "issuer" $url) "listen" (dict "operationsAllowedHosts" $names) }}
{{- $settings := .Files.Get "files/portico.yaml" | fromYaml }}
{{- with .Values.storage }}
{{- $_ := set $settings.files "storage" . }}
{{- end }}
{{- mergeOverwrite $settings $own .Values.configuration | toYaml }}
{{- end }}

{{- define "portico.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "portico.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
{{- end }}

{{- define "portico.env" -}}
- { name: PORTICO_PROFILE, value: production }
- { name: PORTICO_CONFIG, value: /etc/portico/portico.yaml }
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
