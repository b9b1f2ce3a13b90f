//! Law 4 after real tools: kustomize, kubectl, kpt, Helm 3 and Helm 4 print the cases, plain and injected. `uninject` turns the
//! printed injected case into the printed plain one, up to absent = null = empty.
//!
//! A tool gets all cases in one call. Cases that a tool cannot print are listed with the reason, and tested to be so.

use crate::real_tools::User;
use crate::tools;
use config::Config;
use injector::{Direction, inject};
use laws::cases;
use laws::independent_reader;
use laws::reprinted::bare;
use report::Class;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use yaml_json_patch as yaml;
use yaml_json_patch::edit;

/// Cases that Go's YAML readers refuse: directives of YAML 1.2, control characters in comments, and an invalid second document.
const NO_YAML_TO_GO: [&str; 4] = [
    "yaml/control-character-in-a-comment",
    "yaml/control-character-in-a-comment-alone",
    "yaml/directive",
    "yaml/invalid-yaml-in-the-second-document",
];
/// An item of a typed list has no kind of its own, which kustomize wants.
const WITHOUT_A_KIND: [&str; 1] = ["lists/typed-of-secrets"];
const WITHOUT_A_NAME: [&str; 4] = [
    "upgrade/immutable-template",
    "lists/of-pods-without-metadata",
    "nulls/pod-metadata",
    "kinds/pod-without-name-and-namespace",
];
/// sigs.k8s.io/yaml reads the last of them, kyaml refuses them.
const WITH_A_KEY_TWICE: [&str; 2] = ["annotations/twice", "duplicate-keys/elsewhere"];
/// To kpt a resource has a name, and a list has none.
const LISTS: [&str; 9] = [
    "select/controller-owned",
    "json/list",
    "lists/list",
    "lists/kind-before-apiversion",
    "lists/nested",
    "lists/typed",
    "lists/typed-of-secrets",
    "nulls/items",
    "kinds/unknown-kind-in-lists",
];
/// A ResourceList within kpt's own.
const RESOURCE_LIST: [&str; 2] = ["lists/resource-list", "sealed/item-of-a-resourcelist"];

/// Its last value ends in line breaks that count, and a comment follows: go-yaml prints one line break too many. What has
/// the agent behind that value is printed as it is.
const CHANGED_BY_THE_TOOL: &str = "layout/block-scalar-that-keeps-its-end-is-last";

/// Helm prints them as they are, and the reader of these tests does not take them.
const STREAMS: [&str; 4] = [
    "json/objects-behind-a-byte-order-mark",
    "json/several-documents-one-after-the-other",
    "layout/byte-order-mark-behind-a-marker",
    "layout/objects-behind-a-marker-and-a-byte-order-mark",
];

/// go-yaml prints `*kind : Pod` as `*kind: Pod`, which it cannot read.
const ALIASES_AS_KEYS: &str = "yaml/aliases-as-keys";

/// A case that gets an agent: its text without and with.
struct ReprintPair {
    name: String,
    plain: String,
    injected: String,
}

/// Every case that gets an agent and had none, and a configuration that knows where all of them keep their templates.
fn pairs() -> (Vec<ReprintPair>, Config) {
    let mut places = Vec::new();
    let mut pairs = Vec::new();
    for case in cases::all() {
        let is_left_out = STREAMS.contains(&&*case.name)
            || case.name == ALIASES_AS_KEYS
            || laws::carries_record(&case.text);
        if case.options.direction == Direction::Uninject || is_left_out {
            continue;
        }
        places.extend(
            case.config
                .value("podTemplates")
                .iter()
                .flat_map(serde_json::Value::as_array)
                .flatten()
                .cloned(),
        );
        let injected = edit::apply(
            &case.text,
            &inject(&case.text, &case.config, laws::INJECT).edits,
        );
        if injected != case.text {
            pairs.push(ReprintPair {
                name: case.name,
                plain: case.text,
                injected,
            });
        }
    }
    (
        pairs,
        laws::of_spec(&format!(
            "podTemplates: {}",
            serde_json::Value::Array(places)
        )),
    )
}

/// Writes cases, each a name and a text, into a folder of their own.
type LaysOut = fn(&Path, &[(&str, &str)]);

