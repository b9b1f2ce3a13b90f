//! `--force` restores an agent from which a user has removed any part: it is then the one that a fresh injection adds.

use config::Config;
use injector::{Direction, HandEdits, inject};
use laws::cases::{self, Case};
use laws::{INJECT, applied};
use report::Reason;
use serde_json::Value;
use yaml_json_patch as yaml;
use yaml_json_patch::documents;

/// A value without records, which also hold the layout of before, and without `false`, which is Kubernetes' default.
fn unrecorded(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|key, field| {
                key != "agent-injector.contrib.mackerel.io/record" && *field != false
            });
            fields
                .values_mut()
                .for_each(|field| *field = unrecorded(field.take()));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = unrecorded(item.take())),
        _ => {}
    }
    value
}

/// The value of the only document; none if there are more.
fn says(text: &str) -> Option<Value> {
    let mut documents = documents(text);
    let (document, None) = (documents.next()?, documents.next()) else {
        return None;
    };
    let tree = yaml::read(&text[document.span]).ok()?;
    yaml::to_json(&tree, tree.root()?).ok()
}

/// Collects the pointers to every injected object and to everything below it.
fn ours(value: &Value, at: &str, is_injected: bool, found: &mut Vec<String>) {
    let mut below = |token: &str, child: &Value| {
        let named = |child: &Value| {
            child["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("mackerel-") && !name.contains(':'))
        };
        let at = format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
        let begins = !is_injected && child.is_object() && named(child);
        if is_injected || begins {
            found.push(at.clone());
        }
        ours(child, &at, is_injected || begins, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, child)| below(key, child)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| below(&index.to_string(), item)),
        _ => {}
    }
}

fn without(value: &Value, pointer: &str) -> Value {
    let mut value = value.clone();
    let (parent, token) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(fields) => {
            drop(fields.shift_remove(&token.replace("~1", "/").replace("~0", "~")))
        }
        Value::Array(items) => drop(items.remove(token.parse().unwrap())),
        _ => unreachable!("it has children"),
    }
    value
}

/// Removes one part after the other, and restores the agent by `--force`. Returns the number of parts.
fn forced(case: &Case) -> usize {
    let options = case.options;
    let first = inject(&case.text, &case.config, options);
    if first
        .outcomes
        .iter()
        .all(|outcome| outcome.decision.reason != Reason::Injected)
    {
        return 0;
    }
    // Nothing would be written: what was refused in one layout may be injected in that of JSON.
    if first.errors().next().is_some() {
        return 0;
    }
    let Some(whole) = says(&applied(&case.text, &first.edits).unwrap()) else {
        return 0;
    };
    let mut pointers = Vec::new();
    ours(&whole, "", false, &mut pointers);
    let is_identity = |pointer: &&String| {
        let tail: Vec<&str> = pointer.rsplit('/').take(3).collect();
        tail[0] == "name" && matches!(tail[2], "containers" | "initContainers" | "volumes")
    };
    // Absent is empty to Kubernetes, so there is nothing to restore.
    let is_empty = |pointer: &&String| whole.pointer(pointer) == Some(&serde_json::json!({}));
    let pointers: Vec<&String> = pointers
        .iter()
        .filter(|pointer| !is_identity(pointer) && !is_empty(pointer))
        .collect();
    let expected = unrecorded(whole.clone());
    let mut force = options;
    force.hand_edits = HandEdits::Overwrite;
    for pointer in &pointers {
        let edited = serde_json::to_string_pretty(&without(&whole, pointer)).unwrap();
        let again = inject(&edited, &case.config, force);
        assert_eq!(
            laws::fault(&again),
            None,
            "{}: without {pointer}",
            case.name
        );
        let mended = applied(&edited, &again.edits).unwrap();
        let is_whole = says(&mended).is_some_and(|mended| unrecorded(mended) == expected);
        assert!(is_whole, "{}: without {pointer}\n{mended}", case.name);
    }
    pointers.len()
}

#[test]
fn what_is_forced_back_is_whole() {
    // An input that has one of the injector's names already may be hand-written.
    let begins = |case: &&Case| {
        case.options.direction == Direction::Inject
            && !case.text.contains("/record")
            && !case.text.contains("mackerel-")
    };
    let cases = cases::all();
    // Each of them takes a hundred injections.
    let tried: Vec<usize> = cases
        .iter()
        .filter(begins)
        .step_by(8)
        .map(forced)
        .filter(|tried| *tried > 0)
        .collect();
    assert!(tried.len() > 12, "only {} cases", tried.len());
}

/// The annotation of an edited field keeps its value, with and without `--force`.
#[test]
fn an_annotation_keeps_an_edited_value() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web, annotations: {a: b}}, spec: {containers: [{name: web, image: web}]}}\n";
    let config = Config::default();
    let injected = applied(pod, &inject(pod, &config, INJECT).edits).unwrap();
    let edited = injected.replacen("memory: 128Mi", "memory: 200Mi", 1);
    assert_ne!(edited, injected);
    let refused = inject(&edited, &config, INJECT).outcomes.remove(0).decision;
    assert_eq!(refused.reason, Reason::HandEdited);
    let annotation = "agent-injector.contrib.mackerel.io/memory-limit";
    let annotated = edited.replacen("a: b", &format!("a: b, {annotation}: 200Mi"), 1);
    let mut force = INJECT;
    force.hand_edits = HandEdits::Overwrite;
    for options in [INJECT, force] {
        let injection = inject(&annotated, &config, options);
        assert_eq!(injection.outcomes[0].decision.reason, Reason::Updated);
        let kept = applied(&annotated, &injection.edits).unwrap();
        assert!(kept.contains("memory: 200Mi"), "{kept}");
    }
}
