//! Streams as `helm template` prints them, made up: the same arguments give the same bytes on every machine.
//!
//! About 30 % of the documents are workloads; the rest are the resources beside them in real charts: services,
//! ConfigMaps with configuration files in block scalars, RBAC, Secrets, and now and then a CustomResourceDefinition of
//! some 20 KB. About every tenth line is a comment. Half of the documents write sequences flush with their key.

use std::fmt::Write as _;

/// Documents, and what is in them.
pub(crate) struct Stream {
    pub(crate) text: String,
    pub(crate) documents: usize,
    pub(crate) workloads: usize,
}

/// The form of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `---` and a `# Source:` comment before each.
    Helm,
    /// The items of a KRM ResourceList.
    ResourceList,
}

/// As many whole documents as it takes to fill `bytes`.
pub(crate) fn of_bytes(form: Form, bytes: usize) -> Stream {
    assemble(form, |stream| stream.text.len() < bytes)
}

/// That many documents.
pub(crate) fn of_documents(form: Form, documents: usize) -> Stream {
    assemble(form, |stream| stream.documents < documents)
}

/// One Deployment with that many containers, each with that many environment variables.
pub(crate) fn one_pod(containers: usize, variables: usize) -> String {
    let mut yaml = YamlText {
        text: String::new(),
        dash: "- ",
    };
    yaml.line(0, "apiVersion: apps/v1");
    yaml.line(0, "kind: Deployment");
    yaml.line(0, "metadata:");
    yaml.line(2, "name: wide");
    yaml.line(0, "spec:");
    yaml.line(2, "template:");
    yaml.line(4, "spec:");
    yaml.line(6, "containers:");
    for container in 0..containers {
        yaml.line(6, &format!("- name: app-{container}"));
        yaml.line(8, "image: registry.example.com/shop/app:1.4.2");
        if variables > 0 {
            yaml.line(8, "env:");
        }
        for variable in 0..variables {
            yaml.line(8, &format!("- name: SETTING_{variable}"));
            yaml.line(10, &format!("value: \"{}\"", variable * 7));
        }
    }
    yaml.text
}

/// That many Deployments, each with everything that an agent takes from around it under names of its own: a Secret, a
/// ConfigMap, and a ServiceAccount.
pub(crate) fn with_surroundings(deployments: usize) -> String {
    let mut text = String::new();
    for number in 0..deployments {
        let mut object = |api_version: &str, kind: &str, body: &str| {
            let _ = write!(
                text,
                "---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: app-{number}\n  namespace: shop-{number}\n{body}"
            );
        };
        let prefix = "agent-injector.contrib.mackerel.io";
        let template = format!(
            "  template:\n    metadata:\n      annotations:\n        {prefix}/api-key-secret-name: app-{number}\n        \
             {prefix}/agent-config-configmap-name: app-{number}\n    spec:\n      serviceAccountName: app-{number}\n      \
             containers:\n      - name: app\n        image: registry.example.com/shop/app:1.4.2\n"
        );
        object("apps/v1", "Deployment", &format!("spec:\n{template}"));
        object("v1", "Secret", "data:\n  MACKEREL_APIKEY: c29tZS1rZXk=\n");
        object(
            "v1",
            "ConfigMap",
            "data:\n  mackerel-agent.conf: |\n    roles: [\"shop:app\"]\n",
        );
        object(
            "v1",
            "ServiceAccount",
            "automountServiceAccountToken: true\n",
        );
    }
    text
}

fn assemble(form: Form, more: impl Fn(&Stream) -> bool) -> Stream {
    let mut random = Random::new();
    let mut stream = Stream::new(form);
    while more(&stream) {
        let document = document(stream.documents, &mut random);
        stream.push(
            form,
            &document.kind.to_lowercase(),
            &document.text,
            document.workload,
        );
    }
    stream
}

impl Stream {
    pub(crate) fn new(form: Form) -> Self {
        let text = match form {
            Form::Helm => "",
            Form::ResourceList => {
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
            }
        };
        Self {
            text: text.to_owned(),
            documents: 0,
            workloads: 0,
        }
    }

    pub(crate) fn push(&mut self, form: Form, name: &str, document: &str, is_workload: bool) {
        match form {
            Form::Helm => {
                let _ = write!(
                    self.text,
                    "---\n# Source: shop/templates/{name}-{}.yaml\n{document}",
                    self.documents
                );
            }
            Form::ResourceList => push_item(&mut self.text, document),
        }
        self.documents += 1;
        self.workloads += usize::from(is_workload);
    }
}

