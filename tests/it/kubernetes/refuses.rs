//! The rules of `crates/config/src/container_rules.rs`: a container that the API server refuses is an error of the configuration, and one that it
//! accepts is not.

use super::cluster::{SILENT, cluster};
use super::injected::pairs;
use crate::program::Folder;
use config::{API_VERSION, Config, KIND, Sources, load};
use configurations::from_arguments;
use laws::INJECT;
use serde_json::{Value, json};

/// Settings below `agent` that the API server refuses.
const REFUSED: &[&str] = &[
    "securityContext: {privileged: true}",
    "securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}}",
    "securityContext: {capabilities: {add: [NET_RAW, CAP_SYS_ADMIN], drop: null}}",
    "securityContext: {seccompProfile: {type: Localhost}}",
    "securityContext: {seccompProfile: {localhostProfile: a}}",
    "securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../a}}",
    "securityContext: {seccompProfile: {type: Localhost, localhostProfile: /a}}",
    "securityContext: {seccompProfile: {type: runtime/default}}",
    "securityContext: {appArmorProfile: {type: Localhost}}",
    "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ''}}",
    "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ' a'}}",
    "securityContext: {appArmorProfile: {type: Unconfined, localhostProfile: a}}",
    "securityContext: {appArmorProfile: {localhostProfile: a}}",
    "securityContext: {appArmorProfile: {type: other}}",
    "securityContext: {procMount: Unmasked}",
    "securityContext: {procMount: other}",
    "securityContext: {procMount: ''}",
    "securityContext: {runAsUser: -1}",
    "securityContext: {runAsUser: 2147483648}",
    "securityContext: {runAsGroup: -1}",
    "securityContext: {windowsOptions: {hostProcess: true}}",
    "securityContext: {windowsOptions: {runAsUserName: ''}}",
    "resources: {requests: {memory: 256Mi}}",
    "resources: {requests: {cpu: 200m}, limits: {cpu: 0.1}}",
    "resources: {limits: {memory: 1Mi}}",
    "resources: {limits: {memory: -1}}",
    "resources: {limits: {disk: 1Gi}}",
    "resources: {limits: {storage: 1Gi}}",
    "resources: {limits: {example.com/gpu: 500m}}",
    "resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}}",
    "resources: {requests: {example.com/gpu: 1}}",
    "resources: {limits: {requests.example.com/gpu: 1}}",
    "resources: {limits: {example.com/: 1}}",
    "resources: {limits: {a/b/c: 1}}",
    "resources: {limits: {Example.com/gpu: 1}}",
    "resources: {limits: {hugepages-2Mi: 3Mi}}",
    "resources: {requests: {hugepages-2Mi: 2Mi}}",
    "resources: {limits: {hugepages-x: 3Mi}}",
    "resources: {claims: [{name: a}]}",
    "env: [{name: A, valueFrom: {}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}, fieldRef: {fieldPath: metadata.name}}}]",
    "env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {key: b}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: A_B, key: b}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a/b}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: ..b}}}]",
    "env: [{name: A, valueFrom: {configMapKeyRef: {name: a}}}]",
    "env: [{name: A, valueFrom: {configMapKeyRef: {key: a}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[app]'}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a b']\"}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v2}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: memory}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 2Mi}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1m}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1Mi}}}]",
    "env: [{value: a}]",
    "env: [{name: ''}]",
    "env: [{name: A=B}]",
    "env: [{name: Ä}]",
    "volumeMounts: [{name: sockets}]",
    "volumeMounts: [{mountPath: /a}]",
    "volumeMounts: [{name: sockets, mountPath: ''}]",
    "volumeMounts: [{name: sockets, mountPath: /var/tmp}]",
    "volumeMounts: [{name: sockets, mountPath: /a}, {name: sockets, mountPath: /a}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: ../b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: b/..}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: /b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPathExpr: ../b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPathExpr: /b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: b, subPathExpr: b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, mountPropagation: Bidirectional}]",
    "volumeMounts: [{name: sockets, mountPath: /a, mountPropagation: other}]",
    "volumeMounts: [{name: sockets, mountPath: /a, mountPropagation: ''}]",
    "volumeMounts: [{name: sockets, mountPath: /a, recursiveReadOnly: Enabled}]",
    "volumeMounts: [{name: sockets, mountPath: /a, recursiveReadOnly: IfPossible, readOnly: true, mountPropagation: HostToContainer}]",
    "volumeMounts: [{name: sockets, mountPath: /a, recursiveReadOnly: other, readOnly: true}]",
    "readinessProbe: {}",
    "readinessProbe: {exec: {}}",
    "readinessProbe: {exec: {command: ['true']}, tcpSocket: {port: 1}}",
    "readinessProbe: {exec: {command: ['true']}, periodSeconds: -1}",
    "readinessProbe: {exec: {command: ['true']}, terminationGracePeriodSeconds: 5}",
    "readinessProbe: {httpGet: {path: /}}",
    "readinessProbe: {httpGet: {port: 0}}",
    "readinessProbe: {httpGet: {port: '80'}}",
    "readinessProbe: {httpGet: {port: longer-than-fifteen}}",
    "readinessProbe: {httpGet: {port: 80, scheme: http}}",
    "readinessProbe: {httpGet: {port: 80, httpHeaders: [{name: 'a b', value: c}]}}",
    "readinessProbe: {grpc: {port: 65536}}",
    "livenessProbe: {exec: {command: ['true']}, successThreshold: 2}",
    "livenessProbe: {exec: {command: ['true']}, terminationGracePeriodSeconds: 0}",
    "startupProbe: {tcpSocket: {port: 1}, successThreshold: 2}",
    "lifecycle: {preStop: {}}",
    "lifecycle: {preStop: {sleep: {seconds: 31}}}",
    "lifecycle: {postStart: {exec: {command: ['true']}, httpGet: {port: 1}}}",
    "envFrom: [{}]",
    "envFrom: [{secretRef: {}}]",
    "envFrom: [{secretRef: {name: A_B}}]",
    "envFrom: [{secretRef: {name: a}, configMapRef: {name: a}}]",
    "envFrom: [{prefix: 'A=', secretRef: {name: a}}]",
    "volumes: [{name: A, emptyDir: {}}]",
    "volumes: [{emptyDir: {}}]",
    "volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]",
    "volumes: [{name: a, emptyDir: {}, configMap: {name: a}}]",
    "volumes: [{name: a, emptyDir: {sizeLimit: -1}}]",
    "volumes: [{name: a, configMap: {}}]",
    "volumes: [{name: a, configMap: {name: a, defaultMode: 99999}}]",
    "volumes: [{name: a, configMap: {name: a, items: [{key: a}]}}]",
    "volumes: [{name: a, secret: {secretName: a, items: [{key: a, path: ../b}]}}]",
    "volumes: [{name: a, secret: {name: a}}]",
    "volumes: [{name: a, csi: {}}]",
    "volumes: [{name: a, csi: {driver: null}}]",
    "volumes: [{name: a, image: {}}]",
    "volumes: [{name: a, csi: {driver: a}, projected: {sources: []}}]",
    "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: b}}}]",
    "volumes: [{name: a, persistentVolumeClaim: {}}]",
    "volumes: [{name: a, hostPath: {path: ../a}}]",
    "volumes: [{name: a, hostPath: {path: /a/../b}}]",
    "volumes: [{name: a, hostPath: {path: /a, type: Folder}}]",
    "image: ' a'",
    "imagePullPolicy: Sometimes",
];

