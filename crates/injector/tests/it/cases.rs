//! `tests/cases/<topic>/<situation>/`: the listing of that folder is the specification.
//!
//! - `input.yaml` (or `.json`): the manifest
//! - `config.yaml`: the configuration, if it is not the default one
//! - `command`: further flags, as a user types them, behind `uninject` if the case is about that
//! - `expected.diff`: what `--diff` shows, with agents folded
//! - `expected.report`: one line per pod template: decision, resource, message; below it help and warnings
//!
//! The cases of the topic `agent` show the agent in full. Elsewhere one line stands for an agent that is added or removed whole and
//! is the one that such a case adds: `⟨agent: default⟩` is the one of `agent/default`, behind the same indentation and with
//! lists inside of it in lines that are indented by 2, or as the line says. The topic alone has the default image, too: a new one changes these cases.
//!
//! Each case is held against the laws as well. `UPDATE_CASES=1 cargo test -p injector --test it cases::cases_give` writes the expectations anew: read each
//! one as a reviewer would before it is committed.

use config::Config;
use injector::{Direction, Injection, Options, Outcome, inject};
use laws::cases::{AGENT, Case, IMAGE, all};
use laws::others;
use manifest::Identity;
use manifest::known_kinds::built_in_kinds;
use report::{Class, Reason};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use support::parallel::for_each;

fn expect(case: &Case, file: &str, seen: &str, wrong: &mut String) {
    let path = case.folder.join(file);
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected == seen {
        return;
    }
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(path, seen).unwrap();
        return;
    }
    let difference =
        similar::TextDiff::from_lines(visible(&expected).as_str(), visible(seen).as_str())
            .unified_diff()
            .context_radius(2)
            .to_string();
    writeln!(
        wrong,
        "== {}/{file} (`-` expected, `+` seen)\n{difference}",
        case.name
    )
    .unwrap();
}

/// Makes invisible characters visible: `␍` before a line feed, `␉` for a tab, `·` for a blank at the end of a line, `⟦BOM⟧`.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, "⟦no newline⟧\n"),
        };
        let (content, cr) = match content.strip_suffix('\r') {
            Some(content) => (content, "␍"),
            None => (content, ""),
        };
        let blanks = content.len() - content.trim_end_matches(' ').len();
        shown.push_str(&content[..content.len() - blanks]);
        shown.push_str(&"·".repeat(blanks));
        shown.push_str(cr);
        shown.push_str(end);
    }
    shown
        .replace('\t', "␉")
        .replace('\r', "␍")
        .replace('\u{feff}', "⟦BOM⟧")
}

/// The diff as `git apply` takes it.
fn diff(file: &str, before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    diff.unified_diff()
        .context_radius(3)
        .header(&format!("a/{file}"), &format!("b/{file}"))
        .to_string()
}

/// A block of YAML with lists inside of it that are indented by 2, as lines: `- name: …` first.
type AgentLines = Vec<String>;

/// The agents of the topic, by situation, and with the image that the other cases have.
fn agents(cases: &[Case]) -> Vec<(&str, AgentLines)> {
    let of = |case: &Case| {
        let text = laws::made(&case.text, &case.config_with(IMAGE)?)
            .ok()?
            .lawful
            .text;
        let name = text.find("- name: mackerel-container-agent\n")?;
        let indent = name - text[..name].rfind('\n')? - 1;
        let mut lines = text[name..].lines().map(|line| line.to_owned());
        let first = lines.next()?;
        let is_inside = |line: &String| line.len() - line.trim_start().len() > indent;
        Some(
            [first]
                .into_iter()
                .chain(
                    lines
                        .take_while(is_inside)
                        .map(|line| line[indent..].to_owned()),
                )
                .collect(),
        )
    };
    cases
        .iter()
        .filter_map(|case| Some((case.name.strip_prefix(AGENT)?, of(case)?)))
        .collect()
}

/// The agent behind `margin`, with the lists inside of it indented by `lists`, or those of words in brackets.
fn laid_out(agent: &AgentLines, margin: &str, lists: usize, in_brackets: bool) -> String {
    let mut text = String::new();
    // The column of the dashes of the list around a line.
    let mut list: Option<usize> = None;
    for line in agent {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        list = list.filter(|dashes| indent >= *dashes).or(content
            .starts_with("- ")
            .then_some(indent)
            .filter(|at| *at > 0));
        match content.strip_prefix("- ") {
            Some(word) if in_brackets && !word.contains(": ") => {
                let brackets = if text.ends_with(":\n") { " [" } else { ", " };
                text.truncate(text.trim_end_matches(['\n', ']']).len());
                writeln!(text, "{brackets}{word}]").unwrap();
            }
            _ => {
                let indent = if list.is_some() {
                    indent - 2 + lists
                } else {
                    indent
                };
                writeln!(text, "{margin}{:indent$}{content}", "").unwrap();
            }
        }
    }
    text
}

