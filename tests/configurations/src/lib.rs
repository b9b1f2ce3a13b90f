//! Configurations as they come in: those of `tests/configs`, by arguments, and each setting by every way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests call it"
)]

pub mod json_schema;

use config::{Config, Sources, load};
use report::Diagnostic;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use support::root;

/// The configurations of a folder, by name.
pub fn configurations(folder: &str) -> Vec<(String, PathBuf)> {
    let folder = root().join("tests/configs").join(folder);
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    found.sort();
    assert!(found.len() > 10);
    found
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect()
}

/// Every setting by its path.
pub fn values(config: &Config) -> Vec<(String, Value)> {
    config
        .settings()
        .into_iter()
        .map(|(path, value, _)| (path, value))
        .collect()
}

/// The configuration of these arguments of `--set`, or a line for each error.
pub fn from_arguments(arguments: &[&str]) -> Result<Config, Vec<String>> {
    let set: Vec<String> = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    load(&Sources::default().with_set(&set))
        .map_err(|errors| errors.iter().map(Diagnostic::line).collect())
}

/// One setting by every source: its path, the value as text, the same in a configuration file, and by annotation if there is one.
pub type Door = (
    &'static str,
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

pub const DOORS: &[Door] = &[
    ("injection", "annotated", "{injection: annotated}", None),
    ("onError", "skip", "{onError: skip}", None),
    ("qos", "allow", "{qos: allow}", None),
    (
        "warnings.ignore",
        "[host-network, missing-key]",
        "{warnings: {ignore: [host-network, missing-key]}}",
        None,
    ),
    (
        "annotations.allow",
        "[roles, memo]",
        "{annotations: {allow: [roles, memo]}}",
        None,
    ),
    (
        "annotations.allow",
        "roles",
        "{annotations: {allow: [roles]}}",
        None,
    ),
    (
        "annotations.allow",
        "[env.*]",
        "{annotations: {allow: ['env.*']}}",
        None,
    ),
    (
        "annotations.allow",
        "[]",
        "{annotations: {allow: []}}",
        None,
    ),
    ("namespace", "shop", "{namespace: shop}", None),
    (
        "select.kinds",
        "[Job, apps/Deployment]",
        "{select: {kinds: [Job, apps/Deployment]}}",
        None,
    ),
    (
        "select.namespaces",
        "[a, 'b']",
        "{select: {namespaces: [a, b]}}",
        None,
    ),
    (
        "select.excludeNamespaces",
        "[sh*]",
        "{select: {excludeNamespaces: ['sh*']}}",
        None,
    ),
    (
        "select.systemNamespaces",
        "true",
        "{select: {systemNamespaces: true}}",
        None,
    ),
    (
        "select.namespaces",
        "shop",
        "{select: {namespaces: [shop]}}",
        None,
    ),
    (
        "select.podSelector.matchLabels",
        "{a.b/c: d}",
        "{select: {podSelector: {matchLabels: {a.b/c: d}}}}",
        None,
    ),
    (
        "select.podSelector.matchLabels.a\\.b/c",
        "1.30",
        "{select: {podSelector: {matchLabels: {a.b/c: '1.30'}}}}",
        None,
    ),
    (
        "select.podSelector.matchExpressions",
        "[{key: tier, operator: In, values: [x]}]",
        "{select: {podSelector: {matchExpressions: [{key: tier, operator: In, values: [x]}]}}}",
        None,
    ),
    (
        "select.exclude",
        "[{kind: Job, name: x}]",
        "{select: {exclude: [{kind: Job, name: x}]}}",
        None,
    ),
    ("hooks", "inject", "{hooks: inject}", None),
    (
        "sidecar",
        "auto",
        "{sidecar: auto}",
        Some(("sidecar", "auto")),
    ),
    (
        "sidecar",
        "native",
        "{sidecar: native}",
        Some(("sidecar", "native")),
    ),
    (
        "sidecar",
        "container",
        "{sidecar: container}",
        Some(("sidecar", "container")),
    ),
    (
        "kubernetesVersion",
        "1.30",
        "{kubernetesVersion: '1.30'}",
        None,
    ),
    (
        "waitFor.resources",
        "{limits: {cpu: 50m}}",
        "{waitFor: {resources: {limits: {cpu: 50m}}}}",
        None,
    ),
    (
        "agent.roles",
        "[$(namespace):$(label:app), shop:web]",
        "{agent: {roles: ['$(namespace):$(label:app)', shop:web]}}",
        Some(("roles", "$(namespace):$(label:app), shop:web")),
    ),
    (
        "platform",
        "kubernetes",
        "{platform: kubernetes}",
        Some(("platform", "kubernetes")),
    ),
    (
        "platform",
        "eks-fargate",
        "{platform: eks-fargate}",
        Some(("platform", "eks-fargate")),
    ),
    ("qos", "warn", "{qos: warn}", None),
    ("qos", "keep", "{qos: keep}", None),
    ("qos", "refuse", "{qos: refuse}", None),
    (
        "agent.imagePullSecrets",
        "[a, b.c]",
        "{agent: {imagePullSecrets: [a, b.c]}}",
        None,
    ),
    (
        "kubelet.port",
        "1250",
        "{kubelet: {port: 1250}}",
        Some(("kubelet-port", "1250")),
    ),
    (
        "kubelet.insecureTLS",
        "true",
        "{kubelet: {insecureTLS: true}}",
        Some(("kubelet-insecure-tls", "TRUE")),
    ),
    (
        "kubelet.readOnlyPort",
        "10255",
        "{kubelet: {readOnlyPort: 10255}}",
        Some(("kubelet-read-only-port", "10255")),
    ),
    (
        "kubelet",
        "{readOnlyPort: 10255}",
        "{kubelet: {readOnlyPort: 10255}}",
        Some(("kubelet-read-only-port", "10255")),
    ),
    (
        "apiKey.secretKeyRef.name",
        "a",
        "{apiKey: {secretKeyRef: {name: a}}}",
        Some(("api-key-secret-name", "a")),
    ),
    (
        "apiKey.secretKeyRef.key",
        "007",
        "{apiKey: {secretKeyRef: {key: '007'}}}",
        Some(("api-key-secret-key", "007")),
    ),
    (
        "agent.image",
        "r:5000/a:1.0",
        "{agent: {image: 'r:5000/a:1.0'}}",
        Some(("image", "r:5000/a:1.0")),
    ),
    (
        "agent.imagePullPolicy",
        "Never",
        "{agent: {imagePullPolicy: Never}}",
        None,
    ),
    (
        "agent.roles",
        "[shop:web, shop:db]",
        "{agent: {roles: ['shop:web', 'shop:db']}}",
        Some(("roles", "shop:web,shop:db")),
    ),
    (
        "agent.roles",
        "shop:web",
        "{agent: {roles: ['shop:web']}}",
        Some(("roles", "shop:web")),
    ),
    (
        "agent.config.configMapKeyRef.name",
        "a",
        "{agent: {config: {configMapKeyRef: {name: a}}}}",
        Some(("agent-config-configmap-name", "a")),
    ),
    (
        "agent.config.configMapKeyRef.key",
        "a",
        "{agent: {config: {configMapKeyRef: {key: a}}}}",
        Some(("agent-config-configmap-key", "a")),
    ),
    (
        "agent.config.location",
        "s3://a/b",
        "{agent: {config: {location: s3://a/b}}}",
        Some(("agent-config-location", "s3://a/b")),
    ),
    (
        "agent.config.pollingMinutes",
        "5",
        "{agent: {config: {pollingMinutes: 5}}}",
        None,
    ),
    (
        "agent.displayName",
        "売り場 1",
        "{agent: {displayName: 売り場 1}}",
        Some(("display-name", "売り場 1")),
    ),
    (
        "agent.memo",
        "yes: # 1",
        "{agent: {memo: 'yes: # 1'}}",
        Some(("memo", "yes: # 1")),
    ),
    (
        "agent.hostStatusOnStart",
        "standby",
        "{agent: {hostStatusOnStart: standby}}",
        Some(("host-status-on-start", "standby")),
    ),
    (
        "agent.ignoreContainer",
        "^(istio-proxy|linkerd-.*)$",
        "{agent: {ignoreContainer: '^(istio-proxy|linkerd-.*)$'}}",
        Some(("ignore-container", "^(istio-proxy|linkerd-.*)$")),
    ),
    (
        "agent.logLevel",
        "DEBUG",
        "{agent: {logLevel: DEBUG}}",
        Some(("log-level", "DEBUG")),
    ),
    (
        "agent.apiBase",
        "https://a.b/",
        "{agent: {apiBase: 'https://a.b/'}}",
        None,
    ),
    (
        "agent.hostIdStore",
        "memory",
        "{agent: {hostIdStore: memory}}",
        None,
    ),
    (
        "agent.env",
        "[{name: A, value: b=c}]",
        "{agent: {env: [{name: A, value: b=c}]}}",
        None,
    ),
    (
        "agent.env",
        "[{name: NAME, value: b=c}]",
        "{agent: {env: [{name: NAME, value: b=c}]}}",
        Some(("env.NAME", "b=c")),
    ),
    (
        "agent.envFrom",
        "[{secretRef: {name: proxy}}]",
        "{agent: {envFrom: [{secretRef: {name: proxy}}]}}",
        None,
    ),
    (
        "agent.command",
        "/start",
        "{agent: {command: [/start]}}",
        None,
    ),
    ("agent.args", "[-v, -d]", "{agent: {args: [-v, -d]}}", None),
    (
        "agent.livenessProbe",
        "{exec: {command: ['true']}}",
        "{agent: {livenessProbe: {exec: {command: ['true']}}}}",
        None,
    ),
    (
        "agent.readinessProbe",
        "{httpGet: {port: 8080}}",
        "{agent: {readinessProbe: {httpGet: {port: 8080}}}}",
        None,
    ),
    (
        "agent.startupProbe",
        "{tcpSocket: {port: 8080}}",
        "{agent: {startupProbe: {tcpSocket: {port: 8080}}}}",
        None,
    ),
    (
        "agent.lifecycle",
        "{preStop: {sleep: {seconds: 2}}}",
        "{agent: {lifecycle: {preStop: {sleep: {seconds: 2}}}}}",
        None,
    ),
    (
        "agent.volumes",
        "[{name: plugin, configMap: {name: plugin}}]",
        "{agent: {volumes: [{name: plugin, configMap: {name: plugin}}]}}",
        None,
    ),
    (
        "agent.volumeMounts",
        "[{name: sockets, mountPath: /run/web}]",
        "{agent: {volumeMounts: [{name: sockets, mountPath: /run/web}]}}",
        None,
    ),
    (
        "agent.resources",
        "{limits: {cpu: 1}}",
        "{agent: {resources: {limits: {cpu: '1'}}}}",
        Some(("cpu-limit", "1")),
    ),
    (
        "agent.resources",
        "null",
        "{agent: {resources: null}}",
        None,
    ),
    (
        "agent.securityContext",
        "null",
        "{agent: {securityContext: null}}",
        None,
    ),
    (
        "agent.resources.limits",
        "null",
        "{agent: {resources: {limits: null}}}",
        None,
    ),
    (
        "agent.resources.limits.memory",
        "1Gi",
        "{agent: {resources: {limits: {memory: 1Gi}}}}",
        Some(("memory-limit", "1Gi")),
    ),
    (
        "agent.resources.requests.cpu",
        "0.1",
        "{agent: {resources: {requests: {cpu: 0.1}}}}",
        Some(("cpu-request", "0.1")),
    ),
    (
        "agent.resources.requests.memory",
        "1",
        "{agent: {resources: {requests: {memory: 1}}}}",
        Some(("memory-request", "1")),
    ),
    (
        "agent.resources.limits.memory",
        "null",
        "{agent: {resources: {limits: {memory: null}}}}",
        None,
    ),
    (
        "agent.resources.limits",
        "{memory: null}",
        "{agent: {resources: {limits: {memory: null}}}}",
        None,
    ),
    (
        "agent.resources.limits.nvidia\\.com/gpu",
        "1",
        "{agent: {resources: {limits: {nvidia.com/gpu: 1}}}}",
        None,
    ),
    (
        "agent.securityContext.runAsUser",
        "null",
        "{agent: {securityContext: {runAsUser: null}}}",
        None,
    ),
    (
        "agent.securityContext.runAsUser",
        "1000",
        "{agent: {securityContext: {runAsUser: 1000}}}",
        None,
    ),
    (
        "agent.securityContext.capabilities.drop",
        "[NET_RAW]",
        "{agent: {securityContext: {capabilities: {drop: [NET_RAW]}}}}",
        None,
    ),
    (
        "agent.securityContext",
        "{seccompProfile: {type: Localhost, localhostProfile: a}}",
        "{agent: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: a}}}}",
        None,
    ),
    (
        "agent.token.mount",
        "always",
        "{agent: {token: {mount: always}}}",
        None,
    ),
    (
        "agent.token.expirationSeconds",
        "86400",
        "{agent: {token: {expirationSeconds: 86400}}}",
        None,
    ),
    ("agent.tmp", "null", "{agent: {tmp: null}}", None),
    (
        "agent.tmp",
        "{medium: null}",
        "{agent: {tmp: {medium: null}}}",
        None,
    ),
    (
        "agent.tmp.medium",
        "null",
        "{agent: {tmp: {medium: null}}}",
        None,
    ),
    ("agent.tmp.medium", "", "{agent: {tmp: {medium: ''}}}", None),
    (
        "agent.tmp.sizeLimit",
        "null",
        "{agent: {tmp: {sizeLimit: null}}}",
        None,
    ),
    (
        "agent.tmp.sizeLimit",
        "1Gi",
        "{agent: {tmp: {sizeLimit: 1Gi}}}",
        None,
    ),
    (
        "waitFor.image",
        "r:5000/a:1.0",
        "{waitFor: {image: 'r:5000/a:1.0'}}",
        None,
    ),
    (
        "waitFor.timeoutSeconds",
        "30",
        "{waitFor: {timeoutSeconds: 30}}",
        None,
    ),
    (
        "waitFor.position",
        "first",
        "{waitFor: {position: first}}",
        None,
    ),
    (
        "waitFor.annotations",
        "[com.baeldung/wait-for-it, a]",
        "{waitFor: {annotations: [com.baeldung/wait-for-it, a]}}",
        None,
    ),
    (
        "podTemplates",
        "[{group: a.b, kind: C, path: d.*}]",
        "{podTemplates: [{group: a.b, kind: C, path: /d/*}]}",
        None,
    ),
];
