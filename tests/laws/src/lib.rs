//! The laws, written once: for cases, corpus, generated manifests and the fuzz target.
//!
//! First, untouched is identical; second, idempotent and convergent; third, the patch is the product; fourth, reversible.
//! The fifth, that front ends agree, needs front ends: see `front_ends_agree`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests call it"
)]

pub mod cases;
pub mod generators;
pub mod independent_reader;
pub mod reprinted;
pub mod resource_list;

use config::{Config, Sources, load};
use injector::{Direction, ForeignAgents, Injection, Options, Outcome, Patches, Remark, inject};
use json_patch::Patch;
use report::{Class, Finding, Reason};
use serde_json::Value;
use std::ops::Range;
use std::sync::LazyLock;
use yaml_json_patch::documents;
use yaml_json_patch::edit::{self, Edit};
use yaml_json_patch::{self as yaml, NodeId, Tree};

/// A text that was injected within the laws.
#[derive(Debug)]
pub struct Lawful {
    pub injection: Injection,
    pub text: String,
}

pub const INJECT: Options = all_that_shows(Direction::Inject);
pub const UNINJECT: Options = all_that_shows(Direction::Uninject);

const fn all_that_shows(direction: Direction) -> Options {
    let mut options = Options::new(direction);
    options.patches = Patches::Keep;
    options
}

/// Injects, and checks laws 1 to 4 on the way.
///
/// # Errors
/// Describes the violation, in a sentence that begins with the law.
pub fn check(text: &str, config: &Config, options: Options) -> Result<Lawful, String> {
    let lawful = patched(text, config, options)?;
    second_run(text, &lawful, config, options)?;
    if options.direction == Direction::Inject {
        way_back(text, &lawful, config, options)?;
    }
    Ok(lawful)
}

/// The result of a text under a configuration.
#[derive(Debug)]
pub struct Made<'c> {
    pub by: &'c Config,
    pub lawful: Lawful,
}

/// Injects within laws 1 and 3.
///
/// # Errors
/// As [`check`].
pub fn made<'c>(text: &str, by: &'c Config) -> Result<Made<'c>, String> {
    Ok(Made {
        by,
        lawful: patched(text, by, INJECT)?,
    })
}

/// Checks law 2 for two configurations: the second one gives the same text, whether or not the first one ran before it.
///
/// # Errors
/// As [`check`].
pub fn converges(text: &str, first: &Made<'_>, second: &Made<'_>) -> Result<(), String> {
    // The second configuration does not look at templates in places that it does not know.
    let knows_places = first.by.value("podTemplates") == second.by.value("podTemplates");
    // A user may have moved an agent of before, or changed its image.
    if !knows_places || carries_record(text) {
        return Ok(());
    }
    let at_once = &second.lawful;
    let after = patched(&first.lawful.text, second.by, INJECT)?;
    // The exception: an agent that cannot be removed although it is no longer wanted.
    let stays = |outcome: &Outcome| {
        let mut warnings = outcome.warnings.iter();
        outcome.decision.reason.class() == Class::Refused
            || warnings.any(|warning| warning.reason == Reason::StillInjected)
    };
    if after.text != at_once.text && !after.injection.outcomes.iter().any(stays) {
        return Err(format!(
            "law 2: an agent of another configuration shows\n--- at once\n{}\n--- in two steps\n{}",
            at_once.text, after.text
        ));
    }
    Ok(())
}

/// True if a text may hold an injected agent already.
pub fn carries_record(text: &str) -> bool {
    records(text) > 0
}

fn records(text: &str) -> usize {
    text.matches("agent-injector.contrib.mackerel.io/record")
        .count()
}

/// The result that failed verification.
pub fn fault(injection: &Injection) -> Option<&Finding> {
    let mut findings = injection.findings.iter();
    findings.find(|finding| finding.reason == Reason::VerifyFailed)
}

/// Injects or uninjects once, within laws 1 and 3.
fn patched(text: &str, config: &Config, options: Options) -> Result<Lawful, String> {
    let injection = inject(text, config, options);
    if let Some(fault) = fault(&injection) {
        return Err(format!("fault: {} ({:?})", fault.message, fault.offset));
    }
    let after = applied(text, &injection.edits)?;
    if after != edit::apply(text, &injection.edits) {
        return Err("law 1: the edits give something else than they say".to_owned());
    }
    only_inserts(text, &injection)?;
    says_what_it_does(text, &injection, &after)?;
    Ok(Lawful {
        injection,
        text: after,
    })
}

