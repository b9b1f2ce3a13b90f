//! No setting is without effect: each one changes the result or the report of an injection.

use config::{Config, Sources, load};
use configurations::{DOORS, values};
use injector::inject;
use laws::INJECT;
use yaml_json_patch::edit;

/// Pods of every kind that a setting is about.
const PODS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {com.baeldung/wait-for-it: \"db:5432\"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {a.b/c: d}}
    spec:
      imagePullSecrets: [{name: own}]
      initContainers: [{name: migrate, image: migrate}]
      containers: [{name: web, image: web}]
      volumes: [{name: sockets, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: guaranteed, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {annotations: {agent-injector.contrib.mackerel.io/wait-for: \"cache:6379\"}}
    spec:
      initContainers: [{name: migrate, image: migrate, resources: {limits: {cpu: 1, memory: 1Gi}}}]
      containers: [{name: web, image: web, resources: {limits: {cpu: 1, memory: 1Gi}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {eks.amazonaws.com/fargate-profile: x}}, spec: {containers: [{name: x, image: x}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node, namespace: kube-system}
spec: {selector: {matchLabels: {app: x}}, template: {spec: {containers: [{name: x, image: x}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}
---
apiVersion: a.b/v1
kind: C
metadata: {name: c}
d: [{spec: {containers: [{name: x, image: x}]}}]
";

/// Settings whose effect is tested elsewhere: `onError` and `warnings.ignore` with the front ends, `kubernetesVersion` in the cases
/// of native sidecars and with `rbac`.
const ELSEWHERE: [&str; 3] = ["onError", "kubernetesVersion", "warnings.ignore"];

fn given(config: &Config) -> String {
    let injection = inject(PODS, config, INJECT);
    let text = edit::apply(PODS, &injection.edits);
    format!(
        "{text}\n{:#?}\n{:#?}\n{:#?}",
        injection.outcomes, injection.remarks, injection.requirements
    )
}

#[test]
fn every_setting_has_an_effect() {
    let mut tried = 0;
    for (path, value, ..) in DOORS.iter().filter(|(path, ..)| !ELSEWHERE.contains(path)) {
        let mut before = vec!["waitFor.image=example/wait:1".to_owned()];
        match *path {
            "agent.config.location" => {}
            _ => before.push("agent.config.configMapKeyRef.name=base".to_owned()),
        }
        let of = |set: &[String]| load(&Sources::default().with_set(set)).unwrap();
        let (base, changed) = (
            of(&before),
            of(&[before.clone(), vec![format!("{path}={value}")]].concat()),
        );
        if values(&base) == values(&changed) {
            continue;
        }
        tried += 1;
        assert!(given(&base) != given(&changed), "{path}={value}");
    }
    assert!(tried > 50, "{tried}");
}