fn push_item(out: &mut String, document: &str) {
    let mut before = "- ";
    for line in document.split_inclusive('\n') {
        if line.starts_with('#') {
            // A comment above the item belongs to it, and has no dash.
            out.push_str("  ");
        } else if line != "\n" {
            out.push_str(before);
            before = "  ";
        }
        out.push_str(line);
    }
}

/// xorshift64*: no crate, and no other stream after an upgrade of one.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Text that grows line by line.
struct YamlText {
    text: String,
    /// The beginning of a sequence's item, after the indentation of its key: flush or indented.
    dash: &'static str,
}

impl YamlText {
    fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    /// Writes the first line of an item of the sequence whose key is at `indent`. Returns the indentation of the others.
    fn item(&mut self, indent: usize, line: &str) -> usize {
        self.line(indent, &format!("{}{line}", self.dash));
        indent + self.dash.len()
    }
}

struct GeneratedDocument {
    kind: &'static str,
    workload: bool,
    text: String,
}

const APPS: [&str; 12] = [
    "cart",
    "checkout",
    "catalog",
    "search",
    "mailer",
    "payments",
    "gateway",
    "accounts",
    "inventory",
    "reports",
    "thumbnails",
    "recommender",
];
const COMMENTS: [&str; 8] = [
    "# keep in step with the dashboard",
    "# see the runbook before you change this",
    "# the default is too small for production",
    "# set by the platform team",
    "# TCP only: the load balancer does not speak HTTP/2 here",
    "# measured in the last load test: \"p99\" was 80 ms",
    "# old clusters need this: remove after the migration",
    "# not a secret",
];

fn document(number: usize, random: &mut Random) -> GeneratedDocument {
    let app = random.pick(&APPS);
    let name = format!("{app}-{number}");
    let mut yaml = YamlText {
        text: String::new(),
        dash: if random.percent(50) { "- " } else { "  - " },
    };
    let (kind, workload) = match random.below(100) {
        0..30 => (workload(&mut yaml, app, &name, random), true),
        30..45 => (service(&mut yaml, app, &name, random), false),
        45..60 => (config_map(&mut yaml, app, &name, random), false),
        60..80 => (rbac(&mut yaml, app, &name, random), false),
        80..84 => (secret(&mut yaml, app, &name, random), false),
        84 => (
            custom_resource_definition(&mut yaml, app, &name, random),
            false,
        ),
        _ => (other(&mut yaml, app, &name, random), false),
    };
    GeneratedDocument {
        kind,
        workload,
        text: yaml.text,
    }
}

fn head(
    yaml: &mut YamlText,
    api_version: &str,
    kind: &str,
    app: &str,
    name: &str,
    random: &mut Random,
) {
    if random.percent(20) {
        yaml.line(0, random.pick(&COMMENTS));
    }
    yaml.line(0, &format!("apiVersion: {api_version}"));
    yaml.line(0, &format!("kind: {kind}"));
    yaml.line(0, "metadata:");
    yaml.line(2, &format!("name: {name}"));
    if random.percent(60) {
        yaml.line(
            2,
            random.pick(&[
                "namespace: shop",
                "namespace: \"shop\"",
                "namespace: platform",
            ]),
        );
    }
    yaml.line(2, "labels:");
    labels(yaml, 4, app);
    if random.percent(40) {
        yaml.line(4, "helm.sh/chart: shop-4.1.0");
        yaml.line(4, "app.kubernetes.io/version: \"1.4.2\"");
        yaml.line(4, "app.kubernetes.io/managed-by: Helm");
    }
    if random.percent(25) {
        yaml.line(2, "annotations:");
        yaml.line(4, "description: 'the shop''s own part, see docs'");
        yaml.line(
            4,
            "checksum/config: 6f0a2d5b7c1e4938a6d0b7f25c8e91d3f4a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0",
        );
    }
}

fn labels(yaml: &mut YamlText, indent: usize, app: &str) {
    yaml.line(indent, &format!("app.kubernetes.io/name: {app}"));
    yaml.line(indent, "app.kubernetes.io/instance: release-name");
}

fn comment(yaml: &mut YamlText, indent: usize, random: &mut Random) {
    if random.percent(80) {
        yaml.line(indent, random.pick(&COMMENTS));
    }
}