/// Applies edits without the code under test.
pub fn applied(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut after = String::new();
    let mut at = 0;
    for edit in edits {
        let kept = text
            .get(at..edit.range.start)
            .filter(|_| edit.range.start <= edit.range.end);
        let (Some(kept), Some(_)) = (kept, text.get(edit.range.clone())) else {
            return Err(format!(
                "law 1: edit {edit:?} overlaps another one or cuts a character"
            ));
        };
        after.push_str(kept);
        after.push_str(&edit.text);
        at = edit.range.end;
    }
    after.push_str(&text[at..]);
    Ok(after)
}

/// Checks law 1: a first injection removes no byte but those of a null, `{}` or `[]` that becomes a parent.
fn only_inserts(text: &str, injection: &Injection) -> Result<(), String> {
    let changes = |outcome: &&Outcome| !outcome.patch.is_empty();
    if injection
        .outcomes
        .iter()
        .filter(changes)
        .any(|outcome| outcome.decision.reason != Reason::Injected)
    {
        return Ok(());
    }
    let is_nothing = |removed: &str| {
        matches!(
            removed.trim(),
            "" | "~" | "null" | "Null" | "NULL" | "{}" | "[]"
        )
    };
    match injection
        .edits
        .iter()
        .find(|edit| !is_nothing(&text[edit.range.clone()]))
    {
        Some(edit) => Err(format!(
            "law 1: {:?} was taken away by {edit:?}",
            &text[edit.range.clone()]
        )),
        None => Ok(()),
    }
}

/// Checks law 3 on both texts as a whole: the patches of the outcomes, applied to the values of the documents, give the values
/// of the new documents. A document without an outcome is the same to the byte.
fn says_what_it_does(before: &str, injection: &Injection, after: &str) -> Result<(), String> {
    let (old, new) = (spans(before), spans(after));
    if old.len() != new.len() {
        return Err(format!(
            "law 3: {} documents became {}",
            old.len(),
            new.len()
        ));
    }
    let mut outcomes = injection
        .outcomes
        .iter()
        .filter(|outcome| !outcome.patch.is_empty())
        .peekable();
    for (old, new) in old.into_iter().zip(new) {
        let mut here = Vec::new();
        while let Some(outcome) = outcomes.next_if(|outcome| outcome.offset < old.end) {
            here.push(outcome);
        }
        let (text, result) = (&before[old.clone()], &after[new]);
        if here.is_empty() {
            if text != result {
                return Err(format!(
                    "law 1: a document without an outcome was changed: {text:?}"
                ));
            }
            continue;
        }
        let tree = yaml::read_complete(text)
            .map_err(|error| format!("law 3: an unreadable document was changed: {error}"))?;
        let mut value = match json(&tree) {
            Ok(value) => value,
            // The items of a list are looked at one by one: one that Kubernetes cannot read does not hold up the others.
            Err(_)
                if tree
                    .root()
                    .is_some_and(|root| tree.get(root, "items").is_some()) =>
            {
                continue;
            }
            Err(unreadable) => return Err(unreadable),
        };
        for outcome in here {
            let resource = tree
                .root()
                .and_then(|root| pointer_to(&tree, root, outcome.offset - old.start, ""));
            let resource = resource
                .ok_or_else(|| format!("law 3: there is no resource at {}", outcome.offset))?;
            let place = value
                .pointer_mut(&resource)
                .ok_or("law 3: the resource is gone")?;
            apply(place, &outcome.patch)?;
        }
        let result = yaml::read_complete(result).map_err(|error| {
            format!(
                "law 3: the edited text is not valid YAML at {}: {error}\n{result}",
                error.offset
            )
        })?;
        if json(&result)? != value {
            return Err(format!(
                "law 3: the text says\n{:#}\nthe patch says\n{value:#}",
                json(&result)?
            ));
        }
    }
    match outcomes.next() {
        Some(outcome) => Err(format!(
            "law 3: an outcome beyond the last document: {outcome:?}"
        )),
        None => Ok(()),
    }
}

/// Returns the documents as kubectl reads them: a text of JSON may hold one object after the other, and a document begin with a BOM.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for Range { start, end } in documents(text).map(|document| document.span) {
        let document = &text[start..end];
        let marker = match (
            document.starts_with('\u{feff}'),
            document.find("---\n\u{feff}"),
        ) {
            (true, _) => 3,
            (_, behind) => behind.map_or(0, |at| at + 7),
        };
        let start = start + marker;
        let mut values = serde_json::Deserializer::from_str(&text[start..end]).into_iter::<Value>();
        let mut ends = Vec::new();
        while let Some(Ok(_)) = values.next() {
            ends.push(start + values.byte_offset());
        }
        if ends.len() > 1 {
            let starts = [start].into_iter().chain(ends.clone());
            spans.extend(starts.zip(ends.clone()).map(|(start, end)| start..end));
        } else {
            spans.push(start..end);
        }
    }
    spans
}

