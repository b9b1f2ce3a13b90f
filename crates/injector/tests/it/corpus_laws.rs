//! The laws over the manifests of the corpus, and a census of the decisions: `tests/census.txt`.
//!
//! Each manifest is tested in four ways: as it is; with an annotation for the agent in every other template; as the items of a
//! ResourceList; and, a repository at a time, as the stream that Helm prints. `UPDATE_CENSUS=1 cargo test corpus_laws`
//! writes the census anew.

use config::Config;
use injector::{Injection, Outcome};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation};
use laws::independent_reader::{self, Template, Whole};
use laws::resource_list::as_resource_list;
use laws::{of_spec, others};
use report::{Class, Reason};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{corpus, root};
use yaml_json_patch as yaml;
use yaml_json_patch::documents;

/// The results of all texts in one direction, counted.
#[derive(Debug, Default)]
struct LawCensus {
    texts: usize,
    /// Pod templates that the independent reader sees.
    templates: usize,
    /// Those of them that are whole, in texts that both readers can read.
    whole: usize,
    /// The number of pod templates by decision; a refusal with its general message.
    decided: BTreeMap<String, usize>,
    /// Texts in which a template was refused, or a document that may hold one.
    refused: Vec<String>,
    wrong: Vec<String>,
}

impl LawCensus {
    fn add(&mut self, other: LawCensus) {
        self.texts += other.texts;
        self.templates += other.templates;
        self.whole += other.whole;
        for (decision, count) in other.decided {
            *self.decided.entry(decision).or_default() += count;
        }
        self.refused.extend(other.refused);
        self.wrong.extend(other.wrong);
    }

    fn count(&self, beginning: &str) -> usize {
        self.decided
            .iter()
            .filter(|(decision, _)| decision.starts_with(beginning))
            .map(|(_, count)| count)
            .sum()
    }

    fn write(&self, way: &str, out: &mut String) {
        writeln!(
            out,
            "## {way}\ntexts: {}\ntemplates: {}",
            self.texts, self.templates
        )
        .unwrap();
        writeln!(out, "  of these whole, no patches: {}", self.whole).unwrap();
        for (decision, count) in &self.decided {
            writeln!(out, "  {decision}: {count}").unwrap();
        }
        for refused in &self.refused {
            writeln!(out, "    {refused}").unwrap();
        }
        out.push('\n');
    }
}

/// A text of the corpus.
struct CorpusText {
    name: String,
    text: String,
}

fn examine(subject: &CorpusText, config: &Config, pairs: &[Config]) -> LawCensus {
    let mut census = LawCensus {
        texts: 1,
        ..LawCensus::default()
    };
    let CorpusText { name, text } = subject;
    let checked = catch_unwind(AssertUnwindSafe(|| laws::check(text, config, laws::INJECT)));
    let lawful = match checked {
        Ok(Ok(lawful)) => lawful,
        Ok(Err(broken)) => {
            census.wrong.push(format!("{name}: {broken}"));
            return census;
        }
        Err(_) => {
            census.wrong.push(format!("{name}: a panic"));
            return census;
        }
    };
    let documents: Vec<ReadDocument<'_>> = independent_reader::documents(text)
        .into_iter()
        .map(ReadDocument::read)
        .collect();
    take_count(name, &documents, &lawful.injection, &mut census);
    let here = laws::Made { by: config, lawful };
    if !here.lawful.injection.outcomes.is_empty() {
        // One pair for each text, one way: which one is left to its name, so that all have their turn.
        let turn = name.bytes().map(usize::from).sum::<usize>();
        let (turns, turn) = (turn / pairs.len().max(1), turn % pairs.len().max(1));
        if let Some(other) = pairs.get(turn) {
            let converges = || {
                let there = laws::made(text, other)?;
                let (first, second) = if turns % 2 == 0 {
                    (&here, &there)
                } else {
                    (&there, &here)
                };
                laws::converges(text, first, second)
            };
            match catch_unwind(AssertUnwindSafe(converges)) {
                Ok(Ok(())) => {}
                Ok(Err(broken)) => census.wrong.push(format!("{name}: {broken}")),
                Err(_) => census.wrong.push(format!("{name}: a panic")),
            }
        }
        independent_third_law(name, documents, &here.lawful, &mut census);
    }
    census
}

