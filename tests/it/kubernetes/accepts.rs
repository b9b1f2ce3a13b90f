//! The API server accepts, with the agent, every object that it accepts without it: in a namespace as strict as before, and
//! without a warning more.

use super::cluster::{RESTRICTED, UNENFORCED, cluster};
use super::injected::{hardened, paired, pairs};
use super::judge::{Census, Judge, Way};
use crate::examples::{EXAMPLES, Shown};
use config::Config;
use injector::{Direction, inject};
use laws::INJECT;
use laws::cases::{self, Case};
use serde_json::json;
use std::fs;
use support::corpus::Files;
use support::parallel::for_each;
use support::root;
use yaml_json_patch::edit;

/// A case's configuration as it is, and with either kind of sidecar that it can have.
pub(super) fn kinds_of_sidecar(case: &Case) -> Vec<(&'static str, Config)> {
    let other = |kind, set| Some((kind, case.config_with(set)?));
    let others = [
        other("container", "sidecar=container"),
        other("native", "sidecar=native"),
    ];
    [("as configured", case.config.clone())]
        .into_iter()
        .chain(others.into_iter().flatten())
        .collect()
}

/// The cases whose injected pods Kubernetes is to take.
pub(super) fn to_be_accepted() -> Vec<Case> {
    cases::all()
        .into_iter()
        .filter(|case| case.options.direction == Direction::Inject)
        .collect()
}

#[test]
fn kubernetes_accepts_each_case() {
    let Some(cluster) = cluster() else { return };
    let cases = to_be_accepted();
    let judge = &Judge::new(cluster);
    let judged = for_each(&cases, |case| -> Census {
        let judged = kinds_of_sidecar(case)
            .into_iter()
            .flat_map(|(kind, config)| {
                let pairs = pairs(&case.text, &config, case.options);
                pairs.into_iter().map(move |pair| {
                    judge.judge(&format!("{} ({kind})", case.name), &config, &pair)
                })
            });
        judged.collect()
    });
    let census: Census = judged.into_iter().collect();
    census.nothing_is_wrong();
    for (way, least) in [
        (Way::Restricted, 1),
        (Way::Hardened, 300),
        (Way::Unenforced, 300),
        (Way::Workload, 300),
    ] {
        assert!(
            census.accepted(way) >= least,
            "{way}: fewer than {least}\n{census}"
        );
    }
}

/// The manifests of each example, without and with the agent.
#[test]
fn kubernetes_accepts_the_examples() {
    let Some(cluster) = cluster() else { return };
    let folder = root().join("examples");
    let configured = |file: &str| {
        laws::configuration(
            Some(&fs::read_to_string(folder.join(file)).unwrap()),
            &[],
            None,
        )
    };
    let mut shown: Vec<(&str, Config, Vec<Shown>)> = Vec::new();
    for example in &EXAMPLES {
        let config = example.configuration.map(configured).unwrap_or_default();
        shown.extend(example.shown().map(|shown| (example.diff, config, shown)));
    }
    // Their diffs do not start from the files as they are.
    for way in ["migration/original", "migration/label"] {
        let config = configured(&format!("{way}/agent-injector.yaml"));
        let files = Files::below(&folder.join(way).join("manifests"));
        let files = files.map(|(name, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            let after = edit::apply(&text, &inject(&text, &config, INJECT).edits);
            (name, text, after)
        });
        let files = files.collect();
        shown.push((way, config, files));
    }

    let judge = Judge::new(cluster);
    let judged = shown.iter().map(|(name, config, files)| -> Census {
        let pairs = files
            .iter()
            .flat_map(|(_, before, after)| paired(before, after, config));
        let judged: Census = pairs.map(|pair| judge.judge(name, config, &pair)).collect();
        assert!(judged.valid() > 0, "{name}: not one pod is valid");
        judged
    });
    let census: Census = judged.collect();
    census.nothing_is_wrong();
    for way in [Way::Hardened, Way::Workload] {
        assert!(census.accepted(way) >= 20, "{way}: fewer than 20\n{census}");
    }
}

/// The container of the webhook that this program follows, as that one writes it. If a cluster took it, the tests beside
/// this one would show nothing.
#[test]
fn kubernetes_refuses_the_container_of_the_original_injector() {
    let Some(cluster) = cluster() else { return };
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let container = json!({
        "name": "mackerel-container-agent",
        "image": "mackerel/mackerel-container-agent:plugins",
        "imagePullPolicy": "Always",
        "env": [
            {"name": "MACKEREL_CONTAINER_PLATFORM", "value": "kubernetes"},
            field("MACKEREL_KUBERNETES_KUBELET_HOST", "status.hostIP"),
            field("MACKEREL_KUBERNETES_NAMESPACE", "metadata.namespace"),
            field("MACKEREL_KUBERNETES_POD_NAME", "metadata.name"),
            {"name": "MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT", "value": "0"},
            {"name": "MACKEREL_APIKEY", "valueFrom": {"secretKeyRef": {"name": "mackerel", "key": "MACKEREL_APIKEY"}}},
            {"name": "MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS", "value": "true"},
        ],
        "resources": {"limits": {"memory": "128Mi"}},
    });
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: web}]\n";
    let pair = pairs(text, &Config::default(), INJECT).pop().unwrap();
    let [before, ours] = [&pair.before, &pair.after].map(hardened);
    let mut theirs = before.clone();
    theirs["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(container);

    let judge = Judge::new(cluster);
    let ground = judge.ground(RESTRICTED, &before).unwrap();
    assert_eq!(judge.holds(&ground, &ours), Ok(()));
    let refused = judge.holds(&ground, &theirs).unwrap_err();
    assert!(
        refused.contains("PodSecurity") && refused.contains("\"mackerel-container-agent\""),
        "{refused}"
    );

    // A warning about it is a failure just as well.
    let ground = judge.ground(UNENFORCED, &before).unwrap();
    let warned = judge.holds(&ground, &theirs).unwrap_err();
    assert!(
        warned.contains("new warnings") && warned.contains("mackerel-container-agent"),
        "{warned}"
    );
}
