//! The result for one text: edits, outcomes and findings.

use crate::agent::prerequisites::Requirement;
use crate::diagnostic::Severity;
use crate::inject::kind_counts::KindCounts;
use crate::inject::outcome::{Outcome, Remark, ResourceRef};
use crate::inject::severity::SeverityPolicy;
use crate::manifest::related::Location;
use crate::manifest::replicas::Scaling;
use crate::report::{Class, Finding, Reason};
use yaml_json_patch::edit::{self, Edit};

/// The result for one text.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Injection {
    /// Sorted, without overlap, in bytes of the text; empty when nothing changes. Not to be used where there are
    /// [errors](Injection::errors): all or nothing.
    pub edits: Vec<Edit>,
    /// One per pod template, in order of the text.
    pub outcomes: Vec<Outcome>,
    /// Refusals that belong to no pod template: documents that cannot be read and might have held one, and results that failed
    /// verification ([`Reason::VerifyFailed`]).
    pub findings: Vec<Finding>,
    /// Warnings and notes about resources in which no pod template is known.
    pub remarks: Vec<Remark>,
    /// The resources without a pod template, by kind.
    pub(crate) kinds_without_template: KindCounts,
    /// Places of other resources that decide whether the injected pods start.
    pub(crate) related: Vec<Location>,
    /// The ranges of the text's autoscalers, if explanations are asked for.
    pub(crate) scalings: Vec<Scaling>,
    /// Objects that must exist for the injected pods, by namespace, each with its presence in the text.
    pub requirements: Vec<Requirement>,
    /// Decides the severity of a finding in this run.
    pub(crate) severity_policy: SeverityPolicy,
}

/// One finding as reports show it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReportedFinding<'i> {
    /// The finding.
    pub finding: &'i Finding,
    /// Its severity in this run.
    pub severity: Severity,
    /// True for a warning that the configuration or the template has acknowledged.
    pub is_acknowledged: bool,
    /// The subject that it is about.
    pub subject: Subject<'i>,
}

/// The subject of a finding.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Subject<'i> {
    /// The text, or a document of it.
    Text,
    /// A resource in which no pod template is known.
    Resource(&'i Remark),
    /// A pod template.
    PodTemplate(&'i Outcome),
}

impl<'i> Subject<'i> {
    /// Returns the resource; none for a text.
    #[must_use]
    pub fn resource(self) -> Option<ResourceRef<'i>> {
        match self {
            Subject::Text => None,
            Subject::Resource(remark) => Some(remark.resource()),
            Subject::PodTemplate(outcome) => Some(outcome.resource()),
        }
    }

    /// Returns the outcome of the pod template; none for other subjects.
    #[must_use]
    pub fn outcome(self) -> Option<&'i Outcome> {
        match self {
            Subject::PodTemplate(outcome) => Some(outcome),
            Subject::Text | Subject::Resource(_) => None,
        }
    }
}

impl<'i> ReportedFinding<'i> {
    /// Returns an error about an input, which no setting tolerates.
    pub(crate) fn error(finding: &'i Finding) -> Self {
        ReportedFinding {
            finding,
            severity: Severity::Error,
            is_acknowledged: false,
            subject: Subject::Text,
        }
    }

    /// Returns the finding as `--check` reports it: an error if the check fails for it.
    pub(crate) fn for_check(mut self) -> Self {
        if self.fails_check() {
            self.severity = Severity::Error;
        }
        self
    }

    /// True for the decision about a pod template, false for every other finding.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        let outcome = self.subject.outcome();
        outcome.is_some_and(|outcome| std::ptr::eq(&outcome.decision, self.finding))
    }

    /// True for what a summary counts: a decision, or a text that was refused.
    pub(crate) fn is_in_summary(&self) -> bool {
        let is_text = matches!(self.subject, Subject::Text);
        self.is_decision() || (is_text && self.finding.reason.class() == Class::Refused)
    }

    /// True if `--check` fails for it: a change, or a refusal after which an agent is missing, outdated or not removed. `onError: skip`
    /// lets the other templates be written, and does not make a missing agent right. An agent without its record can neither be
    /// updated nor removed, so a check must not pass as if it were up to date, or absent.
    pub(crate) fn fails_check(&self) -> bool {
        match self.finding.reason.class() {
            Class::Done => self.finding.reason.done().is_some(),
            Class::Refused => {
                let outcome = self.subject.outcome();
                !outcome.is_some_and(|outcome| outcome.has_wanted_agent)
            }
            Class::Warning => self.finding.reason == Reason::RecordLost && !self.is_acknowledged,
            Class::Skipped | Class::Note => false,
        }
    }
}

impl Injection {
    /// Number of resources without a pod template.
    #[must_use]
    pub fn without_template(&self) -> usize {
        self.kinds_without_template.total()
    }

    /// Returns true if `--check` fails.
    pub(crate) fn fails_check(&self) -> bool {
        !self.edits.is_empty() || self.diagnostics().any(|reported| reported.fails_check())
    }