fn workload(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    let (api_version, kind) = match random.below(20) {
        0..12 => ("apps/v1", "Deployment"),
        12..15 => ("apps/v1", "StatefulSet"),
        15..17 => ("apps/v1", "DaemonSet"),
        17 => ("batch/v1", "Job"),
        _ => ("batch/v1", "CronJob"),
    };
    head(yaml, api_version, kind, app, name, random);
    yaml.line(0, "spec:");
    let mut indent = 2;
    let mut aliased = false;
    match kind {
        "Job" => yaml.line(2, "backoffLimit: 3"),
        "CronJob" => {
            yaml.line(2, "schedule: \"17 3 * * *\"");
            yaml.line(2, "concurrencyPolicy: Forbid");
            yaml.line(2, "jobTemplate:");
            yaml.line(4, "spec:");
            indent = 6;
        }
        _ => {
            if kind != "DaemonSet" {
                yaml.line(2, &format!("replicas: {}", 1 + random.below(5)));
            }
            if kind == "StatefulSet" {
                yaml.line(2, &format!("serviceName: {app}"));
            }
            comment(yaml, 2, random);
            yaml.line(2, "selector:");
            if random.percent(3) {
                aliased = true;
                yaml.line(4, "matchLabels: &labels");
            } else {
                yaml.line(4, "matchLabels:");
            }
            labels(yaml, 6, app);
        }
    }
    yaml.line(indent, "template:");
    yaml.line(indent + 2, "metadata:");
    if aliased {
        yaml.line(indent + 4, "labels: *labels");
    } else {
        yaml.line(indent + 4, "labels:");
        labels(yaml, indent + 6, app);
    }
    if random.percent(40) {
        yaml.line(indent + 4, "annotations:");
        yaml.line(indent + 6, "prometheus.io/scrape: \"true\"");
        yaml.line(indent + 6, "prometheus.io/port: '9090'  # the admin port");
    }
    yaml.line(indent + 2, "spec:");
    pod_spec(yaml, indent + 4, kind, app, random);
    if kind == "StatefulSet" {
        yaml.line(2, "volumeClaimTemplates:");
        let inner = yaml.item(2, "metadata:");
        yaml.line(inner + 2, "name: data");
        yaml.line(inner, "spec:");
        yaml.line(inner + 2, "accessModes: [ReadWriteOnce]");
        yaml.line(inner + 2, "resources: {requests: {storage: 8Gi}}");
    }
    kind
}

fn pod_spec(yaml: &mut YamlText, indent: usize, kind: &str, app: &str, random: &mut Random) {
    yaml.line(indent, &format!("serviceAccountName: {app}"));
    if matches!(kind, "Job" | "CronJob") {
        yaml.line(indent, "restartPolicy: OnFailure");
    }
    if random.percent(50) {
        yaml.line(indent, "securityContext:");
        yaml.line(indent + 2, "runAsNonRoot: true");
        yaml.line(indent + 2, "fsGroup: 2000");
    }
    if random.percent(20) {
        yaml.line(indent, "initContainers:");
        let inner = yaml.item(indent, "name: migrate");
        yaml.line(
            inner,
            &format!("image: registry.example.com/shop/{app}:1.4.2"),
        );
        yaml.line(
            inner,
            "command: [\"sh\", \"-c\", \"until nc -z db 5432; do sleep 1; done\"]",
        );
    }
    comment(yaml, indent, random);
    yaml.line(indent, "containers:");
    for number in 0..1 + random.below(10) / 6 {
        container(yaml, indent, number, app, random);
    }
    if random.percent(60) {
        yaml.line(indent, "volumes:");
        let inner = yaml.item(indent, "name: config");
        yaml.line(inner, "configMap:");
        yaml.line(inner + 2, &format!("name: {app}"));
        yaml.line(inner + 2, "defaultMode: 0644");
        let inner = yaml.item(indent, "name: tmp");
        yaml.line(inner, "emptyDir: {}");
    }
    if random.percent(25) {
        yaml.line(indent, "nodeSelector:");
        yaml.line(indent + 2, "kubernetes.io/os: linux");
        yaml.line(indent, "tolerations:");
        let inner = yaml.item(indent, "key: dedicated");
        yaml.line(inner, "operator: Equal");
        yaml.line(inner, "value: shop");
        yaml.line(inner, "effect: NoSchedule");
    }
}