/// A tool that prints a text in its own way.
struct Printer<'p> {
    lays_out: LaysOut,
    /// Calls the tool on the folder of this name. Returns what it prints.
    prints: &'p dyn Fn(&str) -> Result<String, String>,
}

impl Printer<'_> {
    fn print(&self, user: &User, folder: &str, texts: &[(&str, &str)]) -> Result<String, String> {
        let at = user.path(folder);
        fs::create_dir(&at).unwrap();
        let names: Vec<String> = texts
            .iter()
            .map(|(name, _)| name.replace('/', "-"))
            .collect();
        let texts: Vec<(&str, &str)> = names
            .iter()
            .zip(texts)
            .map(|(name, (_, text))| (&**name, *text))
            .collect();
        (self.lays_out)(&at, &texts);
        (self.prints)(folder)
    }

    /// Checks law 4. `changed` are cases that the tool prints as another kind or with other containers, injected or not.
    fn holds_law_4(&self, user: &User, left_out: &[&str], changed: &[&str]) {
        let (mut pairs, places) = pairs();
        for (number, name) in changed.iter().enumerate() {
            let at = pairs.iter().position(|pair| pair.name == *name).unwrap();
            let ReprintPair { plain, .. } = pairs.remove(at);
            let printed = self
                .print(user, &format!("changed{number}"), &[(name, &plain)])
                .unwrap();
            let (printed, plain) = (workloads(&printed), workloads(&plain));
            assert!(
                !printed.is_empty() && printed.len() == plain.len(),
                "{name} is not printed: {printed:?}"
            );
            assert_ne!(
                printed, plain,
                "{name} is printed as it is: let it take part"
            );
        }
        let (out, texts): (Vec<&ReprintPair>, Vec<&ReprintPair>) = pairs
            .iter()
            .partition(|pair| left_out.contains(&&*pair.name));
        assert_eq!(
            out.len(),
            left_out.len(),
            "some of {left_out:?} are no cases that get an agent"
        );
        for (number, pair) in out.into_iter().enumerate() {
            let printed = self.print(
                user,
                &format!("alone{number}"),
                &[(&pair.name, &pair.plain)],
            );
            assert!(
                printed.is_err(),
                "{} can be printed: let it take part",
                pair.name
            );
        }
        assert!(texts.len() > 100, "only {} cases", texts.len());
        let plain: Vec<(&str, &str)> = texts
            .iter()
            .map(|pair| (&*pair.name, &*pair.plain))
            .collect();
        let injected: Vec<(&str, &str)> = texts
            .iter()
            .map(|pair| (&*pair.name, &*pair.injected))
            .collect();
        let plain = self
            .print(user, "plain", &plain)
            .unwrap_or_else(|error| panic!("{error}"));
        let injected = self
            .print(user, "injected", &injected)
            .unwrap_or_else(|error| panic!("{error}"));
        comes_back(&injected, &plain, &places, texts.len());
    }
}

#[track_caller]
fn comes_back(injected: &str, plain: &str, places: &Config, cases: usize) {
    let uninjection = inject(injected, places, laws::UNINJECT);
    let refused = uninjection
        .outcomes
        .iter()
        .find(|outcome| outcome.decision.reason.class() == Class::Refused);
    assert!(
        refused.is_none() && laws::fault(&uninjection).is_none(),
        "{refused:?} {:?}",
        uninjection.findings
    );
    let changed = uninjection
        .outcomes
        .iter()
        .filter(|outcome| outcome.decision.reason.class() == Class::Done)
        .count();
    assert!(
        changed >= cases,
        "{changed} agents were taken out of {cases} cases"
    );
    let back = edit::apply(injected, &uninjection.edits);
    let says_something = |text| {
        independent_reader::documents(text)
            .into_iter()
            .filter(|document| said(document).is_some())
    };
    let (left, right): (Vec<_>, Vec<_>) = (
        says_something(&back).collect(),
        says_something(plain).collect(),
    );
    let wrong: Vec<_> = left
        .iter()
        .zip(&right)
        .filter(|(left, right)| said(left) != said(right))
        .collect();
    let shown: String = wrong
        .iter()
        .take(3)
        .map(|(left, right)| format!("{left}\ninstead of\n{right}\n"))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} documents come back as something else:\n{shown}",
        wrong.len()
    );
    assert_eq!(left.len(), right.len());
}