fn json(tree: &Tree<'_>) -> Result<Value, String> {
    let root = tree.root().ok_or("law 3: an empty document was changed")?;
    yaml::to_json(tree, root)
        .map_err(|error| format!("law 3: an unreadable document was changed: {error}"))
}

fn apply(resource: &mut Value, patch: &Patch) -> Result<(), String> {
    json_patch::patch(resource, patch)
        .map_err(|error| format!("law 3: the patch does not fit: {error}"))
}

/// The JSON Pointer from `node` to the resource that begins at `offset`, through lists.
pub fn pointer_to(tree: &Tree<'_>, node: NodeId, offset: usize, pointer: &str) -> Option<String> {
    if tree.place(node).start == offset {
        return Some(pointer.to_owned());
    }
    let items = tree.get(tree.alias_target(node), "items")?;
    tree.items(tree.alias_target(items))
        .enumerate()
        .find_map(|(index, item)| {
            pointer_to(tree, item, offset, &format!("{pointer}/items/{index}"))
        })
}

/// Checks law 2: a second run changes nothing, and reports so.
fn second_run(text: &str, first: &Lawful, config: &Config, options: Options) -> Result<(), String> {
    // Of the same text, the same again.
    let another = (first.text != text).then(|| inject(&first.text, config, options));
    let again = another.as_ref().unwrap_or(&first.injection);
    if !again.edits.is_empty() {
        return Err(format!(
            "law 2: a second run gives\n{}\nafter\n{}",
            edit::apply(&first.text, &again.edits),
            first.text
        ));
    }
    // Notes are about agents that this run injects.
    let is_told = |remark: &&Remark| remark.finding.reason.class() != Class::Note;
    let seen = |injection: &Injection| {
        (
            injection.findings.len(),
            injection.remarks.iter().filter(is_told).count(),
        )
    };
    let counts = [again, &first.injection].map(|injection| injection.outcomes.len());
    // Where only a record shows a template, it is none any more without it.
    let same_templates = match options.direction {
        Direction::Uninject => counts[0] <= counts[1],
        _ => counts[0] == counts[1],
    };
    if !same_templates || seen(again) != seen(&first.injection) {
        return Err("law 2: a second run sees other templates".to_owned());
    }
    for (one, two) in first.injection.outcomes.iter().zip(&again.outcomes) {
        let (one, two) = (one.decision.reason, two.decision.reason);
        let fits = match one {
            Reason::Injected | Reason::Updated | Reason::Adopted => two == Reason::Unchanged,
            Reason::Removed => two.class() == Class::Skipped,
            _ => one == two,
        };
        if !fits {
            return Err(format!(
                "law 2: {} becomes {} in a second run",
                one.id(),
                two.id()
            ));
        }
    }
    Ok(())
}

/// Checks law 4: uninject gives the bytes back.
fn way_back(
    text: &str,
    injected: &Lawful,
    config: &Config,
    options: Options,
) -> Result<(), String> {
    let mut uninject = UNINJECT;
    uninject.hand_edits = options.hand_edits;
    let origin = patched(text, config, uninject)?;
    let another = if injected.text == text {
        None
    } else {
        Some(patched(&injected.text, config, uninject)?)
    };
    let back = another.as_ref().unwrap_or(&origin);
    // An adopted agent is not restored, but removed.
    if injected
        .injection
        .outcomes
        .iter()
        .any(|outcome| outcome.decision.reason == Reason::Adopted)
    {
        let is_out = |outcome: &Outcome| {
            matches!(
                outcome.decision.reason,
                Reason::Removed | Reason::NotInjected
            )
        };
        // A record that uninject leaves in the original text is not the injector's: only its key looks so.
        let out = back.injection.outcomes.iter().all(is_out)
            && records(&back.text) <= records(&origin.text);
        let done = out || stays(&back.injection);
        return if done {
            Ok(())
        } else {
            Err(format!("law 4: of an adopted agent stays\n{}", back.text))
        };
    }
    // A text that had records before loses them.
    let had_records = origin
        .injection
        .outcomes
        .iter()
        .any(|outcome| outcome.decision.reason != Reason::NotInjected);
    if !had_records && !origin.injection.edits.is_empty() {
        return Err("law 4: uninject changes what was never injected".to_owned());
    }
    if back.text != origin.text && !stays(&back.injection) && !stays(&origin.injection) {
        return Err(format!(
            "law 4: uninject gives\n{}\ninstead of\n{}",
            back.text, origin.text
        ));
    }
    Ok(())
}