/// The diff with one line for each of these agents that it adds or removes whole.
fn folded(diff: &str, agents: &[(&str, AgentLines)]) -> String {
    let mut folded = String::new();
    let mut rest = diff;
    'lines: while let Some(end) = rest.find('\n') {
        let line = &rest[..=end];
        if let Some(margin) = line
            .find("- name: mackerel")
            .map(|at| &line[..at])
            .filter(|margin| margin.len() > 1)
        {
            for (lists, layout) in [
                (2, ""),
                (0, ", lists not indented"),
                (4, ", lists indented by 4"),
            ] {
                for (in_brackets, words) in [(false, ""), (true, ", words in brackets")] {
                    for (name, agent) in agents {
                        if let Some(behind) =
                            rest.strip_prefix(&laid_out(agent, margin, lists, in_brackets))
                        {
                            writeln!(folded, "{margin}⟨agent: {name}{layout}{words}⟩").unwrap();
                            rest = behind;
                            continue 'lines;
                        }
                    }
                }
            }
        }
        folded.push_str(line);
        rest = &rest[line.len()..];
    }
    folded + rest
}

/// The report: one line per pod template, below it its help and warnings; then the findings without a template.
fn report(text: &str, injection: &Injection) -> String {
    let mut report = String::new();
    let mut rows: Vec<_> = injection.rows("", text).collect();
    rows.sort_by_key(|reported| reported.subject.resource().is_none());
    for reported in rows {
        let (finding, class) = (&reported.finding, reported.finding.reason.class());
        let indent = if reported.subject.outcome().is_some() && !reported.is_decision() {
            "  "
        } else {
            ""
        };
        let label = match class {
            _ if reported.is_acknowledged => "acknowledged ",
            Class::Note => "note ",
            _ if finding.is_note => "note ",
            Class::Warning if reported.subject.resource().is_some() => "warning ",
            _ => "",
        };
        let is_one_of_several = |one: &&Outcome| {
            let of_resource = injection
                .outcomes
                .iter()
                .filter(|other| other.offset == one.offset);
            of_resource.count() > 1
        };
        let template = reported.subject.outcome().filter(is_one_of_several);
        let template = template
            .map(|outcome| format!(" {}", outcome.template))
            .unwrap_or_default();
        let subject = reported
            .subject
            .resource()
            .map(|resource| format!(" {}{template}", named(resource.identity)));
        let subject = subject.filter(|_| indent.is_empty()).unwrap_or_default();
        let place = reported.place.filter(|_| class != Class::Done);
        let place = place
            .map(|at| format!(" ({}:{})", at.line, at.column))
            .unwrap_or_default();
        writeln!(
            report,
            "{indent}{label}{}{subject}: {}{place}",
            finding.reason.id(),
            finding.message
        )
        .unwrap();
        if let Some(help) = &finding.help {
            writeln!(report, "{indent}  help: {help}").unwrap();
        }
    }
    report
}

/// The name of a resource: `Deployment/shop/web`, or `Deployment/web` without a namespace.
fn named(identity: &Identity) -> String {
    match &identity.namespace {
        Some(namespace) => format!("{}/{namespace}/{}", identity.kind, identity.name),
        None => format!("{}/{}", identity.kind, identity.name),
    }
}

#[test]
fn cases_give_what_they_say_within_the_laws() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    let cases = all();
    let agents = agents(&cases);
    for case in &cases {
        let lawful = match laws::check(&case.text, &case.config, case.options) {
            Ok(lawful) => lawful,
            Err(broken) => {
                writeln!(wrong, "== {}: {broken}", case.name).unwrap();
                continue;
            }
        };
        let diff = diff(&case.file, &case.text, &lawful.text);
        let diff = if case.name.starts_with(AGENT) {
            diff
        } else {
            folded(&diff, &agents)
        };
        expect(case, "expected.diff", &diff, &mut wrong);
        expect(
            case,
            "expected.report",
            &report(&case.text, &lawful.injection),
            &mut wrong,
        );
        seen.extend(
            lawful
                .injection
                .rows("", "")
                .map(|reported| reported.finding.reason),
        );
    }
    let missing: Vec<&str> = Reason::ALL
        .iter()
        .filter(|reason| !seen.contains(reason) && !ELSEWHERE.contains(reason))
        .map(|reason| reason.id())
        .collect();
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(missing.is_empty(), "no case has {}", missing.join(", "));
}

/// Without a case, a kind of the table could have its templates elsewhere.
#[test]
fn every_known_kind_has_a_case() {
    let mut without: BTreeSet<(String, String)> = built_in_kinds()
        .map(|(group, kind)| (group.to_owned(), kind.to_owned()))
        .collect();
    for case in all() {
        for outcome in inject(&case.text, &case.config, case.options).outcomes {
            let Identity {
                api_version, kind, ..
            } = outcome.identity;
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            without.remove(&(group.to_owned(), kind));
        }
    }
    assert_eq!(without, BTreeSet::new());
}

