//! One finding as every report shows it.
//!
//! ```
//! use config::Config;
//! use injector::{Options, inject};
//! use report::{Class, Reason};
//!
//! let manifest = "\
//! apiVersion: v1
//! kind: Pod
//! metadata:
//!   name: web
//!   annotations: {agent-injector.contrib.mackerel.io/inject: maybe}
//! spec:
//!   containers: [{name: web, image: web}]
//! ";
//! let injection = inject(manifest, &Config::default(), Options::default());
//! let outcome = &injection.outcomes[0];
//! assert_eq!((outcome.identity.kind.as_str(), outcome.identity.name.as_str()), ("Pod", "web"));
//! assert_eq!(outcome.decision.reason, Reason::InvalidAnnotation);
//! assert_eq!(outcome.decision.reason.class(), Class::Refused);
//!
//! let row = injection.rows("web.yaml", manifest).next().unwrap();
//! let line = row.line();
//! assert!(line.starts_with("web.yaml:5:"), "{line}");
//! assert!(line.contains(": error[invalid-annotation]: v1/Pod/web "), "{line}");
//! ```

use crate::inject::outcome::{Outcome, Remark, ResourceRef};
use manifest::field_path;
use report::{Class, Finding, LineCounter, Position, Reason, Severity, visible};
use std::borrow::Cow;

/// The name of stdin in messages.
pub const STDIN: &str = "<stdin>";
/// The beginning of the name of a text that kustomize has built.
pub const BUILD: &str = "kustomize build ";

/// A finding with its severity in this run, its resource and its place.
#[derive(Debug, Clone)]
pub struct Row<'i> {
    /// The finding.
    pub finding: Cow<'i, Finding>,
    /// Its severity in this run.
    pub severity: Severity,
    /// True for a warning that the configuration or the template has acknowledged.
    pub is_acknowledged: bool,
    /// The subject that it is about.
    pub subject: Subject<'i>,
    /// The name of the input, or of what the finding is about as a whole; empty if it has none.
    pub file: Cow<'i, str>,
    /// The text of the input; empty if it is not in memory any more.
    pub text: &'i str,
    /// The place of the finding in the text.
    pub place: Option<Position>,
    /// The place of its resource.
    pub resource_place: Option<Position>,
    /// The message with an excerpt, for a text that is not in memory any more.
    pub picture: Option<String>,
}