fn container(yaml: &mut YamlText, indent: usize, number: usize, app: &str, random: &mut Random) {
    let inner = yaml.item(indent, &format!("name: {app}-{number}"));
    yaml.line(
        inner,
        &format!(
            "image: \"registry.example.com/shop/{app}:1.4.{}\"",
            random.below(30)
        ),
    );
    yaml.line(inner, "imagePullPolicy: IfNotPresent");
    comment(yaml, inner, random);
    if random.percent(40) {
        yaml.line(inner, "args:");
        yaml.item(inner, "--listen=:8080");
        yaml.item(inner, &format!("--workers={}", 1 + random.below(8)));
        yaml.item(inner, "--log-format=json");
    }
    if random.percent(4) {
        yaml.line(inner, "command: [");
        yaml.line(inner + 2, "\"/usr/local/bin/run\",");
        yaml.line(inner + 2, "\"--wait\",");
        yaml.line(inner, "]");
    }
    comment(yaml, inner, random);
    yaml.line(inner, "ports:");
    let port = yaml.item(inner, "name: http");
    yaml.line(port, "containerPort: 8080");
    yaml.line(port, "protocol: TCP");
    yaml.line(inner, "env:");
    for variable in 0..2 + random.below(9) {
        if random.percent(20) {
            comment(yaml, inner + 2, random);
        }
        let value = yaml.item(inner, &format!("name: SETTING_{variable}"));
        match random.below(5) {
            0 => {
                yaml.line(value, "valueFrom:");
                yaml.line(value + 2, "secretKeyRef:");
                yaml.line(value + 4, &format!("name: {app}"));
                yaml.line(value + 4, "key: password");
            }
            1 => yaml.line(value, "value: \"true\""),
            2 => yaml.line(value, "value: 'postgres://db.shop.svc:5432/shop'"),
            3 => yaml.line(
                value,
                &format!("value: \"{}\"  # seconds", random.below(600)),
            ),
            _ => yaml.line(value, "value: production"),
        }
    }
    if random.percent(70) {
        yaml.line(inner, "livenessProbe:");
        yaml.line(inner + 2, "httpGet:");
        yaml.line(inner + 4, "path: /healthz");
        yaml.line(inner + 4, "port: http");
        yaml.line(inner + 2, "initialDelaySeconds: 5");
        yaml.line(inner, "readinessProbe:");
        yaml.line(inner + 2, "httpGet: {path: /ready, port: http}");
    }
    yaml.line(inner, "resources:");
    comment(yaml, inner + 2, random);
    yaml.line(inner + 2, "requests:");
    yaml.line(inner + 4, "cpu: 100m");
    yaml.line(inner + 4, "memory: 128Mi");
    yaml.line(inner + 2, "limits:");
    yaml.line(inner + 4, "memory: 256Mi");
    if random.percent(60) {
        yaml.line(inner, "volumeMounts:");
        let mount = yaml.item(inner, "name: config");
        yaml.line(mount, &format!("mountPath: /etc/{app}"));
        yaml.line(mount, "readOnly: true");
    }
}

fn service(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    head(yaml, "v1", "Service", app, name, random);
    yaml.line(0, "spec:");
    yaml.line(
        2,
        random.pick(&["type: ClusterIP", "type: NodePort", "clusterIP: None"]),
    );
    comment(yaml, 2, random);
    yaml.line(2, "ports:");
    let inner = yaml.item(2, "name: http");
    yaml.line(inner, "port: 80");
    yaml.line(inner, "targetPort: http");
    yaml.line(2, "selector:");
    labels(yaml, 4, app);
    "Service"
}

fn config_map(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    head(yaml, "v1", "ConfigMap", app, name, random);
    yaml.line(0, "data:");
    yaml.line(2, "LOG_LEVEL: info");
    yaml.line(2, "FEATURE_FLAGS: \"on\"");
    comment(yaml, 2, random);
    yaml.line(
        2,
        random.pick(&["nginx.conf: |", "nginx.conf: |-", "server.conf: |+"]),
    );
    for upstream in 0..2 + random.below(6) {
        yaml.line(4, &format!("upstream backend_{upstream} {{"));
        yaml.line(
            6,
            &format!(
                "server 10.0.{}.{}:8080 max_fails=3;",
                upstream,
                random.below(250)
            ),
        );
        yaml.line(6, "# spread the load: \"least_conn\" was worse");
        yaml.line(4, "}");
        yaml.text.push('\n');
        yaml.line(4, &format!("location /{upstream}/ {{"));
        yaml.line(6, &format!("proxy_pass http://backend_{upstream};"));
        yaml.line(4, "}");
    }
    if random.percent(30) {
        yaml.line(2, "README: >");
        for _ in 0..3 + random.below(6) {
            yaml.line(
                4,
                "This text is folded when it is read, and nobody may fold it when it is written:",
            );
        }
    }
    "ConfigMap"
}