/// Settings below `agent` beside those, which the API server accepts.
const ACCEPTED: &[&str] = &[
    "securityContext: {privileged: true, allowPrivilegeEscalation: true}",
    "securityContext: {privileged: true, allowPrivilegeEscalation: null}",
    "securityContext: {privileged: false}",
    "securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: true}",
    "securityContext: {capabilities: {add: [SYS_ADMIN, NET_RAW]}}",
    "securityContext: {seccompProfile: {type: Localhost, localhostProfile: profiles/a.json}}",
    "securityContext: {seccompProfile: {type: Localhost, localhostProfile: '..a/b..c/...'}}",
    "securityContext: {seccompProfile: {type: Unconfined}}",
    "securityContext: {seccompProfile: null}",
    "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: /usr/bin/agent}}",
    "securityContext: {appArmorProfile: {type: Unconfined}}",
    "securityContext: {procMount: Default}",
    "securityContext: {runAsUser: 2147483647, runAsGroup: 0}",
    "securityContext: {seLinuxOptions: {level: 's0:c1,c2', type: t}}",
    "resources: {requests: {memory: 128Mi}}",
    "resources: {limits: {memory: 1e9}}",
    "resources: {limits: {cpu: 0.1m}, requests: {cpu: null}}",
    "resources: {limits: {cpu: 0, memory: null}, requests: null}",
    "resources: {limits: {ephemeral-storage: 1Gi}}",
    "resources: {limits: {example.com/gpu: 1}}",
    "resources: {limits: {example.com/gpu: 1}, requests: {example.com/gpu: 1}}",
    "resources: {limits: {hugepages-2Mi: 4Mi}}",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a.b, key: .b, optional: true}}}]",
    "env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b_C.d}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.uid, apiVersion: v1}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.hostIPs}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a.b/c']\"}}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['app']\"}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 0}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1, containerName: web}}}]",
    "env: [{name: A/B.c-1}, {name: 1A, value: ''}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: 'b:c/..d'}, {name: sockets, mountPath: /a/..b/./c/}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: ''}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPath: b//c/}]",
    "volumeMounts: [{name: sockets, mountPath: /a, subPathExpr: $(MACKEREL_KUBERNETES_POD_NAME)/b}]",
    "volumeMounts: [{name: sockets, mountPath: /a, mountPropagation: HostToContainer}]",
    "volumeMounts: [{name: sockets, mountPath: /a, recursiveReadOnly: Enabled, readOnly: true}]",
    "volumeMounts: [{name: sockets, mountPath: /a, recursiveReadOnly: Disabled, mountPropagation: None}]",
    "readinessProbe: {exec: {command: ['true']}, successThreshold: 2, timeoutSeconds: 0}",
    "readinessProbe: {httpGet: {port: 8082, path: '', scheme: HTTPS, httpHeaders: [{name: A-1, value: b}]}}",
    "livenessProbe: {grpc: {port: 1}, terminationGracePeriodSeconds: 5}",
    "startupProbe: {tcpSocket: {port: 65535, host: 127.0.0.1}, failureThreshold: 30}",
    "lifecycle: {postStart: {httpGet: {port: 1}}, preStop: {sleep: {seconds: 30}}}",
    "command: [sh, -c], args: ['exec agent']",
    "envFrom: [{secretRef: {name: a.b, optional: true}, prefix: A_}, {configMapRef: {name: c}}]",
    "volumes: [{name: a, emptyDir: {medium: Memory, sizeLimit: 1Mi}}, {name: tmp-1, hostPath: {path: /a, type: Socket}}]",
    "volumes: [{name: a, configMap: {name: a.b, defaultMode: 0755, items: [{key: k, path: b/c, mode: 0}]}}]",
    "volumes: [{name: a, persistentVolumeClaim: {claimName: a}}, {name: b, emptyDir: {sizeLimit: 1e3}}]",
    "volumes: [{name: a, csi: {driver: a}}, {name: b, projected: {sources: [{secret: {name: a}}, {configMap: {name: b}}]}}]",
    "volumes: [{name: a, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}], defaultMode: 0400}}]",
    "lifecycle: {preStop: {sleep: {seconds: 0}}}",
    "image: Registry.example.com:5000/a/b:V1.x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: web, image: web}]
  volumes: [{name: sockets, emptyDir: {}}]