/// True if a template keeps an agent that was edited by hand.
fn stays(uninjection: &Injection) -> bool {
    let mut outcomes = uninjection.outcomes.iter();
    outcomes.any(|outcome| outcome.decision.reason.class() == Class::Refused)
}

/// The configuration that a file and flags give together.
pub fn configuration(file: Option<&str>, sets: &[String], namespace: Option<&str>) -> Config {
    consistent(file, sets, namespace).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Like [`configuration`], but returns an error if settings contradict each other.
pub fn consistent(
    file: Option<&str>,
    sets: &[String],
    namespace: Option<&str>,
) -> Result<Config, String> {
    let sources = file.map(|text| Sources::of_text("config.yaml", text));
    let mut sources = sources.unwrap_or_default().with_set(sets);
    if let Some(namespace) = namespace {
        sources = sources.with_namespace(namespace);
    }
    load(&sources).map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
}

/// Settings that differ from the default ones in everything that a pod shows.
const OTHERS: [&str; 8] = [
    "{sidecar: native, waitFor: {image: a, position: first, annotations: [com.baeldung/wait-for-it]}, agent: {displayName: \"a: b\", memo: \"1\\n2\", ignoreContainer: '^(a|b)$', logLevel: DEBUG}}",
    "{sidecar: container, kubernetesVersion: '1.28', kubelet: {readOnlyPort: 10255}, \
     agent: {image: 'example/mackerel-container-agent:1', roles: ['shop:web'], hostStatusOnStart: standby}}",
    "{injection: annotated, waitFor: {image: b}}",
    "{agent: {volumes: [{name: plugin, configMap: {name: plugin}}, {name: cache, emptyDir: {}}], volumeMounts: [{name: plugin, mountPath: /p}, {name: cache, mountPath: /c}], envFrom: [{secretRef: {name: proxy}}], livenessProbe: {exec: {command: ['true']}}}}",
    "{kubernetesVersion: '1.37', agent: {volumes: [{name: key, csi: {driver: a, volumeAttributes: {b: c}, nodePublishSecretRef: {name: d}}}, \
     {name: image, image: {reference: 'a:1'}}, {name: all, projected: {sources: [{secret: {name: a}}, {serviceAccountToken: {path: b}}]}}, \
     {name: down, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}], volumeMounts: [{name: all, mountPath: /all}]}}",
    "{platform: eks-fargate, qos: keep, agent: {tmp: null, imagePullSecrets: [team], securityContext: null, apiBase: 'http://a'}}",
    "agent: {config: {configMapKeyRef: {name: shop}, pollingMinutes: 5}, tmp: {medium: null, sizeLimit: null}, resources: {limits: null}, \
     securityContext: {runAsUser: null}}",
    "{annotations: {allow: [roles, agent-config-configmap-name, memory-limit]}, waitFor: {image: a, annotations: [com.baeldung/wait-for-it]}}",
];

/// Configurations with those settings.
pub fn others() -> Vec<Config> {
    OTHERS.into_iter().map(of_spec).collect()
}

/// The configuration that has this `spec`, in one line.
pub fn of_spec(spec: &str) -> Config {
    let object = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nmetadata:\n  name: test";
    configuration(Some(&format!("{object}\nspec:\n  {spec}\n")), &[], None)
}

/// Checks the laws over any text, as the fuzz target does. The text's length chooses the configuration.
pub fn hold_for_any_text(text: &str) {
    static CONFIGS: LazyLock<Vec<Config>> =
        LazyLock::new(|| others().into_iter().chain([Config::default()]).collect());
    let one = &CONFIGS[text.len() % CONFIGS.len()];
    let two = &CONFIGS[text.len() / CONFIGS.len() % CONFIGS.len()];
    let mut options = INJECT;
    if !text.len().is_multiple_of(2) {
        options.foreign_agents = ForeignAgents::AdoptLossy;
    }
    let hold = || {
        check(text, one, options)?;
        converges(text, &made(text, one)?, &made(text, two)?)
    };
    if let Err(broken) = hold() {
        panic!("{broken}");
    }
}

/// A record without what it says about the parents that were there before.
pub fn without_parents(record: &str) -> String {
    let json = record.strip_prefix("v1").unwrap();
    let mut fields: serde_json::Map<String, Value> = serde_json::from_str(json).unwrap();
    fields.retain(|name, _| name != "created" && name != "replaced");
    format!("v1{}", Value::Object(fields))
}
