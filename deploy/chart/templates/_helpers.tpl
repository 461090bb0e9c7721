{{- define "homeostat.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- else if contains "homeostat" .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-homeostat" .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Of cluster-scoped objects: releases of one name may be in several namespaces. */ -}}
{{- define "homeostat.wide" -}}
{{- printf "%s:%s" .Release.Namespace (include "homeostat.fullname" .) -}}
{{- end -}}

{{- define "homeostat.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* Takes root and component. */ -}}
{{- define "homeostat.selector" -}}
app.kubernetes.io/name: homeostat
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "homeostat.labels" -}}
{{ include "homeostat.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* What files/operators has about the operator `name`, with the names of this release. */ -}}
{{- define "homeostat.facts" -}}
{{- .root.Files.Get (printf "files/operators/%s.yaml" .name) | replace "@namespace@" .root.Release.Namespace | replace "@service@" .service | replace "@within@" .root.Values.watchNamespace -}}
{{- end -}}

{{- /* The faces of this release as a list: those of its operators, and the dashboard if none of them serves it. */ -}}
{{- define "homeostat.faces" -}}
{{- $faces := list -}}
{{- if .Values.faces.enabled -}}
{{- $hasDashboard := not .Values.faces.dashboard -}}
{{- range .Values.operators -}}
{{- range (include "homeostat.facts" (dict "root" $ "name" . "service" (include "homeostat.fullname" $)) | fromYaml).faces -}}
{{- $faces = append $faces . -}}
{{- $hasDashboard = or $hasDashboard .servesDashboard -}}
{{- end -}}
{{- end -}}
{{- if not $hasDashboard -}}
{{- $faces = append $faces (.Files.Get "files/dashboard.yaml" | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- toYaml $faces -}}
{{- end -}}

{{- define "homeostat.hasOperators" -}}
{{- if or .Values.operators .Values.ownOperators }}true{{ end -}}
{{- end -}}

{{- /* The value of --operators. */ -}}
{{- define "homeostat.operators" -}}
{{- $named := .Values.operators -}}
{{- range .Values.ownOperators -}}
{{- $named = append $named (ternary (printf "/operators/%s.py" .name) .module (empty .module)) -}}
{{- end -}}
{{- join "," $named -}}
{{- end -}}

{{- /* The Secret of a certificate; `of` is faces or an operator. */ -}}
{{- define "homeostat.tlsSecret" -}}
{{- if eq .root.Values.certificates.source "secret" -}}
{{- required (printf "certificates.source is secret: set certificates.secrets.%s to the name of a Secret with tls.crt and tls.key" .of) (get .root.Values.certificates.secrets .of) -}}
{{- else if eq .of "faces" -}}
{{- printf "%s-faces-tls" (include "homeostat.fullname" .root) -}}
{{- else -}}
{{- printf "%s-%s-webhook-tls" (include "homeostat.fullname" .root) .of -}}
{{- end -}}
{{- end -}}

{{- /* The data of a generated Secret: that of the cluster, if it is there, because its process renews it. */ -}}
{{- define "homeostat.certificate" -}}
{{- $found := lookup "v1" "Secret" .root.Release.Namespace .secret -}}
{{- if and $found (hasKey ($found.data | default dict) "ca.key") -}}
{{- toYaml $found.data -}}
{{- else -}}
{{- $host := printf "%s.%s.svc" .service .root.Release.Namespace -}}
{{- $authority := genCAWithKey (printf "%s-authority" .service) 3650 (genPrivateKey "ecdsa") -}}
{{- $own := genSignedCertWithKey .service nil (list $host (printf "%s.cluster.local" $host)) (int .root.Values.certificates.days) $authority (genPrivateKey "ecdsa") -}}
ca.crt: {{ $authority.Cert | b64enc }}
ca.key: {{ $authority.Key | b64enc }}
tls.crt: {{ $own.Cert | b64enc }}
tls.key: {{ $own.Key | b64enc }}
{{- end -}}
{{- end -}}

{{- /* A Certificate of cert-manager for a Service. */ -}}
{{- define "homeostat.issued" -}}
{{- $host := printf "%s.%s.svc" .service .root.Release.Namespace -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .service }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "homeostat.labels" (dict "root" .root "component" "certificates") | nindent 4 }}
spec:
  secretName: {{ .secret }}
  dnsNames:
    - {{ $host }}
    - {{ $host }}.cluster.local
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {{- toYaml (.root.Values.certificates.issuerRef | default (dict "name" (include "homeostat.fullname" .root) "kind" "Issuer")) | nindent 4 }}
{{- end -}}

{{- /* A webhook configuration with its authority; takes root, configuration, service, authority (in base64). */ -}}
{{- define "homeostat.configuration" -}}
{{- $source := .root.Values.certificates.source -}}
{{- $made := .configuration -}}
{{- $annotations := dict -}}
{{- if eq $source "cert-manager" -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .root.Release.Namespace .service) -}}
{{- else if eq $source "openshift" -}}
{{- $_ := set $annotations "service.beta.openshift.io/inject-cabundle" "true" -}}
{{- end -}}
{{- $labels := fromYaml (include "homeostat.labels" (dict "root" .root "component" "webhook")) -}}
{{- $metadata := dict "name" (printf "%s.%s" $made.metadata.name .root.Release.Namespace) "labels" $labels -}}
{{- if $annotations -}}{{- $_ := set $metadata "annotations" $annotations -}}{{- end -}}
{{- $_ := set $made "metadata" $metadata -}}
{{- range $made.webhooks -}}
{{- if $.authority -}}{{- $_ := set .clientConfig "caBundle" $.authority -}}{{- else -}}{{- $_ := unset .clientConfig "caBundle" -}}{{- end -}}
{{- end -}}
{{- toYaml $made -}}
{{- end -}}

{{- /* The authority in base64, as far as the release knows it; `data` is that of a generated Secret. */ -}}
{{- define "homeostat.authority" -}}
{{- if eq .root.Values.certificates.source "generated" -}}
{{- index .data "ca.crt" -}}
{{- else if eq .root.Values.certificates.source "secret" -}}
{{- required "certificates.source is secret: set certificates.authority, so that API servers trust the webhooks (--set-file certificates.authority=ca.crt)" .root.Values.certificates.authority | b64enc -}}
{{- end -}}
{{- end -}}

{{- define "homeostat.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "homeostat.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "homeostat.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "homeostat.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "homeostat.selector" . | nindent 8 }}
{{- end -}}

{{- /* Takes root, component and name. */ -}}
{{- define "homeostat.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "homeostat.labels" . | nindent 4 }}
spec:
  minAvailable: {{ .root.Values.podDisruptionBudget.minAvailable }}
  selector:
    matchLabels: {{- include "homeostat.selector" . | nindent 6 }}
{{- end -}}

{{- /* A ClusterRole with its binding to an account; takes root, component, name, account, rules. */ -}}
{{- define "homeostat.clusterAccess" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name | quote }}
  labels: {{- include "homeostat.labels" . | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name | quote }}
  labels: {{- include "homeostat.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- /* A Role in `namespace` with its binding. */ -}}
{{- define "homeostat.access" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace }}
  labels: {{- include "homeostat.labels" . | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace }}
  labels: {{- include "homeostat.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- /* The permission to renew a certificate in its Secret, and to report it by Events. */ -}}
{{- define "homeostat.renewalRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, patch]
  resourceNames: [{{ . }}]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- /* Where Prometheus reads the authority of a certificate from. */ -}}
{{- define "homeostat.trusted" -}}
{{- if eq .root.Values.certificates.source "openshift" -}}
configMap: {name: openshift-service-ca.crt, key: service-ca.crt}
{{- else -}}
secret: {name: {{ include "homeostat.tlsSecret" . }}, key: ca.crt}
{{- end -}}
{{- end -}}
