{{- define "injector.prefix" -}}agent-injector.contrib.mackerel.io/{{- end }}

{{- define "injector.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "mackerel-agent-injector" $name) -}}
{{- $name = printf "%s-mackerel-agent-injector" $name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{/* Objects outside of namespaces: two releases of one name live in two namespaces. */}}
{{- define "injector.clusterName" -}}
{{ include "injector.fullname" . }}.{{ .Release.Namespace }}
{{- end }}

{{/* The name by which the API server calls the Service. */}}
{{- define "injector.host" -}}
{{ include "injector.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "injector.selectorLabels" -}}
app.kubernetes.io/name: mackerel-agent-injector
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "injector.labels" -}}
{{ include "injector.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "injector.metadata" -}}
name: {{ include "injector.fullname" . | quote }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "injector.labels" . | nindent 2 }}
{{- end }}

{{- define "injector.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{- define "injector.tlsSecret" -}}
{{- if eq .Values.tls.mode "provided" -}}
{{- required "tls.provided.secretName is needed with tls.mode=provided: the Secret that `mackerel-agent-injector webhook certificate` printed" .Values.tls.provided.secretName -}}
{{- else if eq .Values.tls.mode "generated" -}}
{{ include "injector.fullname" . }}-tls
{{- else -}}
{{/* Another writer, another Secret: the modes never fight about one. */ -}}
{{ include "injector.fullname" . }}-{{ .Values.tls.mode }}-tls
{{- end }}
{{- end }}

{{/* The configuration as the server reads it. */}}
{{- define "injector.config" -}}
{{- $spec := deepCopy .Values.config -}}
{{- $select := $spec.select | default dict -}}
{{- $shared := "; for values that manifests share, add `--set config.%s=null`" -}}
{{- if $select.kinds -}}
{{- fail (printf (print "the webhook does not support config.select.kinds: a pod does not show the kind of its workload. Remove it" $shared) "select.kinds") -}}
{{- end -}}
{{- range $select.exclude -}}
{{- if or .group (and .kind (ne .kind "Pod")) (and .name (not .kind) (not (kindIs "string" .group))) -}}
{{- fail (printf (print "the webhook does not support an item of config.select.exclude: a pod does not show its workload. Exclude by namespace or podSelector, or pods without a controller by `kind: Pod`" $shared) "select.exclude") -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.tls.mode "openshift" -}}
{{- $agent := $spec.agent | default dict -}}
{{- $context := $agent.securityContext | default dict -}}
{{- if not (hasKey $context "runAsUser") -}}
{{- $context = merge (dict "runAsUser" nil) $context -}}
{{- end -}}
{{- $_ := set $agent "securityContext" $context -}}
{{- $_ := set $spec "agent" $agent -}}
{{- end -}}
{{- if not (dig "waitFor" "image" "" $spec) -}}
{{- $_ := set $spec "waitFor" (merge (dict "image" (include "injector.image" .)) ($spec.waitFor | default dict)) -}}
{{- end -}}
apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
metadata:
  name: {{ .Release.Name | quote }}
spec:
  {{- toYaml $spec | nindent 2 }}
{{- end }}

{{/* A LabelSelector: conditions of the chart (`expressions`), and the given one (`selector`). */}}
{{- define "injector.selector" -}}
{{- with .selector.matchLabels -}}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with concat .expressions (.selector.matchExpressions | default list) -}}
matchExpressions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* By namespace: the names of the configuration. Its globs are matched by the server. */}}
{{- define "injector.namespaceSelector" -}}
{{- $select := .Values.config.select | default dict -}}
{{- $excluded := ternary (list) (list "kube-system" "kube-public" "kube-node-lease") ($select.systemNamespaces | default false) -}}
{{- range $select.excludeNamespaces -}}
{{- if not (regexMatch "[*?]" .) -}}{{- $excluded = append $excluded . -}}{{- end -}}
{{- end -}}
{{- $expressions := list -}}
{{- if $excluded -}}
{{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" (uniq $excluded)) -}}
{{- end -}}
{{- with $select.namespaces -}}
{{- if not (regexMatch "[*?]" (join "" .)) -}}
{{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" .) -}}
{{- end -}}
{{- end -}}
{{- include "injector.selector" (dict "expressions" $expressions "selector" .Values.webhook.namespaceSelector) -}}
{{- end }}

{{/*
By label: all but the servers, of this release and of others. They stand in a namespace that may hold other pods, and with
`failurePolicy: Fail` they could not start again without one of them.
*/}}
{{- define "injector.objectSelector" -}}
{{- $own := dict "key" "app.kubernetes.io/name" "operator" "NotIn" "values" (list "mackerel-agent-injector") -}}
{{- include "injector.selector" (dict "expressions" (list $own) "selector" .Values.webhook.objectSelector) -}}
{{- end }}

{{/* The same with the labels that the configuration selects: for pods that should have the agent. */}}
{{- define "injector.wantedSelector" -}}
{{- $own := dict "key" "app.kubernetes.io/name" "operator" "NotIn" "values" (list "mackerel-agent-injector") -}}
{{- $pods := (.Values.config.select | default dict).podSelector | default dict -}}
{{- $selector := .Values.webhook.objectSelector -}}
{{- $expressions := concat (list $own) ($selector.matchExpressions | default list) ($pods.matchExpressions | default list) -}}
{{- range $key, $value := $pods.matchLabels -}}
{{- $expressions = append $expressions (dict "key" $key "operator" "In" "values" (list $value)) -}}
{{- end -}}
{{- include "injector.selector" (dict "expressions" $expressions "selector" (dict "matchLabels" $selector.matchLabels)) -}}
{{- end }}

{{/* CEL: whether the namespace is one of these names and globs. */}}
{{- define "injector.namespaceMatches" -}}
{{- $patterns := list -}}
{{- range . -}}
{{- $patterns = append $patterns (. | replace "*" ".*" | replace "?" ".") -}}
{{- end -}}
request.namespace.matches('^({{ join "|" $patterns }})$')
{{- end }}

{{/* CEL: whether the pod has the labels of a LabelSelector. */}}
{{- define "injector.labelsMatch" -}}
{{- $labels := "object.metadata.?labels.orValue({})" -}}
{{- $all := list -}}
{{- range $key, $value := .matchLabels -}}
{{- $all = append $all (printf "%s[?'%s'] == optional.of('%s')" $labels $key $value) -}}
{{- end -}}
{{- range .matchExpressions -}}
{{- $has := printf "'%s' in %s" .key $labels -}}
{{- $in := printf "(%s && %s['%s'] in ['%s'])" $has $labels .key (join "', '" .values) -}}
{{- if eq .operator "In" -}}{{- $all = append $all $in -}}
{{- else if eq .operator "NotIn" -}}{{- $all = append $all (print "!" $in) -}}
{{- else if eq .operator "Exists" -}}{{- $all = append $all $has -}}
{{- else -}}{{- $all = append $all (printf "!(%s)" $has) -}}
{{- end -}}
{{- end -}}
{{- join " && " $all -}}
{{- end }}

{{/* CEL: whether an item of `select.exclude` is about the pod. One that names the kind or group of pods is about those without a controller. */}}
{{- define "injector.isExcluded" -}}
{{- $item := . -}}
{{- $all := list -}}
{{- if or $item.kind (kindIs "string" $item.group) -}}
{{- $all = append $all "!object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))" -}}
{{- end -}}
{{- with $item.namespace -}}{{- $all = append $all (include "injector.namespaceMatches" (list .)) -}}{{- end -}}
{{- with $item.name -}}{{- $all = append $all (printf "object.metadata.?name == optional.of('%s')" .) -}}{{- end -}}
{{- with include "injector.labelsMatch" ($item.podSelector | default dict) -}}{{- $all = append $all . -}}{{- end -}}
{{- join " && " ($all | default (list "true")) -}}
{{- end }}

{{/*
The certificate of `tls.mode: generated`, as a Secret's annotations and data. Helm keeps nothing between two upgrades but the Secret
itself. With a new CA the old one stays in the bundle, since the kubelet takes a minute to bring the new certificate to the servers.
*/}}
{{- define "injector.generated" -}}
{{- $name := include "injector.tlsSecret" . -}}
{{- if not (lookup "v1" "Namespace" "" "kube-system") -}}
{{- fail "tls.mode=generated asks the cluster for the certificate that it has, and there is no cluster here. For `helm template`, Argo CD and other ways to render without one, set tls.mode to cert-manager, to provided (a Secret and a CA as `mackerel-agent-injector webhook certificate` prints them) or to openshift; for a look at the manifests take `helm install --dry-run=server`" -}}
{{- end -}}
{{- $host := include "injector.host" . -}}
{{- $key := include "injector.prefix" . -}}
{{- $old := lookup "v1" "Secret" .Release.Namespace $name -}}
{{- $notes := ($old.metadata | default dict).annotations | default dict -}}
{{- $data := $old.data | default dict -}}
{{- $issued := get $notes (print $key "issued") -}}
{{- $age := 0 -}}
{{- if $issued -}}
{{- $age = sub (now | unixEpoch | int64) (toDate "2006-01-02T15:04:05Z" $issued | unixEpoch | int64) -}}
{{- end -}}
{{- $same := and (eq (get $notes (print $key "host")) $host) (eq (get $notes (print $key "renew")) (toString .Values.tls.generated.renew)) -}}
{{- if not (and $issued $same (lt (int64 $age) (int64 157680000)) (get $data "tls.crt") (get $data "tls.key") (get $data "ca.crt")) -}}
{{- $issued = dateInZone "2006-01-02T15:04:05Z" now "UTC" -}}
{{- $ca := genCAWithKey (printf "%s %s" (include "injector.fullname" .) $issued) 3650 (genPrivateKey "ecdsa") -}}
{{- $leaf := genSignedCertWithKey $host (list) (list $host) 3650 $ca (genPrivateKey "ecdsa") -}}
{{- $previous := regexFind "-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----" (get $data "ca.crt" | b64dec) -}}
{{- $bundle := print ($ca.Cert | trim) "\n" (ternary (print $previous "\n") "" (ne $previous "")) -}}
{{- $data = dict "tls.crt" ($leaf.Cert | b64enc) "tls.key" ($leaf.Key | b64enc) "ca.crt" ($bundle | b64enc) -}}
{{- end -}}
annotations:
  {{ $key }}issued: {{ $issued | quote }}
  {{ $key }}host: {{ $host | quote }}
  {{ $key }}renew: {{ toString .Values.tls.generated.renew | quote }}
data:
  tls.crt: {{ get $data "tls.crt" }}
  tls.key: {{ get $data "tls.key" }}
  ca.crt: {{ get $data "ca.crt" }}
{{- end }}