/// The subject of a finding.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'i> {
    /// A path, a setting, or the run as a whole.
    Run,
    /// A text, or a document of it.
    Text,
    /// A resource in which no pod template is known.
    Resource(&'i Remark),
    /// A pod template.
    PodTemplate(&'i Outcome),
}

impl<'i> Subject<'i> {
    /// Returns the resource, if it is one.
    #[must_use]
    pub fn resource(self) -> Option<ResourceRef<'i>> {
        match self {
            Subject::Run | Subject::Text => None,
            Subject::Resource(remark) => Some(remark.resource()),
            Subject::PodTemplate(outcome) => Some(outcome.resource()),
        }
    }

    /// Returns the outcome of the pod template, if it is one.
    #[must_use]
    pub fn outcome(self) -> Option<&'i Outcome> {
        match self {
            Subject::PodTemplate(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns false for a finding about the run.
    #[must_use]
    pub fn is_in_text(self) -> bool {
        !matches!(self, Subject::Run)
    }
}

impl<'i> Row<'i> {
    /// Returns the finding as `--check` reports it: an error if the check fails for it.
    #[must_use]
    pub fn for_check(mut self) -> Self {
        if self.fails_check() {
            self.severity = Severity::Error;
        }
        self
    }

    /// Returns the finding at the start of a file that its text was made from, since a forge shows no other place.
    #[must_use]
    pub fn at_start_of(self, file: &'i str) -> Self {
        Self {
            file: Cow::Borrowed(file),
            place: Some(start()),
            resource_place: Some(start()),
            ..self
        }
    }

    /// Returns the finding as the messages of a function call name it: by its resource and the file that an orchestrator read it
    /// from, since the user does not see the text on stdin.
    #[must_use]
    pub fn of_call(mut self) -> Self {
        if let Some(resource) = self.subject.resource() {
            self.file = Cow::Borrowed(resource.file.map_or("", |(path, _)| path));
            (self.place, self.resource_place) = (None, None);
        }
        self
    }

    /// True for a finding in a file, which its user can look at.
    #[must_use]
    pub fn is_in_file(&self) -> bool {
        self.file != STDIN && !self.file.starts_with(BUILD)
    }

    /// True for the decision about a pod template, false for every other finding.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.subject
            .outcome()
            .is_some_and(|outcome| std::ptr::eq(&outcome.decision, &*self.finding))
    }

    /// True for a change, which does not happen if an error holds back the output.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.is_decision() && self.finding.reason.done().is_some()
    }

    /// True for what a summary counts: a decision, or a text that was refused.
    #[must_use]
    pub fn is_in_summary(&self) -> bool {
        let is_text = matches!(self.subject, Subject::Text);
        self.is_decision() || (is_text && self.finding.reason.class() == Class::Refused)
    }

    /// True if `--check` fails for it: a change, or a refusal after which an agent is missing, outdated or not removed. `onError: skip`
    /// lets the other templates be written, and does not make a missing agent right. An agent without its record can neither be
    /// updated nor removed, so a check must not pass as if it were up to date, or absent.
    #[must_use]
    pub fn fails_check(&self) -> bool {
        match self.finding.reason.class() {
            Class::Done => self.finding.reason.done().is_some(),
            Class::Refused => self
                .subject
                .outcome()
                .is_none_or(|outcome| !outcome.has_wanted_agent),
            Class::Warning => self.finding.reason == Reason::RecordLost && !self.is_acknowledged,
            Class::Skipped | Class::Note => false,
        }
    }

    /// Returns another place in the text, counted from the resource.
    #[must_use]
    pub fn place_of(&self, offset: usize) -> Position {
        let text = self.text.as_bytes();
        let mut lines = match (self.subject.resource(), self.resource_place) {
            (Some(resource), Some(at)) => LineCounter::starting_at(text, resource.offset, at),
            _ => LineCounter::new(text),
        };
        lines.position(offset)
    }

    /// Returns the place for a review: that of a change is the whole resource, as in the list of `--check`.
    #[must_use]
    pub fn review_place(&self) -> Option<Position> {
        match self.finding.reason.done() {
            Some(_) => self.resource_place,
            None => self.place.or(self.resource_place),
        }
    }

    /// Returns the place for a tool that shows findings in files: the start of a file that cannot be read; none for what is in no file.
    #[must_use]
    pub fn place_in_file(&self) -> Option<Position> {
        match self.finding.reason {
            Reason::UnreadableFile => Some(self.place.unwrap_or_else(start)),
            _ => self.review_place(),
        }
    }

    /// Returns `web.yaml:3:1`, or the name alone.
    #[must_use]
    pub fn place_text(&self) -> String {
        match self.place.or(self.resource_place) {
            Some(at) => format!("{}:{}:{}", self.file, at.line, at.column),
            None => self.file.clone().into_owned(),
        }
    }

    /// Returns `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`, or nothing.
    #[must_use]
    pub fn resource_and_field(&self) -> String {
        let name = self
            .subject
            .resource()
            .map(|resource| resource.identity.full_name())
            .unwrap_or_default();
        let field = field_path(&self.finding.pointer);
        format!("{name} {field}").trim().to_owned()
    }

    /// Returns the message and help behind what they are about: `Deployment/web: the agent would be added`, `deploy: the directory has no
    /// resources`. A row of a text has its place elsewhere, and stdin is not what the user of an orchestrator sees.
    #[must_use]
    pub fn sentence(&self) -> String {
        let subject = match self.subject {
            Subject::Run if self.file == STDIN => String::new(),
            Subject::Run => self.place_text(),
            _ => self
                .subject
                .resource()
                .map(|resource| resource.identity.short_name())
                .unwrap_or_default(),
        };
        let sentence = self.finding.message_with_help();
        match &*subject {
            "" => sentence,
            subject => format!("{subject}: {sentence}"),
        }
    }

    /// Returns the sentence for a tool that shows the place in the file.
    #[must_use]
    pub fn sentence_in_file(&self) -> String {
        match (self.subject, self.place_in_file()) {
            (Subject::Run, Some(_)) => self.finding.message_with_help(),
            _ => self.sentence(),
        }
    }

    /// Returns `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web spec.template: the agent was added`.
    #[must_use]
    pub fn line(&self) -> String {
        let (severity, id) = (self.severity.name(), self.finding.reason.id());
        let title = match self.finding.reason {
            Reason::Error => severity.to_owned(),
            _ => format!("{severity}[{id}]"),
        };
        let sentence = self.finding.message_with_help();
        let mut parts = vec![
            self.place_text(),
            title,
            self.resource_and_field(),
            sentence,
        ];
        parts.retain(|part| !part.is_empty());
        visible(&parts.join(": ")).into_owned()
    }
}

/// Returns the start of a text.
fn start() -> Position {
    LineCounter::new(b"").position(0)
}

/// Returns the rows with the errors first, then the warnings, each in the order of the inputs. Of the errors, those that are no missing
/// change are first: they hold back every change.
#[must_use]
pub fn errors_first<'r, 'i>(rows: impl IntoIterator<Item = &'r Row<'i>>) -> Vec<&'r Row<'i>> {
    let mut rows: Vec<&Row<'_>> = rows.into_iter().collect();
    let holds_back = |row: &Row<'_>| row.severity == Severity::Error && !row.is_change();
    rows.sort_by_key(|row| std::cmp::Reverse((row.severity, holds_back(row))));
    rows
}
