//! A policy of the cluster that demands probes of every container, as some do, takes an agent that has them.

use super::cluster::cluster;
use super::injected::pairs;
use crate::policy::until;
use configurations::from_arguments;
use laws::INJECT;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAMESPACE: &str = "demands-probes";

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: web
      image: web
      livenessProbe: {tcpSocket: {port: 80}}
";

const DEMAND: &str = "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, has(c.livenessProbe))";

#[test]
fn a_policy_that_demands_probes_takes_an_agent_that_has_them() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace(NAMESPACE, &json!({}));
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAMESPACE},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }]},
            "validations": [{"expression": DEMAND, "message": "no probe"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAMESPACE},
        "spec": {
            "policyName": NAMESPACE, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}},
        },
    });
    cluster.apply(&policy);
    cluster.apply(&binding);
    let pod = |settings: &[&str]| -> Value {
        let config = from_arguments(settings).unwrap();
        let pair = pairs(POD, &config, INJECT).pop().unwrap();
        let (_, pod) = pair.pods().next().unwrap();
        pod
    };
    for sidecar in ["sidecar=container", "sidecar=native"] {
        let without = pod(&[sidecar]);
        until("the policy refuses an agent without a probe", || {
            let refused = cluster.would_take(NAMESPACE, &without).err();
            refused.is_some_and(|why| why.contains("no probe"))
        });
        let probe = "agent.livenessProbe={exec: {command: [test, -d, /var/tmp]}}";
        let with = pod(&[sidecar, probe]);
        assert_eq!(cluster.would_take(NAMESPACE, &with), Ok(BTreeSet::new()));
    }
}
