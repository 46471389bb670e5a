{{- define "afterturn.name" -}}
{{- printf "%s-%s" .root.Release.Name .role | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "afterturn.selector" -}}
app.kubernetes.io/name: afterturn
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "afterturn.labels" -}}
{{ include "afterturn.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "afterturn.meta" -}}
name: {{ include "afterturn.name" . }}
labels:
  {{- include "afterturn.labels" . | nindent 2 }}
{{- end }}

{{/* Names of the secret's keys that a role mounts, separated by spaces. Roles: api, migrate, dispatcher, beat, worker. */}}
{{- define "afterturn.keys" -}}
{{- $secret := .root.Values.secret -}}
database-password
{{- if and $secret.brokerPassword (ne .kind "migrate") }} broker-password{{ end }}
{{- if and $secret.textKeys (has .kind (list "api" "worker")) }} text-keys{{ end }}
{{- if and $secret.metricsToken (eq .kind "api") }} metrics-token{{ end }}
{{- if and $secret.firstKey (eq .kind "migrate") }} first-key{{ end }}
{{- end }}

{{- define "afterturn.environment" -}}
{{- $values := .root.Values -}}
{{- $keys := splitList " " (include "afterturn.keys" .) -}}
- {name: AFTERTURN_DATABASE_URL, value: {{ $values.database.url | quote }}}
- {name: AFTERTURN_DATABASE_PASSWORD_FILE, value: /run/secrets/database-password}
- {name: LITELLM_LOCAL_MODEL_COST_MAP, value: "True"}
{{- if ne .kind "migrate" }}
- {name: AFTERTURN_BROKER_URL, value: {{ $values.broker.url | quote }}}
{{- end }}
{{- if has "broker-password" $keys }}
- {name: AFTERTURN_BROKER_PASSWORD_FILE, value: /run/secrets/broker-password}
{{- end }}
{{- if has "text-keys" $keys }}
- {name: AFTERTURN_TEXT_KEYS_FILE, value: /run/secrets/text-keys}
{{- end }}
{{- if has "metrics-token" $keys }}
- {name: AFTERTURN_METRICS_TOKEN_FILE, value: /run/secrets/metrics-token}
{{- end }}
{{- if eq .kind "api" }}
- {name: AFTERTURN_API_PROCESSES, value: {{ $values.api.processes | quote }}}
{{- end }}
{{- if and (eq .kind "api") $values.broker.rateUrl }}
- {name: AFTERTURN_RATE_URL, value: {{ $values.broker.rateUrl | quote }}}
{{- if has "broker-password" $keys }}
- {name: AFTERTURN_RATE_PASSWORD_FILE, value: /run/secrets/broker-password}
{{- end }}
{{- end }}
{{- if has .kind (list "dispatcher" "beat" "worker") }}
- {name: AFTERTURN_ALIVE_FILE, value: /tmp/alive}
{{- end }}
{{- $own := $values.settings -}}
{{- if has .kind (list "worker" "dispatcher") }}{{ $own = merge (deepCopy $values.workerSettings) $values.settings }}{{ end }}
{{- range $name, $value := $own }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* The pod of a role: role (its name), kind (what it may read), image, command, resources, and probes of an API. */}}
{{- define "afterturn.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "afterturn.labels" . | nindent 4 }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # A service named like the release would put variables AFTERTURN_* of its own into each pod.
  enableServiceLinks: false
  terminationGracePeriodSeconds: 40
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- if eq .kind "migrate" }}
  restartPolicy: Never
  {{- end }}
  {{- with $values.images.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .kind }}
      image: "{{ .image.repository }}:{{ $values.images.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ $values.images.pullPolicy }}
      command: {{ toJson .command }}
      env:
        {{- include "afterturn.environment" . | nindent 8 }}
      {{- if and (eq .kind "worker") $values.secret.models }}
      envFrom:
        - secretRef: {name: {{ $values.secret.models }}}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: ["ALL"]}
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: secrets, mountPath: /run/secrets, readOnly: true}
      {{- if eq .kind "api" }}
      ports:
        - {name: http, containerPort: 8700}
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 3
        failureThreshold: 40
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
      # Calls that arrive while the endpoint is taken out of the service are answered.
      lifecycle: {preStop: {exec: {command: ["sleep", "5"]}}}
      {{- else if ne .kind "migrate" }}
      startupProbe:
        exec: {command: ["sh", "-c", "find /tmp/alive -mmin -1 | grep -q ."]}
        periodSeconds: 5
        failureThreshold: 36
      livenessProbe:
        exec: {command: ["sh", "-c", "find /tmp/alive -mmin -1 | grep -q ."]}
        periodSeconds: 30
        timeoutSeconds: 5
        failureThreshold: 3
      {{- end }}
  volumes:
    - {name: tmp, emptyDir: {}}
    - name: secrets
      secret:
        secretName: {{ $values.secret.name }}
        items:
          {{- range splitList " " (include "afterturn.keys" .) }}
          - {key: {{ . }}, path: {{ . }}}
          {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "afterturn.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "afterturn.meta" . | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "afterturn.selector" . | nindent 6 }}
{{- end }}