/// A document as Kubernetes reads it, without members that are null or empty.
fn said(document: &str) -> Option<Value> {
    let tree = yaml::read(document).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let value = tree.root().map(|root| {
        yaml::to_json(&tree, root).unwrap_or_else(|error| panic!("{error}\n{document}"))
    });
    value.and_then(bare)
}

/// Kind and containers of each document of a text that has some.
fn workloads(text: &str) -> Vec<(Value, Value)> {
    let documents = independent_reader::documents(text)
        .into_iter()
        .filter_map(said);
    documents
        .filter_map(|document| {
            Some((
                document["kind"].clone(),
                document.pointer("/spec/template/spec/containers")?.clone(),
            ))
        })
        .collect()
}

/// One kustomization for all, in which each case has names of its own.
fn kustomizations(folder: &Path, texts: &[(&str, &str)]) {
    let mut all = "resources:\n".to_owned();
    for (number, (name, text)) in texts.iter().enumerate() {
        let case = folder.join(name);
        fs::create_dir(&case).unwrap();
        fs::write(case.join("input.yaml"), text).unwrap();
        fs::write(
            case.join("kustomization.yaml"),
            format!("namePrefix: c{number}-\nresources: [input.yaml]\n"),
        )
        .unwrap();
        all.push_str(&format!("- {name}\n"));
    }
    fs::write(folder.join("kustomization.yaml"), all).unwrap();
}

fn package(folder: &Path, texts: &[(&str, &str)]) {
    for (name, text) in texts {
        fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
    }
}

fn chart(folder: &Path, texts: &[(&str, &str)]) {
    fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: cases\nversion: 1.0.0\n",
    )
    .unwrap();
    let templates = folder.join("templates");
    fs::create_dir(&templates).unwrap();
    for (name, text) in texts {
        fs::write(
            templates.join(format!("{name}.yaml")),
            text.replace("{{", "{{ \"{{\" }}"),
        )
        .unwrap();
    }
}

#[test]
fn each_case_comes_back_after_kustomize() {
    let left_out = [
        &NO_YAML_TO_GO[..],
        &WITHOUT_A_KIND,
        &WITHOUT_A_NAME,
        &WITH_A_KEY_TWICE,
    ]
    .concat();
    for (tool, version, build) in [("kustomize", "5.8.", "build"), ("kubectl", "", "kustomize")] {
        let Some(tool) = tools::find(tool, version) else {
            continue;
        };
        let user = User::new();
        let prints = |folder: &str| user.prints(&tool, &[build, folder]);
        Printer {
            lays_out: kustomizations,
            prints: &prints,
        }
        .holds_law_4(&user, &left_out, &[CHANGED_BY_THE_TOOL]);
    }
}

#[test]
fn each_case_comes_back_after_kpt() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let left_out = [&NO_YAML_TO_GO[..], &WITHOUT_A_NAME, &LISTS, &RESOURCE_LIST].concat();
    let user = User::new().without_us();
    let prints = |folder: &str| {
        user.prints(
            &kpt,
            &["fn", "eval", folder, "--exec", crate::real_tools::PROGRAM],
        )?;
        Ok(stream(&user.path(folder)))
    };
    Printer {
        lays_out: package,
        prints: &prints,
    }
    .holds_law_4(&user, &left_out, &[CHANGED_BY_THE_TOOL]);
}

/// The files of a folder, one behind the other.
fn stream(folder: &Path) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let texts = files.iter().map(|file| {
        format!(
            "---\n{}\n",
            fs::read_to_string(file)
                .unwrap()
                .trim_start_matches('\u{feff}')
        )
    });
    texts.collect()
}

#[test]
fn each_case_comes_back_after_helm() {
    // Helm 4 prints anew what has gone through a post-renderer; here that is `cat`.
    let prints_anew = &["--post-renderer", crate::real_tools::PROGRAM][..];
    for (version, more, changed) in [
        ("3.", &[][..], &[][..]),
        ("4.", prints_anew, &[CHANGED_BY_THE_TOOL]),
    ] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new().without_us();
        let prints =
            |folder: &str| user.prints(&helm, &[&["template", "cases", folder], more].concat());
        Printer {
            lays_out: chart,
            prints: &prints,
        }
        .holds_law_4(&user, &NO_YAML_TO_GO, changed);
    }
}