/// The line that the help of `unknown-kind` shows is added to the configuration: then the template gets its agent.
#[test]
fn the_line_for_an_unknown_kind_makes_it_known() {
    let mut lines = 0;
    for case in all() {
        let remarks = inject(&case.text, &case.config, case.options).remarks;
        let is_unknown = |reason| matches!(reason, Reason::UnknownKind | Reason::UnknownTemplate);
        for remark in remarks
            .into_iter()
            .filter(|remark| is_unknown(remark.finding.reason))
        {
            let help = remark.finding.help.unwrap();
            let Some((_, line)) = help
                .split_once("below `spec`: `")
                .filter(|(_, line)| line.starts_with("podTemplates"))
            else {
                continue;
            };
            let config = laws::of_spec(line.trim_end_matches('`'));
            let injection = inject(&case.text, &config, case.options);
            let is_it = |outcome: &&Outcome| outcome.identity == remark.identity;
            let decision = injection
                .outcomes
                .iter()
                .find(is_it)
                .map(|outcome| &outcome.decision);
            // The line says nothing of the image that waits, and is no help against an alias, which is refused by name.
            let is_looked_at = decision.is_some_and(|decision| match decision.reason {
                Reason::Injected | Reason::WaitForImage => true,
                Reason::Uneditable => decision.message.starts_with("alias: "),
                _ => false,
            });
            assert!(is_looked_at, "{}: {line}: {decision:?}", case.name);
            let is_told_of = injection
                .remarks
                .iter()
                .any(|other| is_unknown(other.finding.reason) && other.identity == remark.identity);
            assert!(!is_told_of, "{}", case.name);
            lines += 1;
        }
    }
    assert!(lines > 3, "{lines}");
}

/// Reasons without a case.
const ELSEWHERE: [Reason; 15] = [
    // Of files and folders: see the tests of the command line.
    Reason::HelmTemplate,
    Reason::KustomizePatch,
    Reason::KustomizeAnnotation,
    Reason::RenderedElsewhere,
    Reason::UnreadableFile,
    Reason::NoResources,
    Reason::NothingSelected,
    Reason::ConfigurationUnused,
    Reason::AgentsRemoved,
    // Those of the command `rbac`.
    Reason::NamespaceRequired,
    Reason::InvalidName,
    Reason::NodesProxy,
    // The decision of `uninject` about a template without an agent.
    Reason::NotInjected,
    // A bug of this program.
    Reason::VerifyFailed,
    // What is about no manifest, such as a path that does not exist.
    Reason::Error,
];

/// Each case converges with another configuration, whichever of the two comes first: with each one under `MACKEREL_LONG_TESTS=1`.
#[test]
fn cases_converge_under_another_configuration() {
    let (others, cases) = (others(), all());
    let count = match std::env::var_os("MACKEREL_LONG_TESTS") {
        Some(_) => others.len(),
        None => 1,
    };
    let numbered: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    let wrong = for_each(&numbered, |(number, case)| {
        let mut wrong = String::new();
        for other in others.iter().cycle().skip(*number).take(count) {
            if let Err(broken) = converges(case, other) {
                writeln!(wrong, "== {}: {broken}", case.name).unwrap();
            }
        }
        wrong
    });
    assert_eq!(wrong.concat(), "");
}

fn converges(case: &Case, other: &Config) -> Result<(), String> {
    let here = laws::made(&case.text, &case.config)?;
    let there = laws::made(&case.text, other)?;
    laws::converges(&case.text, &here, &there)?;
    laws::converges(&case.text, &there, &here)
}

#[test]
fn uninject_says_where_there_is_nothing_to_take_out() {
    let case = all()
        .into_iter()
        .find(|case| case.name == "agent/default")
        .unwrap();
    let lawful = laws::check(&case.text, &case.config, laws::UNINJECT).unwrap();
    assert_eq!(lawful.text, case.text);
    let reasons: Vec<Reason> = lawful
        .injection
        .outcomes
        .iter()
        .map(|outcome| outcome.decision.reason)
        .collect();
    assert_eq!(reasons, [Reason::NotInjected]);
}

/// Its agent was injected before the encryption.
#[test]
fn a_sealed_document_is_refused_only_where_it_would_change() {
    let cases = all();
    let of_name = |name: &str| cases.iter().find(|case| case.name == name).unwrap();
    let sealed = &of_name("sealed/deployment").text;
    let plain = of_name("agent/default");
    let (_, sops) = sealed.split_at(sealed.find("sops:").unwrap());
    let injected = inject(&plain.text, &plain.config, Options::default());
    let text = injected.apply(&plain.text).unwrap() + sops;
    for (spec, direction, expected) in [
        ("{}", Direction::Inject, Reason::Unchanged),
        ("agent: {memo: a}", Direction::Inject, Reason::Sealed),
        ("{}", Direction::Uninject, Reason::Sealed),
    ] {
        let injection = inject(&text, &laws::of_spec(spec), Options::new(direction));
        let decision = &injection.outcomes[0].decision;
        assert_eq!((decision.reason, injection.edits.len()), (expected, 0));
    }
}

/// The seeds of the fuzz target, so that it is replayed wherever tests run.
#[test]
fn cases_obey_the_laws_as_seeds_of_the_fuzz_target() {
    all()
        .iter()
        .for_each(|case| laws::hold_for_any_text(&case.text));
}