";

fn configuration(agent: &str, sidecar: &str) -> String {
    format!(
        "apiVersion: {API_VERSION}\nkind: {KIND}\nspec:\n  sidecar: {sidecar}\n  agent: {{{agent}}}\n"
    )
}

fn injected(config: &Config) -> Value {
    let pair = pairs(POD, config, INJECT).pop().unwrap();
    let (_, pod) = pair.pods().next().unwrap();
    pod
}

/// The injected pod with these settings in the agent's container, as if no rule had stopped them.
fn forced(agent: &str, sidecar: &str) -> Value {
    let config = from_arguments(&[&format!("sidecar={sidecar}")]).unwrap();
    let mut pod = injected(&config);
    let list = match sidecar {
        "native" => "/spec/initContainers/0",
        _ => "/spec/containers/1",
    };
    let settings: Value = serde_yaml::from_str(&format!("{{{agent}}}")).unwrap();
    for (field, value) in settings.as_object().unwrap() {
        let parent = match &**field {
            "volumes" => &mut pod["spec"],
            _ => pod.pointer_mut(list).unwrap(),
        };
        match (value.as_array(), parent[field].as_array_mut()) {
            (Some(items), Some(known)) => known.extend(items.iter().cloned()),
            _ => json_patch::merge(parent, &json!({field: value})),
        }
    }
    pod
}

#[test]
fn the_configuration_refuses_what_the_api_server_refuses() {
    let mut wrong = Vec::new();
    for agent in REFUSED {
        let folder = Folder::with(&[("config.yaml", &configuration(agent, "auto"))]);
        let ran = folder.run(&["config", "validate", "config.yaml"]);
        if ran.code != Some(2) || !ran.stderr.contains("--> config.yaml:5:") {
            wrong.push(format!("{agent}: {ran:?}"));
        }
    }
    for agent in ACCEPTED {
        if let Err(errors) = load(&Sources::of_text("c", &configuration(agent, "auto"))) {
            wrong.push(format!("{agent}: {errors:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_api_server_refuses_what_the_configuration_refuses() {
    let Some(cluster) = cluster() else { return };
    let mut wrong = Vec::new();
    for sidecar in ["container", "native"] {
        assert_eq!(cluster.would_take(SILENT, &forced("", sidecar)).err(), None);
        for agent in REFUSED {
            if cluster.would_take(SILENT, &forced(agent, sidecar)).is_ok() {
                wrong.push(format!("accepted ({sidecar}): {agent}"));
            }
        }
        for agent in ACCEPTED {
            let text = configuration(agent, sidecar);
            let config = load(&Sources::of_text("c", &text)).unwrap();
            if let Err(why) = cluster.would_take(SILENT, &injected(&config)) {
                wrong.push(format!("refused ({sidecar}): {agent}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
