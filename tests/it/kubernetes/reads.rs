//! The API server reads the text of a manifest as this program does.

use super::cluster::{ApiVerdict, Run, cluster, collection, without_identity};
use super::injected::pairs;
use injector::Direction;
use laws::cases;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// To Kubernetes, `a:` before a comma is a string. It stands where no edit looks.
const READ_OTHERWISE: &str = "layout/colon-right-before-a-comma: Pod/three";

#[test]
fn kubernetes_reads_the_injected_text_as_we_do() {
    let Some(cluster) = cluster() else { return };
    let mut namespaces = BTreeSet::new();
    let mut wrong = BTreeMap::new();
    let (mut accepted, mut refused) = (0, 0);
    for case in cases::all()
        .into_iter()
        .filter(|case| case.options.direction == Direction::Inject)
    {
        for pair in pairs(&case.text, &case.config, case.options) {
            let (Some([_, after]), Some(collection)) = (&pair.texts, collection(&pair.after))
            else {
                continue;
            };
            let namespace = pair
                .after
                .pointer("/metadata/namespace")
                .and_then(Value::as_str)
                .unwrap_or("default");
            if namespace != "default" && namespaces.insert(namespace.to_owned()) {
                cluster.namespace(namespace, &json!({}));
            }
            // Whether it takes the object, or how it understands the text otherwise.
            let same = |text: &str, value: &Value| {
                // First the value, which makes the service account that it names.
                let as_value = cluster.create(Run::Dry, namespace, value);
                let as_text = cluster.create_text(collection, namespace, text);
                match (as_text, as_value) {
                    (ApiVerdict::Refused(_), ApiVerdict::Refused(_)) => Ok(false),
                    (
                        ApiVerdict::Accepted { object: text, .. },
                        ApiVerdict::Accepted { object: value, .. },
                    ) if without_identity(&text) == without_identity(&value) => Ok(true),
                    (as_text, as_value) => Err(format!("{as_text:?}\n{as_value:?}")),
                }
            };
            let name = format!("{}: {}", case.name, pair.name);
            match same(after, &pair.after) {
                Ok(true) => accepted += 1,
                Ok(false) => refused += 1,
                Err(how) => {
                    let how = format!("== {name}\n{after}\n{how}");
                    wrong.insert(name, how);
                }
            }
        }
    }
    assert!(
        wrong.remove(READ_OTHERWISE).is_some(),
        "{READ_OTHERWISE} is no exception any more"
    );
    let wrong: Vec<String> = wrong.into_values().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        accepted >= 250,
        "only {accepted} of {} manifests are complete",
        accepted + refused
    );
}