/// A document as libyaml reads it.
struct ReadDocument<'t> {
    text: &'t str,
    /// The value of a document that may hold templates.
    value: Option<Value>,
    is_readable: bool,
}

impl<'t> ReadDocument<'t> {
    fn read(text: &'t str) -> Self {
        let may_hold = independent_reader::may_hold_templates(text);
        let value = may_hold.then(|| independent_reader::read(text)).flatten();
        Self {
            text,
            is_readable: !may_hold || value.is_some(),
            value,
        }
    }
}

/// Compares the injector's templates with those of the independent reader, and counts the decisions.
fn take_count(
    name: &str,
    documents: &[ReadDocument<'_>],
    injection: &Injection,
    census: &mut LawCensus,
) {
    let readable = documents.iter().all(|document| document.is_readable);
    let found = documents
        .iter()
        .filter_map(|document| document.value.as_ref())
        .flat_map(independent_reader::wholes);
    let (expected, wholes): (Vec<Template>, Vec<Whole>) = found.unzip();
    let seen: Vec<Template> = injection
        .outcomes
        .iter()
        .map(|outcome| Template {
            kind: outcome.identity.kind.clone(),
            pointer: outcome.template.clone(),
        })
        .collect();
    if readable && injection.findings.is_empty() && seen != expected {
        census.wrong.push(format!(
            "{name}: libyaml sees the templates {expected:?}, we see {seen:?}"
        ));
    }
    if readable && injection.findings.is_empty() && seen == expected {
        for (outcome, whole) in injection.outcomes.iter().zip(&wholes) {
            // Other reasons come first.
            let fits = match outcome.decision.reason {
                Reason::Patch => *whole == Whole::Patch,
                reason => reason.class() == Class::Skipped || *whole == Whole::Whole,
            };
            if !fits {
                let Outcome {
                    identity, decision, ..
                } = outcome;
                census.wrong.push(format!(
                    "{name}: {identity:?} is {}, and {whole:?} to the other reader",
                    decision.reason.id()
                ));
            }
        }
        census.whole += wholes
            .iter()
            .filter(|whole| **whole == Whole::Whole)
            .count();
    }
    if !readable {
        *census
            .decided
            .entry("(texts with a document that libyaml does not read)".to_owned())
            .or_default() += 1;
    }
    census.templates += expected.len();
    for outcome in &injection.outcomes {
        let decision = &outcome.decision;
        let reason = decision.reason;
        let told = match reason.class() {
            Class::Refused => format!("{}: {}", reason.id(), general(&decision.message)),
            _ => reason.id().to_owned(),
        };
        *census.decided.entry(told).or_default() += 1;
        if reason.class() == Class::Refused {
            let identity = &outcome.identity;
            census.refused.push(format!(
                "{name}: {} {}: {}",
                identity.kind, identity.name, decision.message
            ));
        }
    }
    for finding in &injection.findings {
        // A document that libyaml cannot read either holds no template.
        let nobody_reads = finding.offset.is_none_or(|offset| {
            let mut end = 0;
            let document = documents.iter().find(|document| {
                end += document.text.len();
                offset < end
            });
            document
                .and_then(|document| independent_reader::read(document.text))
                .is_none()
        });
        let who = if nobody_reads {
            "document that nobody reads"
        } else {
            "document that libyaml reads"
        };
        let told = format!(
            "{who}, {}: {}",
            finding.reason.id(),
            general(&finding.message)
        );
        *census.decided.entry(told).or_default() += 1;
        census
            .refused
            .push(format!("{name}: {who}: {}", finding.message));
    }
}

/// A message without what is particular to the manifest.
fn general(message: &str) -> String {
    message
        .split('`')
        .enumerate()
        .map(|(index, part)| if index % 2 == 0 { part } else { "…" })
        .collect()
}

/// Checks law 3 by libyaml's reading of both texts. libyaml reads scalars by YAML 1.2, which makes no difference to the law.
fn independent_third_law(
    name: &str,
    before: Vec<ReadDocument<'_>>,
    lawful: &laws::Lawful,
    census: &mut LawCensus,
) {
    let after = independent_reader::documents(&lawful.text);
    if before.len() != after.len() {
        census.wrong.push(format!(
            "{name}: libyaml sees {} documents become {}",
            before.len(),
            after.len()
        ));
        return;
    }
    let mut start = 0;
    for (before, after) in before.into_iter().zip(after) {
        let here = start..start + before.text.len();
        start = here.end;
        let outcomes = lawful
            .injection
            .outcomes
            .iter()
            .filter(|outcome| here.contains(&outcome.offset));
        let outcomes: Vec<_> = outcomes
            .filter(|outcome| !outcome.patch.is_empty())
            .collect();
        // In a list, whose resources would have to be found first, the laws' own check is enough.
        let (Some(mut value), [outcome]) = (before.value, &outcomes[..]) else {
            continue;
        };
        if value.get("items").is_some() {
            continue;
        }
        let fits = json_patch::patch(&mut value, &outcome.patch).is_ok();
        if !fits || independent_reader::read(after).as_ref() != Some(&value) {
            census.wrong.push(format!(
                "{name}: libyaml reads something else than the patch says\n{after}"
            ));
        }
    }
}

/// The four ways in which a manifest is tested.
fn as_it_is(name: &str, text: &str) -> Option<CorpusText> {
    Some(CorpusText {
        name: name.to_owned(),
        text: text.to_owned(),
    })
}

fn listed(name: &str, text: &str) -> Option<CorpusText> {
    as_it_is(name, &as_resource_list(name, text)?)
}

/// Adds the annotation for the agent to every other template.
fn asking(name: &str, text: &str) -> Option<CorpusText> {
    let mut out = String::with_capacity(text.len());
    let mut count = name.len();
    for document in documents(text) {
        let document = &text[document.span];
        out.push_str(&annotate(document, &mut count).unwrap_or_else(|| document.to_owned()));
    }
    (out != text).then(|| CorpusText {
        name: name.to_owned(),
        text: out,
    })
}

fn annotate(document: &str, count: &mut usize) -> Option<String> {
    if !independent_reader::may_hold_templates(document) {
        return None;
    }
    let value = independent_reader::read(document)?;
    if value.get("items").is_some() {
        return None;
    }
    let mut operations = Vec::new();
    for template in independent_reader::templates(&value) {
        *count += 1;
        if count.is_multiple_of(2) {
            operations.push(ask(&value, &template.pointer));
        }
    }
    if operations.is_empty() {
        return None;
    }
    yaml::apply(document, &Patch(operations)).ok()
}

fn ask(resource: &Value, template: &str) -> PatchOperation {
    let inject = "agent-injector.contrib.mackerel.io/inject";
    let holds = |path: &str| {
        resource
            .pointer(&format!("{template}{path}"))
            .is_some_and(Value::is_object)
    };
    let (path, value) = if holds("/metadata/annotations") {
        (
            "/metadata/annotations/agent-injector.contrib.mackerel.io~1inject",
            json!("true"),
        )
    } else if holds("/metadata") {
        ("/metadata/annotations", json!({inject: "true"}))
    } else {
        ("/metadata", json!({"annotations": {inject: "true"}}))
    };
    let path = PointerBuf::parse(format!("{template}{path}")).unwrap();
    PatchOperation::Add(AddOperation { path, value })
}

/// One file's part of the stream that Helm prints for its repository.
fn as_helm_prints(name: &str, text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut stream = String::new();
    for document in independent_reader::documents(text) {
        let body = document
            .strip_prefix("---\r\n")
            .or_else(|| document.strip_prefix("---\n"))
            .unwrap_or(document);
        if body.starts_with('%') || body.starts_with("---") {
            return None;
        }
        let body = body.trim_end().strip_suffix("\n...").unwrap_or(body);
        if body
            .lines()
            .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
        {
            continue;
        }
        let end = if body.ends_with('\n') { "" } else { "\n" };
        write!(stream, "---\n# Source: {name}\n{body}{end}").unwrap();
    }
    (!stream.is_empty()).then_some(stream)
}

/// Does the work on two threads; the results are in the order of the items.
fn census_of(subjects: &[CorpusText], config: &Config, pairs: &[Config]) -> LawCensus {
    let half = |odd: usize| {
        move || -> Vec<LawCensus> {
            subjects
                .iter()
                .skip(odd)
                .step_by(2)
                .map(|subject| examine(subject, config, pairs))
                .collect()
        }
    };
    let (even, mut odd) = std::thread::scope(|scope| {
        let threads = [scope.spawn(half(0)), scope.spawn(half(1))];
        let [even, odd] = threads.map(|thread| thread.join().unwrap().into_iter());
        (even, odd)
    });
    let mut census = LawCensus::default();
    for one in even {
        census.add(one);
        odd.next().into_iter().for_each(|one| census.add(one));
    }
    census
}

#[test]
fn corpus_laws_hold_and_the_census_is_as_it_was() {
    let Some(files) = corpus::manifests("corpus_laws") else {
        return;
    };
    let (mut plain, mut wants, mut lists, mut streams) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::<CorpusText>::new());
    let mut not_text = 0;
    for (name, bytes) in files {
        let Ok(text) = String::from_utf8(bytes) else {
            not_text += 1;
            continue;
        };
        wants.extend(asking(&name, &text));
        lists.extend(listed(&name, &text));
        if let Some(part) = as_helm_prints(&name, &text) {
            let repository = name.split('/').next().unwrap_or_default();
            match streams
                .last_mut()
                .filter(|stream| stream.name == repository)
            {
                Some(stream) => stream.text.push_str(&part),
                None => streams.push(CorpusText {
                    name: repository.to_owned(),
                    text: part,
                }),
            }
        }
        plain.extend(as_it_is(&name, &text));
    }

    let always = Config::default();
    let annotated = of_spec("injection: annotated");
    let ways = [
        ("as they are", &plain, &always, others()),
        (
            "every other template asks, injection: annotated",
            &wants,
            &annotated,
            Vec::new(),
        ),
        ("as a ResourceList", &lists, &always, Vec::new()),
        (
            "as the stream that Helm prints, a repository at a time",
            &streams,
            &always,
            Vec::new(),
        ),
    ];
    let mut seen = format!("files that are not UTF-8: {not_text}\n\n");
    let mut wrong = Vec::new();
    let mut fewer = Vec::new();
    for (way, subjects, config, pairs) in ways {
        let census = census_of(subjects, config, &pairs);
        census.write(way, &mut seen);
        // A template of ytt is valid YAML.
        let refused = census.count("uneditable") - census.count("uneditable: template")
            + census.count("document that libyaml reads");
        let wanted = census.count("injected") + refused;
        if refused * 1000 > wanted * 2 {
            wrong.push(format!(
                "{way}: {refused} of {wanted} wanted templates are refused for reasons of YAML, more than 0.2 %"
            ));
        }
        fewer.push((way, census.count("injected")));
        wrong.extend(
            census
                .wrong
                .into_iter()
                .map(|line| format!("{way}: {line}")),
        );
    }
    compare(&seen, &fewer, &mut wrong);
    let shown: Vec<&str> = wrong.iter().take(40).map(|line| cut(line)).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong, of these:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

/// The beginning of a long text.
fn cut(text: &str) -> &str {
    text.char_indices()
        .nth(4000)
        .map_or(text, |(at, _)| &text[..at])
}

/// Compares the census with `tests/census.txt`.
fn compare(seen: &str, injected: &[(&str, usize)], wrong: &mut Vec<String>) {
    let path = root().join("tests/census.txt");
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == seen {
        return;
    }
    if std::env::var_os("UPDATE_CENSUS").is_some() {
        std::fs::write(&path, seen).unwrap();
    } else {
        let diff = similar::TextDiff::from_lines(&expected, seen)
            .unified_diff()
            .context_radius(2)
            .to_string();
        wrong.insert(0, format!("the census changed:\n{diff}"));
    }
    for (way, injected) in injected {
        let before = expected
            .split("## ")
            .find_map(|part| part.strip_prefix(way))
            .and_then(|part| {
                part.lines()
                    .find_map(|line| line.strip_prefix("  injected: "))
                    .and_then(|count| count.parse().ok())
            });
        if before.is_some_and(|before: usize| *injected < before) {
            wrong.insert(
                0,
                format!(
                    "FEWER templates are injected {way}: {injected}, not {}",
                    before.unwrap_or(0)
                ),
            );
        }
    }
}
