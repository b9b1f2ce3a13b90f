//! The cause of each decision, as data that [`text`], JSON, [`sarif`] and [`github`] show.

pub(crate) mod github;
mod hosts;
mod permitted;
pub(crate) mod required;
pub(crate) mod sarif;
mod settings;
pub(crate) mod text;

pub(crate) use hosts::HostCount;
pub(crate) use permitted::PermissionView;
pub(crate) use required::RequirementView;
pub(crate) use settings::ContainerSettings;

use crate::agent::prerequisites::{KeyRef, Presence, Requirement};
use crate::annotations;
use crate::checks::ProcessedText;
use crate::config::{Config, Origin};
use crate::diagnostic::{LineCounter, Position, Severity};
use crate::inject::{Injection, Outcome, ReportedFinding, Subject};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::report::{Cause, Class, Reason};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::HashSet;

/// Explanation of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation<'i> {
    /// One per pod template, in the order of the inputs.
    pub(crate) templates: Vec<TemplateView<'i>>,
    /// Findings that belong to no pod template.
    pub(crate) findings: Vec<LocatedFinding<'i>>,
    /// Errors about paths or the run as a whole.
    #[serde(skip_serializing_if = "<[RunError]>::is_empty")]
    pub(crate) errors: &'i [RunError],
    /// Objects that must exist before the pods start.
    pub(crate) needed: Vec<RequirementView<'i>>,
    /// Permissions that the agents need.
    pub(crate) permissions: Vec<PermissionView>,
    /// Hosts that the agents make in Mackerel.
    pub(crate) mackerel: HostCount,
    /// Resources without a pod template.
    pub(crate) without_pod_template: usize,
}

impl<'i> Explanation<'i> {
    /// Every finding: of the pod templates, then the others.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &LocatedFinding<'i>> {
        let of_templates = self
            .templates
            .iter()
            .flat_map(|template| std::iter::once(&template.decision).chain(&template.warnings));
        of_templates.chain(&self.findings)
    }

    /// Every finding that a reviewer acts on, for tools of code review.
    fn review_findings(&self) -> impl Iterator<Item = &LocatedFinding<'i>> {
        self.findings()
            .filter(|found| found.reported.finding.reason.is_for_review())
    }

    /// True where `inject` would fail.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
            || self
                .findings()
                .any(|found| found.reported.severity == Severity::Error)
    }
}

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct PlaceView<'i> {
    /// The input's name as the user gave it, `<stdin>` for stdin.
    pub(crate) file: &'i str,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

/// One pod template.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateView<'i> {
    /// Kind and name of its resource.
    #[serde(flatten)]
    pub(crate) resource: &'i Identity,
    /// Path of the pod template in the resource; empty for a Pod.
    pub(crate) template: String,
    /// Place of the resource.
    pub(crate) place: PlaceView<'i>,
    /// The decision.
    pub(crate) decision: LocatedFinding<'i>,
    /// The cause of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<CauseView>,
    /// Warnings and notes.
    pub(crate) warnings: Vec<LocatedFinding<'i>>,
    /// Settings of the agent, if the user asked about one resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<ContainerSettings>,
    /// Settings of the init container that waits, if the user asked about one resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_for: Option<ContainerSettings>,
}

/// A finding with its line and column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocatedFinding<'i> {
    pub(crate) reported: ReportedFinding<'i>,
    /// Place of the finding.
    pub(crate) place: Option<PlaceView<'i>>,
    /// Place of the resource whose pod template it is about.
    pub(crate) template_place: Option<PlaceView<'i>>,
}

impl<'i> LocatedFinding<'i> {
    /// Returns its place for a review. A change is about the resource as a whole, as in the list of `--check`.
    pub(crate) fn review_place(&self) -> Option<PlaceView<'i>> {
        match self.reported.finding.reason.done() {
            Some(_) => self.template_place,
            None => self.place.or(self.template_place),
        }
    }

    /// Returns the path of the field in the resource; empty for the whole resource.
    fn field(&self) -> String {
        let finding = self.reported.finding;
        match finding.reason.class() {
            Class::Done => String::new(),
            _ => field_path(&finding.pointer),
        }
    }
}

