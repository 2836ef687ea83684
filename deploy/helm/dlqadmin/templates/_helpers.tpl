{{- define "dlqadmin.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels that select the pods of the release. */}}
{{- define "dlqadmin.releaseLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels that select the pods of one process: (list root component). */}}
{{- define "dlqadmin.selectorLabels" -}}
{{ include "dlqadmin.releaseLabels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels of an object: (list root component). */}}
{{- define "dlqadmin.labels" -}}
{{- $root := index . 0 -}}
{{ include "dlqadmin.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The image of a target of the Dockerfile: (list root target). */}}
{{- define "dlqadmin.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values.image (index . 1) -}}
{{- $name := $image.repository -}}
{{- with $root.Values.image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if $image.digest -}}
{{ $name }}@{{ $image.digest }}
{{- else -}}
{{ $name }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* A value as text. YAML's numbers are floats here, which would become 2e+07. */}}
{{- define "dlqadmin.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* A variable: (list name value). Kubernetes would replace $(NAME) and $$. */}}
{{- define "dlqadmin.variable" -}}
- name: {{ index . 0 }}
  value: {{ include "dlqadmin.text" (index . 1) | replace "$" "$$" | quote }}
{{- end -}}

{{/* A variable from a Secret: (list root name reference path). */}}
{{- define "dlqadmin.secretVariable" -}}
{{- $root := index . 0 -}}{{- $reference := index . 2 -}}{{- $path := index . 3 -}}
{{- $key := required (printf "%s has no key: set %s.key to the key of its Secret." $path $path) $reference.key -}}
{{- $secret := $reference.name | default $root.Values.existingSecret -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ required (printf "%s has no Secret: set existingSecret to the name of a Secret with the key %s, or set %s.name." $path $key $path) $secret }}
      key: {{ $key }}
{{- end -}}

{{/* Fail if a variable or option is a secret, or JSON with one: (list name path instead value). Helm stores values in
clear. */}}
{{- define "dlqadmin.refuseSecret" -}}
{{- $name := index . 0 -}}
{{- $isSecret := regexMatch "(?i)(PASSWORD|SECRETS?|TOKEN|KEYS?|JAAS[._]CONFIG|DATABASE_URL|REDIS_URL)$" $name -}}
{{- if has $name (list "OIDC_PROVIDERS" "OTHER_CLUSTERS" "CONNECT_CLUSTERS") -}}
{{- $isSecret = regexMatch "(password|secret|token|jaas\\.config)\"\\s*:" (toString (index . 3)) -}}
{{- end -}}
{{- if $isSecret -}}
{{- fail (printf "%s.%s is a secret: name its Secret in %s instead, so that its value is not in the release." (index . 1) $name (index . 2)) -}}
{{- end -}}
{{- end -}}

{{/* The name of a variable for an option of Kafka's clients: (list prefix option). */}}
{{- define "dlqadmin.optionVariable" -}}
{{ index . 0 }}_{{ index . 1 | upper | replace "." "_" }}
{{- end -}}

{{- define "dlqadmin.bootstrapServers" -}}
{{- required "kafka.bootstrapServers is empty: set it to the brokers, such as kafka-1.example.com:9092." .Values.kafka.bootstrapServers -}}
{{- end -}}

{{/* Options of Kafka's clients as variables: (list root prefix). */}}
{{- define "dlqadmin.kafkaEnv" -}}
{{- $root := index . 0 -}}{{- $prefix := index . 1 -}}
{{- range $option, $value := $root.Values.kafka.options }}
{{- include "dlqadmin.refuseSecret" (list $option "kafka.options" "kafka.secretOptions" $value) }}
{{ include "dlqadmin.variable" (list (include "dlqadmin.optionVariable" (list $prefix $option)) $value) }}
{{- end }}
{{- range $option, $reference := $root.Values.kafka.secretOptions }}
{{ include "dlqadmin.secretVariable" (list $root (include "dlqadmin.optionVariable" (list $prefix $option)) $reference (printf "kafka.secretOptions.%s" $option)) }}
{{- end }}
{{- end -}}

{{/* The variables of the dashboard. The migration runs before other objects exist, so there is no ConfigMap. */}}
{{- define "dlqadmin.dashboardEnv" -}}
{{- $root := . -}}
{{- $full := include "dlqadmin.fullname" . -}}
{{- if not .Values.hosts }}{{ fail "hosts is empty: list the names at which people open the dashboard." }}{{ end -}}
{{- $hosts := concat .Values.hosts (list "127.0.0.1" (printf "%s-web" $full) (printf "%s-web.%s.svc" $full .Release.Namespace)) -}}
{{- $engine := ternary (printf "http://%s-engine:8083" $full) "" .Values.engine.enabled -}}
{{- $own := dict
    "ALLOWED_HOSTS" (join "," $hosts)
    "DLQADMIN_URL" (printf "https://%s" (first .Values.hosts))
    "KAFKA_BOOTSTRAP_SERVERS" (include "dlqadmin.bootstrapServers" .)
    "ENGINE_URL" $engine
    "LOCAL_DIR" "/tmp/dlqadmin"
    "EXPORTS_DIR" "/var/lib/dlqadmin/exports" -}}
{{- /* merge would drop false and "". */}}
{{- range $name, $value := .Values.config }}{{ $_ := set $own $name $value }}{{ end }}
{{- range $name, $value := $own }}
{{- include "dlqadmin.refuseSecret" (list $name "config" "secretEnv" $value) }}
{{- if hasKey $root.Values.secretEnv $name }}{{ continue }}{{ end }}
{{ include "dlqadmin.variable" (list $name $value) }}
{{- end }}
{{- include "dlqadmin.kafkaEnv" (list . "KAFKA") }}
{{- range $name := list "SECRET_KEY" "DATABASE_URL" "REDIS_URL" }}
{{- if not (index $root.Values.secretEnv $name) }}{{ fail (printf "secretEnv.%s is missing: set its key, and the Secret's name in existingSecret." $name) }}{{ end }}
{{- end }}
{{- if and .Values.engine.enabled (not .Values.secretEnv.ENGINE_TOKEN) }}{{ fail "secretEnv.ENGINE_TOKEN is missing: set its key, or engine.enabled to false." }}{{ end }}
{{- range $name, $reference := .Values.secretEnv }}
{{- if and (eq $name "ENGINE_TOKEN") (not $own.ENGINE_URL) }}{{ continue }}{{ end }}
{{ include "dlqadmin.secretVariable" (list $root $name $reference (printf "secretEnv.%s" $name)) }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The security of a pod. The user is that of the Dockerfile. */}}
{{- define "dlqadmin.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  {{- toYaml .Values.seccompProfile | nindent 2 }}
{{- end -}}

{{- define "dlqadmin.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Where a pod runs: (list root values component). */}}
{{- define "dlqadmin.scheduling" -}}
{{- $root := index . 0 -}}{{- $values := index . 1 -}}{{- $component := index . 2 -}}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "dlqadmin.selectorLabels" (list $root $component) | fromYaml)) }}
  - {{ merge (dict) . $selector | toYaml | nindent 4 | trim }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a pod: (list root values component). */}}
{{- define "dlqadmin.podMetadata" -}}
{{- $values := index . 1 -}}
labels:
  {{- include "dlqadmin.labels" (list (index . 0) (index . 2)) | nindent 2 }}
  {{- with $values.podLabels }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The pod of a process of the dashboard: a dict with root, component, container, and withExports. */}}
{{- define "dlqadmin.dashboardPod" -}}
{{- $root := .root -}}
{{- $values := index $root.Values .component -}}
automountServiceAccountToken: false
# The variables of services such as KAFKA_SSL_PORT would be options of Kafka's clients.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds | default 30 }}
securityContext:
  {{- include "dlqadmin.podSecurityContext" $root | nindent 2 }}
{{- include "dlqadmin.scheduling" (list $root $values .component) }}
containers:
  - name: {{ .component }}
    image: {{ include "dlqadmin.image" (list $root "web") }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    {{- .container | nindent 4 }}
    env:
      {{- include "dlqadmin.dashboardEnv" $root | trim | nindent 6 }}
    resources:
      {{- toYaml $values.resources | nindent 6 }}
    securityContext:
      {{- include "dlqadmin.securityContext" $root | nindent 6 }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      {{- if .withExports }}
      - { name: exports, mountPath: /var/lib/dlqadmin/exports }
      {{- end }}
      {{- with $root.Values.extraVolumeMounts }}{{ toYaml . | nindent 6 }}{{ end }}
volumes:
  - { name: tmp, emptyDir: {} }
  {{- if .withExports }}
  - name: exports
    {{- if $root.Values.exports.persistence.enabled }}
    persistentVolumeClaim:
      claimName: {{ $root.Values.exports.persistence.existingClaim | default (printf "%s-exports" (include "dlqadmin.fullname" $root)) }}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- end }}
  {{- with $root.Values.extraVolumes }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end -}}

{{/* The Deployment of a process of the dashboard: as above, with replicas and strategy. */}}
{{- define "dlqadmin.deployment" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "dlqadmin.fullname" $root }}-{{ .component }}
  labels:
    {{- include "dlqadmin.labels" (list $root .component) | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  {{- with .strategy }}
  strategy: { type: {{ . }} }
  {{- end }}
  selector:
    matchLabels:
      {{- include "dlqadmin.selectorLabels" (list $root .component) | nindent 6 }}
  template:
    metadata:
      {{- include "dlqadmin.podMetadata" (list $root (index $root.Values .component) .component) | nindent 6 }}
    spec:
      serviceAccountName: {{ include "dlqadmin.fullname" $root }}
      {{- include "dlqadmin.dashboardPod" . | nindent 6 }}
{{- end -}}

{{/* What a worker runs beside its command. */}}
{{- define "dlqadmin.workerProbe" -}}
# It asks over Redis, so it is no liveness probe: while Redis is down, workers wait and must not be restarted.
readinessProbe:
  exec:
    command: [sh, -c, "celery -A dlqadmin.celery inspect ping --destination celery@$HOSTNAME --timeout 5"]
  initialDelaySeconds: 30
  periodSeconds: 60
  timeoutSeconds: 20
{{- end -}}
