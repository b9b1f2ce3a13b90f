//! The decisions of a run with their causes, as data that is written as [`text`], JSON ([`report`]), [`sarif`], or for [`github`] or [`gitlab`].

pub(crate) mod github;
pub(crate) mod gitlab;
mod hosts;
mod permissions;
mod report;
pub(crate) mod required;
pub(crate) mod sarif;
mod settings;
pub(crate) mod text;

pub(crate) use hosts::HostCount;
pub(crate) use permissions::PermissionView;
pub(crate) use report::Report;
pub(crate) use required::RequirementView;
pub(crate) use settings::ContainerSettings;

use crate::agent::prerequisites::{KeyRef, Presence, Requirement};
use crate::annotations;
use crate::checks::ProcessedText;
use crate::config::{Config, Origin};
use crate::diagnostic::{LineCounter, Position, Severity};
use crate::inject::severity::SeverityPolicy;
use crate::inject::{Injection, Outcome, ReportedFinding, Subject};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::report::{Cause, Class, Finding, Reason};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::HashSet;

/// Explanation of a run.
#[derive(Debug, Clone)]
pub(crate) struct Explanation<'i> {
    /// The pod templates, in the order of the inputs.
    pub(crate) templates: Vec<TemplateView<'i>>,
    /// Findings about no pod template.
    pub(crate) findings: Vec<LocatedFinding<'i>>,
    /// Warnings and notes about an input or setting as a whole.
    pub(crate) input_findings: Vec<LocatedFinding<'i>>,
    /// Errors about paths or the run as a whole.
    pub(crate) errors: &'i [RunError],
    /// Objects that must exist before the pods start.
    pub(crate) needed: Vec<RequirementView<'i>>,
    /// Permissions that the agents need.
    pub(crate) permissions: Vec<PermissionView>,
    /// Hosts in Mackerel.
    pub(crate) hosts: HostCount,
    /// Number of resources without a pod template.
    pub(crate) without_pod_template: usize,
}

impl<'i> Explanation<'i> {
    /// Returns every finding: those about pod templates, then the others.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &LocatedFinding<'i>> {
        let templates = self.templates.iter();
        templates
            .flat_map(|template| std::iter::once(&template.decision).chain(&template.warnings))
            .chain(&self.findings)
    }

    /// Returns every finding that tools of code review show.
    fn review_findings(&self) -> impl Iterator<Item = &LocatedFinding<'i>> {
        self.findings()
            .filter(|located| located.reported.finding.reason.is_for_review())
    }

    /// Returns true if `inject` would fail.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
            || self
                .findings()
                .any(|located| located.reported.severity == Severity::Error)
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
    /// Place of the resource.
    pub(crate) place: PlaceView<'i>,
    /// Its resource.
    pub(crate) resource: &'i Identity,
    /// Path of the pod template in the resource; empty for a Pod.
    pub(crate) template: String,
    /// True if the run would change the template.
    pub(crate) would_change: bool,
    /// The decision.
    pub(crate) decision: LocatedFinding<'i>,
    /// The cause of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<CauseView>,
    /// Warnings and notes.
    #[serde(rename = "findings")]
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
    /// Place for a review. That of a change is the whole resource, as in the list of `--check`.
    pub(crate) review_place: Option<PlaceView<'i>>,
    /// The input or setting that the finding is about as a whole.
    pub(crate) about: Option<&'i str>,
}

impl LocatedFinding<'_> {
    /// Returns the path of the field in the resource; empty for the whole resource.
    fn field(&self) -> String {
        let finding = self.reported.finding;
        match finding.reason.class() {
            Class::Done => String::new(),
            _ => field_path(&finding.pointer),
        }
    }
}

/// Writes the resource only if the finding is not inside a [`TemplateView`], which has it.
impl Serialize for LocatedFinding<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finding = self.reported.finding;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &finding.reason)?;
        if self.reported.is_decision() {
            map.serialize_entry("class", &finding.reason.class())?;
        }
        map.serialize_entry("severity", &self.reported.severity)?;
        map.serialize_entry("message", &finding.message)?;
        if let Some(help) = &finding.help {
            map.serialize_entry("help", help)?;
        }
        if self.reported.is_acknowledged {
            map.serialize_entry("acknowledged", &true)?;
        }
        if let Some(about) = self.about {
            map.serialize_entry("about", about)?;
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

/// An error about a path, the configuration or the run as a whole, which is no finding about a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunError {
    /// Its reason.
    #[serde(rename = "id", skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Reason>,
    /// The path, with line and column where it has them, the problem and the next step.
    pub(crate) message: String,
}

/// A warning or note about an input or setting as a whole.
#[derive(Debug, Clone)]
pub(crate) struct InputFinding {
    /// The path of the input, or the place of the setting.
    pub(crate) about: String,
    pub(crate) finding: Finding,
    pub(crate) policy: SeverityPolicy,
}