/// Writes the resource only where no pod template around the finding names it.
impl Serialize for LocatedFinding<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finding = self.reported.finding;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &finding.reason)?;
        map.serialize_entry("severity", &self.reported.severity)?;
        map.serialize_entry("message", &finding.message)?;
        if let Some(help) = &finding.help {
            map.serialize_entry("help", help)?;
        }
        if let Some(place) = &self.place {
            map.serialize_entry("place", place)?;
        }
        if let Subject::Resource(remark) = self.reported.subject {
            map.serialize_entry("resource", &remark.identity)?;
        }
        let field = self.field();
        if !field.is_empty() {
            map.serialize_entry("field", &field)?;
        }
        map.end()
    }
}

/// An error about a path, the configuration or the run as a whole, which no finding of a text has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunError {
    /// Its reason, by its id.
    #[serde(rename = "id", skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Reason>,
    /// The path, with line and column where it has them, the problem and the next step.
    pub(crate) message: String,
}

/// The rule that made a decision.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CauseView {
    /// A setting's dotted path below `spec`, or a field of the manifest.
    pub(crate) rule: String,
    /// The setting's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
    /// Origin: `default`, `--set #1`, or a place.
    pub(crate) origin: String,
}

/// Templates to explain.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Filter<'a> {
    /// All templates, with the agent's settings if there is but one.
    All,
    /// All templates, for `--check`: each change and each missing agent is an error.
    Check,
    /// The templates of one resource, with the agent's settings: its name, `Kind/name` or `Kind/namespace/name`.
    Resource(&'a str),
}

impl Filter<'_> {
    fn takes(self, identity: &Identity, config: &Config) -> bool {
        let Filter::Resource(wanted) = self else {
            return true;
        };
        let parts: Vec<&str> = wanted.split('/').collect();
        let (kind, namespace, name) = match *parts.as_slice() {
            [name] => (None, None, name),
            [kind, name] => (Some(kind), None, name),
            [kind, namespace, name] => (Some(kind), Some(namespace), name),
            _ => return false,
        };
        let own_namespace = identity.namespace_or(config.spec.namespace.as_ref());
        name == identity.name
            && kind.is_none_or(|kind| kind.eq_ignore_ascii_case(&identity.kind))
            && namespace.is_none_or(|namespace| own_namespace.is_some_and(|own| own == namespace))
    }
}

/// Explains a run. The injections have to carry their agents (see [`Explanations`](crate::options::Explanations)) for their
/// settings to be shown.
pub(crate) fn explain<'i>(
    texts: &[ProcessedText<'i>],
    requirements: &'i [Requirement],
    errors: &'i [RunError],
    config: &'i Config,
    filter: Filter<'i>,
) -> Explanation<'i> {
    let outcomes = texts.iter().flat_map(|text| &text.injection.outcomes);
    let shown: Vec<&Outcome> = outcomes
        .filter(|outcome| filter.takes(&outcome.identity, config))
        .collect();
    let mut explanation = Explanation {
        templates: Vec::new(),
        findings: Vec::new(),
        errors,
        needed: needed(&shown, texts, requirements, config),
        permissions: permitted::permitted(&shown, texts, config),
        mackerel: HostCount::of(&shown, texts),
        without_pod_template: 0,
    };
    let is_one = shown.len() == 1 || matches!(filter, Filter::Resource(_));
    for text in texts {
        let mut builder = ExplanationBuilder {
            name: text.name,
            lines: LineCounter::new(text.text.as_bytes()),
            config,
            filter,
        };
        for reported in text.injection.diagnostics() {
            let is_shown = match reported.subject {
                Subject::Text => !matches!(filter, Filter::Resource(_)),
                Subject::Resource(remark) => filter.takes(&remark.identity, config),
                // Shown with its template.
                Subject::PodTemplate(_) => false,
            };
            if is_shown {
                explanation.findings.push(builder.finding(reported));
            }
        }
        for outcome in &text.injection.outcomes {
            if filter.takes(&outcome.identity, config) {
                let mut template = builder.template(outcome, text.injection);
                if is_one {
                    template.agent = builder.agent(outcome);
                    template.wait_for = builder.wait_for(outcome);
                }
                explanation.templates.push(template);
            }
        }
        if !matches!(filter, Filter::Resource(_)) {
            explanation.without_pod_template += text.injection.without_template();
        }
    }
    explanation
}

