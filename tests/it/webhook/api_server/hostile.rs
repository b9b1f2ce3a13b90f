//! Objects of odd characters, forged records and many findings: what the API server makes of the answers.

use super::{SERVICE, Webhook, has_agent, plain_pod};
use crate::kubernetes::cluster::{ApiVerdict, Run};
use crate::webhook::server::{Server, until};
use config::Config;
use injector::{Options, inject};
use k8s_openapi::ByteString;
use report::Reason;
use serde_json::{Value, json};

const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

/// The hook for workloads, beside that for pods.
struct Warn<'w>(&'w Webhook);

impl Warn<'_> {
    fn configuration(&self) -> Value {
        let Webhook {
            balancer,
            files,
            namespace,
            ..
        } = self.0;
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [{
            "name": "warn.agent-injector.contrib.mackerel.io",
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": {"webhook": namespace}},
            "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["CREATE"]}],
            "clientConfig": {
                "service": {"namespace": SERVICE.0, "name": SERVICE.1, "path": "/warn", "port": balancer.port},
                "caBundle": ByteString(files.authority.as_bytes().to_vec()),
            },
        }]})
    }
}

impl Drop for Warn<'_> {
    fn drop(&mut self) {
        self.0.cluster.delete(&self.configuration());
    }
}

fn deployment(annotations: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": annotations},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}})
}

fn pod(annotations: Value) -> Value {
    let mut pod = plain_pod();
    pod["metadata"]["annotations"] = annotations;
    pod
}

/// The hooks of a server that refuses what it can.
fn started(name: &str) -> Option<(Webhook, Server)> {
    let webhook = Webhook::register(name)?;
    let server = webhook.server(&["--set=onError=fail"], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    Some((webhook, server))
}

/// The warnings of an accepted object.
#[track_caller]
fn accepted(verdict: ApiVerdict) -> Vec<String> {
    match verdict {
        ApiVerdict::Accepted { warnings, .. } => warnings.into_iter().collect(),
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

#[test]
fn no_object_is_denied_for_its_characters() {
    let Some((webhook, server)) = started("characters") else {
        return;
    };
    let warn = Warn(&webhook);
    webhook.cluster.apply(&warn.configuration());
    let many: Value = (0..22)
        .map(|at| (format!("{PREFIX}unknown{at}"), json!("1")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    until("the API server asks about workloads", || {
        !accepted(webhook.create(&deployment(many.clone()))).is_empty()
    });
    for character in [
        "\u{7f}", "\u{80}", "\u{92}", "\u{9f}", "\u{2028}", "\u{fffe}", "\u{ffff}",
    ] {
        let note = json!({"note": format!("it{character}s")});
        let opted_out = json!({"note": note["note"], format!("{PREFIX}inject"): "false"});
        assert!(
            accepted(webhook.create(&pod(opted_out))).is_empty(),
            "{character:?}"
        );
        assert!(
            accepted(webhook.create(&deployment(note.clone()))).is_empty(),
            "{character:?}"
        );
        match webhook.create(&pod(note)) {
            ApiVerdict::Accepted { object, .. } => assert!(has_agent(&object), "{character:?}"),
            ApiVerdict::Refused(why) => panic!("{character:?}: {why}"),
        }
    }
    until("a line for each that opted out", || {
        let reviewed = server.events("reviewed");
        let opted_out = |event: &&Value| event["decision"] == "opted-out";
        reviewed.iter().filter(opted_out).count() == 7
    });

    let warnings = accepted(webhook.create(&deployment(many)));
    assert_eq!(warnings.len(), 16, "{warnings:?}");
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("and 6 more keys like it")),
        "{warnings:?}"
    );
}

#[test]
fn a_copied_record_is_an_opt_out_that_is_shown() {
    let Some((webhook, _server)) = started("record") else {
        return;
    };
    let record = r#"v1{"agent":{"list":"containers","plan":"9c169ab9","value":"f4d75fcf","names":{"image":"224712f3","secret":"ad864de1"},"volumes":["tmp"]}}"#;
    match webhook.create(&pod(json!({format!("{PREFIX}record"): record}))) {
        ApiVerdict::Accepted { object, warnings } => {
            assert!(!has_agent(&object));
            assert!(
                warnings
                    .iter()
                    .any(|warning| warning.contains("hand-edited: ")),
                "{warnings:?}"
            );
        }
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

/// The check of docs/en/webhook-operate.md.
#[test]
fn what_the_webhook_injected_is_unchanged_for_the_check() {
    let Some((webhook, _server)) = started("check") else {
        return;
    };
    for (account, automount) in [("with-token", true), ("without-token", false)] {
        webhook.cluster.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": webhook.namespace}, "automountServiceAccountToken": automount}));
        let mut pod = plain_pod();
        pod["spec"]["serviceAccountName"] = account.into();
        let verdict = webhook.cluster.create(Run::Dry, &webhook.namespace, &pod);
        let ApiVerdict::Accepted { object, .. } = verdict else {
            panic!("{verdict:?}")
        };
        assert_eq!(
            object.to_string().contains("mackerel-agent-token"),
            !automount,
            "{object}"
        );
        let outcome = inject(&object.to_string(), &Config::default(), Options::default())
            .outcomes
            .remove(0);
        assert_eq!(
            outcome.decision.reason,
            Reason::Unchanged,
            "{account}: {}",
            outcome.decision.message
        );
    }
}