impl InputFinding {
    fn located(&self) -> LocatedFinding<'_> {
        LocatedFinding {
            reported: self.policy.reported(&self.finding),
            place: None,
            review_place: None,
            about: Some(&self.about),
        }
    }
}

/// Findings of a run that belong to no text.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFindings {
    pub(crate) errors: Vec<RunError>,
    /// Without errors.
    pub(crate) inputs: Vec<InputFinding>,
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
    /// All templates, without settings.
    All,
    /// All templates. Each change and each missing agent is an error, as for `--check`.
    Check,
    /// The templates of one resource, with the settings of the agent. The resource is `name`, `Kind/name` or `Kind/namespace/name`.
    Resource(&'a str),
}

impl Filter<'_> {
    /// Returns true if the filter includes a resource.
    fn includes(self, identity: &Identity, config: &Config) -> bool {
        let Filter::Resource(resource) = self else {
            return true;
        };
        let parts: Vec<&str> = resource.split('/').collect();
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

/// Explains a run. The settings of the agents are shown only if the injections have kept them, see
/// [`Explanations`](crate::options::Explanations).
pub(crate) fn explain<'i>(
    texts: &[ProcessedText<'i>],
    requirements: &'i [Requirement],
    of_run: &'i RunFindings,
    config: &'i Config,
    filter: Filter<'i>,
) -> Explanation<'i> {
    let outcomes = texts.iter().flat_map(|text| &text.injection.outcomes);
    let shown: Vec<&Outcome> = outcomes
        .filter(|outcome| filter.includes(&outcome.identity, config))
        .collect();
    let mut explanation = Explanation {
        templates: Vec::new(),
        findings: Vec::new(),
        input_findings: Vec::new(),
        errors: &of_run.errors,
        needed: needed(&shown, texts, requirements, config),
        permissions: permissions::permissions(&shown, texts, config),
        hosts: HostCount::of(&shown, texts, config),
        without_pod_template: 0,
    };
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
                Subject::Resource(remark) => {
                    let mut workloads = remark.workloads.iter();
                    filter.includes(&remark.identity, config)
                        || workloads.any(|workload| filter.includes(workload, config))
                }
                // The view of the template has it.
                Subject::PodTemplate(_) => false,
            };
            if is_shown {
                explanation.findings.push(builder.finding(reported));
            }
        }
        for outcome in &text.injection.outcomes {
            if filter.includes(&outcome.identity, config) {
                let mut template = builder.template(outcome, text.injection);
                if matches!(filter, Filter::Resource(_)) {
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
    for input in &of_run.inputs {
        explanation.input_findings.push(input.located());
    }
    explanation
}

/// Returns the objects that the shown templates need.
fn needed<'i>(
    shown: &[&Outcome],
    texts: &[ProcessedText<'i>],
    requirements: &'i [Requirement],
    config: &Config,
) -> Vec<RequirementView<'i>> {
    let mut keys: HashSet<(Option<&String>, &KeyRef)> = HashSet::new();
    for outcome in shown {
        let default_namespace = config.spec.namespace.as_ref();
        let namespace = outcome.identity.namespace_or(default_namespace);
        if let Some(needs) = outcome.needs() {
            keys.extend(needs.objects.iter().map(|key| (namespace, key)));
        }
    }
    let lines = texts.iter().map(|text| text.text.as_bytes());
    let mut lines: Vec<LineCounter<'_>> = lines.map(LineCounter::new).collect();
    let mut needed = Vec::new();
    for requirement in requirements {
        if !keys.contains(&(requirement.namespace.as_ref(), &requirement.need)) {
            continue;
        }
        let mut place = None;
        if let Presence::Present { part, offset } = requirement.presence
            && let (Some(text), Some(lines)) = (texts.get(part), lines.get_mut(part))
        {
            place = Some(PlaceView::new(text.name, lines.position(offset)));
        }
        needed.push(RequirementView::new(requirement, place));
    }
    needed
}

/// Builds the views of one input.
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

    /// Returns the view of a template, without the settings of its containers.
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
            would_change: outcome.decision.reason.done().is_some(),
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
        let finding = reported.finding;
        let outcome = reported.subject.outcome();
        let resource_place = outcome.map(|outcome| self.place(outcome.offset));
        let place = finding.offset.map(|offset| self.place(offset));
        LocatedFinding {
            review_place: match finding.reason.done() {
                Some(_) => resource_place,
                None => place.or(resource_place),
            },
            place,
            about: None,
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
                rule: field_for_people(pointer),
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

/// `annotation inject`, `spec.template.spec.hostNetwork`, `the resource`
fn field_for_people(pointer: &str) -> String {
    let field = field_path(pointer);
    match annotation(pointer) {
        Some(name) => format!("annotation {name}"),
        None if field.is_empty() => "the resource".to_owned(),
        None => field,
    }
}

/// Returns the name of the annotation at a pointer, if it is one of this program.
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
