//! The ways by which a configuration comes in, and a value of each setting by every one of them.

use super::{from_arguments, from_call, from_yaml, values};
use crate::json_schema::schema;
use config::{API_VERSION, Config, KIND, Origin, annotations};
use mackerel::annotations::Annotation;
use std::collections::BTreeSet;

/// One setting by every source: its path, the value as text, the same in a configuration file, and by annotation if there is one.
pub(crate) type Door = (
    &'static str,
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

pub(crate) const DOORS: &[Door] = &[
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

#[test]
fn a_setting_means_the_same_by_every_door() {
    for (path, value, in_file, by_annotation) in DOORS {
        let file = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nspec: {in_file}\n");
        let wanted = values(&from_yaml("file.yaml", &file));

        let argument = format!("{path}={value}");
        let given =
            from_arguments(&[&argument]).unwrap_or_else(|errors| panic!("{argument}: {errors:#?}"));
        assert_eq!(values(&given), wanted, "--set {argument}");
        assert_eq!(
            given.origin(path).to_string(),
            "--set #1",
            "--set {argument}"
        );

        let quoted = value.replace('\'', "''");
        let data = format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  {path}: '{quoted}'\n");
        assert_eq!(
            values(&from_yaml("config-map.yaml", &data)),
            wanted,
            "ConfigMap {path}"
        );

        for (door, of_call) in [
            ("functionConfig", &file),
            ("ConfigMap as functionConfig", &data),
        ] {
            assert_eq!(values(&from_call(of_call)), wanted, "{door} {path}");
        }

        if let Some((name, value)) = by_annotation {
            let key = format!("{}{name}", annotations::PREFIX);
            // A key needs a ConfigMap, which another setting names.
            let named = |key: &str| from_yaml("named.yaml", &file.replace("{key: a}", key));
            let (base, wanted) = match *path {
                "agent.config.configMapKeyRef.key" => {
                    (named("{name: b}"), values(&named("{name: b, key: a}")))
                }
                _ => (Config::default(), wanted),
            };
            let annotated = annotations::overlay(&base, &[(&key, value, 7)]).unwrap();
            assert_eq!(values(&annotated), wanted, "annotation {name}");
            let leaf = config::Setting::path_of(Annotation::of(&key).unwrap()).unwrap();
            assert!(
                matches!(annotated.origin(leaf), Origin::Annotation { key: of, offset: 7, .. } if *of == key)
            );
        }
    }
}

#[test]
fn every_setting_is_tried_by_every_door() {
    let default = Config::default();
    let tried = |path: &str| {
        DOORS
            .iter()
            .any(|(door, ..)| *door == path || door.starts_with(&format!("{path}.")))
    };
    let missing: Vec<String> = settings(&schema()["properties"]["spec"], "")
        .into_iter()
        .filter(|path| default.value(path).is_some() && !tried(path))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What gives the default by every door shows nothing.
    let changes = |in_file: &str| {
        let file = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nspec: {in_file}\n");
        values(&from_yaml("file.yaml", &file)) != values(&default)
    };
    let paths: BTreeSet<&str> = DOORS.iter().map(|(path, ..)| *path).collect();
    let idle: Vec<&&str> = paths
        .iter()
        .filter(|path| {
            !DOORS
                .iter()
                .any(|(door, _, in_file, _)| door == *path && changes(in_file))
        })
        .collect();
    assert!(idle.is_empty(), "{idle:?}");
    let by_annotation = |annotation: &Annotation| {
        DOORS.iter().any(|(_, _, in_file, door)| {
            door.is_some_and(|(name, _)| name == annotation.name()) && changes(in_file)
        })
    };
    let unasked: Vec<&Annotation> = Annotation::ALL
        .iter()
        .filter(|annotation| {
            config::Setting::path_of(**annotation).is_some() && !by_annotation(annotation)
        })
        .collect();
    assert!(unasked.is_empty(), "{unasked:?}");
}

/// The dotted paths of the settings that a schema describes.
fn settings(schema: &serde_json::Value, inside: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, setting) in schema["properties"].as_object().unwrap() {
        let path = format!("{inside}{name}");
        match setting.get("default") {
            Some(_) => found.push(path),
            None => found.extend(settings(setting, &format!("{path}."))),
        }
    }
    found
}