    /// Every finding: of the text, then of each pod template, its decision first, then of other resources.
    pub fn diagnostics(&self) -> impl Iterator<Item = ReportedFinding<'_>> {
        let findings = self.findings.iter().map(|finding| self.reported(finding));
        let of_templates = self.outcomes.iter().flat_map(move |outcome| {
            let findings = std::iter::once(&outcome.decision).chain(&outcome.warnings);
            findings.map(move |finding| self.about_template(outcome, finding))
        });
        let remarks = self
            .remarks
            .iter()
            .map(|remark| self.about_resource(remark));
        findings.chain(of_templates).chain(remarks)
    }

    /// The decision or a warning about a pod template.
    pub(crate) fn about_template<'i>(
        &self,
        outcome: &'i Outcome,
        finding: &'i Finding,
    ) -> ReportedFinding<'i> {
        ReportedFinding {
            subject: Subject::PodTemplate(outcome),
            ..self.reported(finding)
        }
    }

    /// Adds what was found in a later part of the text.
    pub(crate) fn append(&mut self, later: Self) {
        // Requirements are found when the whole text has been read.
        let Self {
            edits,
            outcomes,
            findings,
            remarks,
            kinds_without_template,
            related,
            scalings,
            requirements: _,
            severity_policy: _,
        } = later;
        self.edits.extend(edits);
        // Those of a long list are not copied.
        let has_room = self.outcomes.capacity() > outcomes.capacity();
        if self.outcomes.is_empty() && !has_room {
            self.outcomes = outcomes;
        } else {
            self.outcomes.extend(outcomes);
        }
        self.findings.extend(findings);
        self.remarks.extend(remarks);
        self.kinds_without_template.absorb(&kinds_without_template);
        self.related.extend(related);
        self.scalings.extend(scalings);
    }

    fn reported<'i>(&self, finding: &'i Finding) -> ReportedFinding<'i> {
        self.severity_policy.reported(finding)
    }

    /// A remark with its severity.
    pub(crate) fn about_resource<'i>(&self, remark: &'i Remark) -> ReportedFinding<'i> {
        ReportedFinding {
            subject: Subject::Resource(remark),
            ..self.reported(&remark.finding)
        }
    }

    /// Severity of a finding of this injection: `onError` decides about refusals, [`Options`](crate::options::Options) about
    /// warnings.
    #[must_use]
    pub fn severity(&self, finding: &Finding) -> Severity {
        self.severity_policy.severity(finding)
    }

    /// The findings for which the text is not changed at all: failed verifications, refusals, and warnings. `onError: skip` makes refusals
    /// warnings, and warnings count only where [`Warnings::Refuse`](crate::options::Warnings::Refuse) says so.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.diagnostics()
            .filter(|reported| reported.severity == Severity::Error)
            .map(|reported| reported.finding)
    }

    /// The text with the agents in it, or without them. `text` must be the one that was injected; it comes out as it is when
    /// nothing changes.
    ///
    /// # Errors
    /// Returns all of [`Injection::errors`] if there is one.
    pub fn apply(&self, text: &str) -> Result<String, Refused> {
        let findings: Vec<Finding> = self.errors().cloned().collect();
        if findings.is_empty() {
            Ok(edit::apply(text, &self.edits))
        } else {
            Err(Refused { findings })
        }
    }
}

impl SeverityPolicy {
    /// Returns a finding with its severity, without a resource.
    pub(crate) fn reported(self, finding: &Finding) -> ReportedFinding<'_> {
        ReportedFinding {
            severity: self.severity(finding),
            is_acknowledged: self.is_acknowledged(finding),
            ..ReportedFinding::error(finding)
        }
    }
}

/// The errors that keep a text as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentences(findings))]
#[non_exhaustive]
pub struct Refused {
    /// Never empty.
    pub findings: Vec<Finding>,
}

/// `hand-edited: the agent was edited by hand …`, one below the other.
fn sentences(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings
        .iter()
        .map(|finding| format!("{}: {}", finding.reason.id(), finding.message))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Sources, load};
    use crate::diagnostic::Severity;
    use crate::engine::inject;
    use crate::options::{Options, Warnings};
    use crate::report::Reason;

    /// Reasons that hold the text back; none where it comes out.
    fn held_back(text: &str, settings: &[&str], options: Options) -> Vec<Reason> {
        let set: Vec<String> = settings
            .iter()
            .map(|setting| (*setting).to_owned())
            .collect();
        let config: Config = load(&Sources::default().with_set(&set)).unwrap();
        let injection = inject(text, &config, options);
        let errors: Vec<Reason> = injection.errors().map(|finding| finding.reason).collect();
        match injection.apply(text) {
            Ok(_) => assert_eq!(errors, []),
            Err(refused) => {
                assert_eq!(
                    refused
                        .findings
                        .iter()
                        .map(|finding| finding.reason)
                        .collect::<Vec<_>>(),
                    errors
                );
                assert!(refused.to_string().starts_with(errors[0].id()), "{refused}");
            }
        }
        errors
    }

    #[test]
    fn refusals_and_strict_warnings_hold_a_text_back() {
        let strict = Options {
            warnings: Warnings::Refuse,
            ..Options::default()
        };
        let bad = "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: \
                   {agent-injector.contrib.mackerel.io/inject: maybe}}, spec: {containers: [{name: a, image: a}]}}\n";
        let warned = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a, \
                      resources: {limits: {cpu: 1, memory: 1Gi}}}]}}\n";
        let broken = "apiVersion: v1\nkind: Pod\nspec: [\n";
        for (text, settings, options, expected) in [
            (
                bad,
                &[][..],
                Options::default(),
                &[Reason::InvalidAnnotation][..],
            ),
            (bad, &["onError=skip"], Options::default(), &[]),
            (bad, &["onError=skip"], strict, &[Reason::InvalidAnnotation]),
            (warned, &[], Options::default(), &[]),
            (warned, &[], strict, &[Reason::QosChanged]),
            (warned, &["qos=allow"], strict, &[]),
            (warned, &["warnings.ignore=[qos-changed]"], strict, &[]),
            (broken, &[], Options::default(), &[Reason::Uneditable]),
        ] {
            assert_eq!(held_back(text, settings, options), expected, "{text}");
        }
        let injection = inject(warned, &Config::default(), Options::default());
        assert_eq!(
            injection.severity(&injection.outcomes[0].warnings[0]),
            Severity::Warning
        );
    }
}