/// Returns what the shown templates need.
fn needed<'i>(
    shown: &[&Outcome],
    texts: &[ProcessedText<'i>],
    requirements: &'i [Requirement],
    config: &Config,
) -> Vec<RequirementView<'i>> {
    let mut named: HashSet<(Option<&String>, &KeyRef)> = HashSet::new();
    for outcome in shown {
        let namespace = outcome
            .identity
            .namespace_or(config.spec.namespace.as_ref());
        if let Some(needs) = outcome.needs() {
            named.extend(needs.objects.iter().map(|need| (namespace, need)));
        }
    }
    let mut lines: Vec<LineCounter<'_>> = texts
        .iter()
        .map(|text| LineCounter::new(text.text.as_bytes()))
        .collect();
    let mut needed = Vec::new();
    for requirement in requirements {
        if named.contains(&(requirement.namespace.as_ref(), &requirement.need)) {
            let place = match requirement.presence {
                Presence::Present { part, offset } => texts
                    .get(part)
                    .zip(lines.get_mut(part))
                    .map(|(text, lines)| PlaceView::new(text.name, lines.position(offset))),
                Presence::Absent | Presence::WithoutKey => None,
            };
            needed.push(RequirementView::new(requirement, place));
        }
    }
    needed
}

/// Builds the views of one input, in order of the text.
struct ExplanationBuilder<'a> {
    name: &'a str,
    lines: LineCounter<'a>,
    config: &'a Config,
    filter: Filter<'a>,
}

impl<'a> ExplanationBuilder<'a> {
    fn place(&mut self, offset: usize) -> PlaceView<'a> {
        PlaceView::new(self.name, self.lines.position(offset))
    }

    /// A template without the settings of its containers.
    fn template(&mut self, outcome: &'a Outcome, injection: &'a Injection) -> TemplateView<'a> {
        let place = self.place(outcome.offset);
        let decision = self.finding(injection.about_template(outcome, &outcome.decision));
        let mut warnings = Vec::with_capacity(outcome.warnings.len());
        for warning in &outcome.warnings {
            warnings.push(self.finding(injection.about_template(outcome, warning)));
        }
        TemplateView {
            resource: &outcome.identity,
            template: field_path(&outcome.template),
            place,
            decision,
            because: outcome.cause.as_ref().map(|cause| self.cause(cause)),
            warnings,
            agent: None,
            wait_for: None,
        }
    }

    fn finding(&mut self, reported: ReportedFinding<'a>) -> LocatedFinding<'a> {
        let reported = match self.filter {
            Filter::Check => reported.for_check(),
            _ => reported,
        };
        let outcome = reported.subject.outcome();
        LocatedFinding {
            template_place: outcome.map(|outcome| self.place(outcome.offset)),
            place: reported.finding.offset.map(|offset| self.place(offset)),
            reported,
        }
    }

    fn cause(&mut self, cause: &Cause) -> CauseView {
        match cause {
            Cause::Setting(path) => CauseView {
                rule: path.clone().into_owned(),
                value: self
                    .config
                    .value(path.split('[').next().unwrap_or_default()),
                origin: self.origin(self.config.origin(path)),
            },
            Cause::Manifest { offset, pointer } => CauseView {
                rule: what_stands_at(pointer),
                value: None,
                origin: self.place(*offset).to_string(),
            },
            Cause::Kustomization { place, pointer } => CauseView {
                rule: field_path(pointer),
                value: None,
                origin: place.clone(),
            },
        }
    }

    fn origin(&mut self, origin: &Origin) -> String {
        match origin {
            Origin::Annotation { key, offset } => {
                let place = self.place(*offset);
                let name = key.strip_prefix(annotations::PREFIX).unwrap_or(key);
                format!("annotation {name} at {place}")
            }
            other => other.to_string(),
        }
    }
}

/// A field of a resource, for people.
fn what_stands_at(pointer: &str) -> String {
    let field = field_path(pointer);
    match annotation(pointer) {
        Some(name) => format!("annotation {name}"),
        None if field.is_empty() => "the resource".to_owned(),
        None => field,
    }
}

/// The name of this program's annotation at a pointer.
fn annotation(pointer: &str) -> Option<String> {
    let (_, key) = pointer.split_once("/metadata/annotations/")?;
    let key = key.replace("~1", "/");
    Annotation::of(&key)?;
    Some(key.strip_prefix(PREFIX)?.to_owned())
}

impl<'i> PlaceView<'i> {
    fn new(file: &'i str, at: Position) -> Self {
        Self {
            file,
            line: at.line,
            column: at.column,
        }
    }
}

impl std::fmt::Display for PlaceView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