fn rbac(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    match random.below(3) {
        0 => {
            head(yaml, "v1", "ServiceAccount", app, name, random);
            yaml.line(0, "automountServiceAccountToken: true");
            "ServiceAccount"
        }
        1 => {
            head(
                yaml,
                "rbac.authorization.k8s.io/v1",
                "Role",
                app,
                name,
                random,
            );
            yaml.line(0, "rules:");
            for resource in ["configmaps", "secrets", "leases"]
                .iter()
                .take(1 + random.below(3))
            {
                let inner = yaml.item(0, "apiGroups: [\"\", coordination.k8s.io]");
                yaml.line(inner, "resources:");
                yaml.item(inner, resource);
                yaml.line(inner, "verbs: [get, list, watch]");
            }
            "Role"
        }
        _ => {
            head(
                yaml,
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                app,
                name,
                random,
            );
            yaml.line(0, "roleRef:");
            yaml.line(2, "apiGroup: rbac.authorization.k8s.io");
            yaml.line(2, "kind: Role");
            yaml.line(2, &format!("name: {app}"));
            yaml.line(0, "subjects:");
            let inner = yaml.item(0, "kind: ServiceAccount");
            yaml.line(inner, &format!("name: {app}"));
            yaml.line(inner, "namespace: shop");
            "RoleBinding"
        }
    }
}

fn secret(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    head(yaml, "v1", "Secret", app, name, random);
    yaml.line(0, "type: Opaque");
    yaml.line(0, "data:");
    yaml.line(2, "password: bm90LWEtc2VjcmV0");
    yaml.line(
        2,
        &format!(
            "token: {}",
            "c29tZS10b2tlbi1vci1vdGhlcg".repeat(1 + random.below(8))
        ),
    );
    "Secret"
}

fn custom_resource_definition(
    yaml: &mut YamlText,
    app: &str,
    name: &str,
    random: &mut Random,
) -> &'static str {
    let kind = "CustomResourceDefinition";
    head(yaml, "apiextensions.k8s.io/v1", kind, app, name, random);
    yaml.line(0, "spec:");
    yaml.line(2, "group: shop.example.com");
    yaml.line(2, "scope: Namespaced");
    yaml.line(2, "names: {kind: Shop, plural: shops, singular: shop}");
    yaml.line(2, "versions:");
    let version = yaml.item(2, "name: v1");
    yaml.line(version, "served: true");
    yaml.line(version, "storage: true");
    yaml.line(version, "schema:");
    yaml.line(version + 2, "openAPIV3Schema:");
    yaml.line(version + 4, "type: object");
    yaml.line(version + 4, "properties:");
    for group in 0..12 + random.below(12) {
        yaml.line(version + 6, &format!("group{group}:"));
        yaml.line(version + 8, "type: object");
        yaml.line(version + 8, "properties:");
        for field in 0..8 {
            if random.percent(30) {
                comment(yaml, version + 10, random);
            }
            yaml.line(version + 10, &format!("field{field}:"));
            yaml.line(version + 12, "description: |-");
            yaml.line(
                version + 14,
                "What this field is for, as generated from a comment: it may hold `quotes`,",
            );
            yaml.line(version + 14, "colons: and # signs, over several lines.");
            yaml.line(
                version + 12,
                random.pick(&["type: string", "type: integer", "type: boolean"]),
            );
        }
    }
    kind
}

fn other(yaml: &mut YamlText, app: &str, name: &str, random: &mut Random) -> &'static str {
    if random.percent(50) {
        head(yaml, "networking.k8s.io/v1", "Ingress", app, name, random);
        yaml.line(0, "spec:");
        yaml.line(2, "rules:");
        let inner = yaml.item(2, &format!("host: {app}.example.com"));
        yaml.line(inner, "http:");
        yaml.line(inner + 2, "paths:");
        let path = yaml.item(inner + 2, "path: /");
        yaml.line(path, "pathType: Prefix");
        yaml.line(path, "backend:");
        yaml.line(path + 2, "service:");
        yaml.line(path + 4, &format!("name: {app}"));
        yaml.line(path + 4, "port: {name: http}");
        "Ingress"
    } else {
        head(yaml, "policy/v1", "PodDisruptionBudget", app, name, random);
        yaml.line(0, "spec:");
        comment(yaml, 2, random);
        yaml.line(2, "maxUnavailable: 1");
        yaml.line(2, "selector:");
        yaml.line(4, "matchLabels:");
        labels(yaml, 6, app);
        "PodDisruptionBudget"
    }
}
