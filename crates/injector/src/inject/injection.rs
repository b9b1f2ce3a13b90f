//! The result for one text: edits, outcomes and findings.

use crate::agent::prerequisites::Requirement;
use crate::inject::kind_counts::KindCounts;
use crate::inject::outcome::{Outcome, Remark};
use crate::inject::row::{Row, Subject};
use crate::inject::severity::SeverityPolicy;
use manifest::Location;
use report::{Finding, LineCounter, Severity};
use std::borrow::Cow;
use std::collections::HashSet;
use yaml_json_patch::edit::{self, Edit};

/// The result for one text.
#[derive(Debug, Clone, Default)]
pub struct Injection {
    /// Sorted, without overlap, in bytes of the text; empty when nothing changes. Not to be used where something
    /// [holds the text back](Injection::held_back_by): all or nothing.
    pub edits: Vec<Edit>,
    /// One per pod template, in order of the text.
    pub outcomes: Vec<Outcome>,
    /// Refusals that belong to no pod template: documents that cannot be read and might have held one, and results that failed
    /// verification ([`Reason::VerifyFailed`](report::Reason::VerifyFailed)).
    pub findings: Vec<Finding>,
    /// Warnings and notes about resources in which no pod template is known.
    pub remarks: Vec<Remark>,
    /// JSON Pointers from pod templates to their annotations of this program.
    pub read_keys: HashSet<String>,
    /// The resources without a pod template, by kind.
    pub kinds_without_template: KindCounts,
    /// Places of other resources that decide whether the injected pods start.
    pub related: Vec<Location>,
    /// Objects that must exist for the injected pods, by namespace, each with its presence in the text.
    pub requirements: Vec<Requirement>,
    /// Decides the severity of a finding in this run.
    pub severity_policy: SeverityPolicy,
}

impl Injection {
    /// Number of resources without a pod template.
    #[must_use]
    pub fn without_template(&self) -> usize {
        self.kinds_without_template.total()
    }

    /// Returns true if something is said about a place in the text, or is still read there.
    pub fn needs_text(&self) -> bool {
        self.findings().next().is_some() || !self.related.is_empty()
    }

    /// Returns true if `--check` fails.
    pub fn fails_check(&self) -> bool {
        let mut rows = self.rows_placed_where("", "", |_| false);
        !self.edits.is_empty() || rows.any(|row| row.fails_check())
    }

    /// Every finding of the text, which is shown as `name`: of the text as a whole, then of each pod template, its decision first, then
    /// of other resources.
    pub fn rows<'i>(&'i self, name: &'i str, text: &'i str) -> impl Iterator<Item = Row<'i>> {
        self.rows_placed_where(name, text, |_| true)
    }

    /// As [`Injection::rows`], but most of the time goes into places: only the rows that need one get one.
    pub fn rows_placed_where<'i>(
        &'i self,
        name: &'i str,
        text: &'i str,
        needs_place: impl Fn(&Row<'_>) -> bool + 'i,
    ) -> impl Iterator<Item = Row<'i>> {
        let mut lines = LineCounter::new(text.as_bytes());
        let mut resource_at = None;
        self.findings().map(move |(finding, subject)| {
            let row = Row {
                subject,
                text,
                ..self.severity_policy.row(name, Cow::Borrowed(finding))
            };
            if !needs_place(&row) {
                return row;
            }
            let offset = subject.resource().map(|resource| resource.offset);
            // Lines are counted forward, resource after resource.
            if resource_at.map(|(offset, _)| offset) != offset {
                resource_at = offset.map(|offset| (offset, lines.position(offset)));
            }
            Row {
                place: finding.offset.map(|offset| lines.position(offset)),
                resource_place: resource_at.map(|(_, place)| place),
                ..row
            }
        })
    }

    fn findings(&self) -> impl Iterator<Item = (&Finding, Subject<'_>)> {
        let of_text = self.findings.iter().map(|finding| (finding, Subject::Text));
        let of_templates = self.outcomes.iter().flat_map(|outcome| {
            std::iter::once(&outcome.decision)
                .chain(&outcome.warnings)
                .map(move |finding| (finding, Subject::PodTemplate(outcome)))
        });
        let of_others = self
            .remarks
            .iter()
            .map(|remark| (&remark.finding, Subject::Resource(remark)));
        of_text.chain(of_templates).chain(of_others)
    }

    /// Adds what was found in a later part of the text.
    pub fn append(&mut self, later: Self) {
        // Requirements are found when the whole text has been read.
        let Self {
            edits,
            outcomes,
            findings,
            remarks,
            read_keys,
            kinds_without_template,
            related,
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
        self.read_keys.extend(read_keys);
        self.kinds_without_template.absorb(&kinds_without_template);
        self.related.extend(related);
    }

    /// Severity of a finding of this injection: `onError` decides about refusals, [`Options`](crate::options::Options) about
    /// warnings.
    #[must_use]
    pub fn severity(&self, finding: &Finding) -> Severity {
        self.severity_policy.severity(finding)
    }

    /// The errors: failed verifications, and refusals unless `onError` is `skip`.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings()
            .map(|(finding, _)| finding)
            .filter(|finding| self.severity(finding) == Severity::Error)
    }

    /// The findings for which the text is not changed at all: the errors, and warnings where
    /// [`Warnings::Refuse`](crate::options::Warnings::Refuse) says so.
    pub fn held_back_by(&self) -> impl Iterator<Item = &Finding> {
        let policy = self.severity_policy;
        self.findings()
            .map(|(finding, _)| finding)
            .filter(move |finding| policy.holds_back(policy.severity(finding)))
    }

    /// The text with the agents in it, or without them. `text` must be the one that was injected; it comes out as it is when
    /// nothing changes.
    ///
    /// # Errors
    /// Returns all of [`Injection::held_back_by`] if there is one.
    pub fn apply(&self, text: &str) -> Result<String, Refused> {
        let findings: Vec<Finding> = self.held_back_by().cloned().collect();
        if findings.is_empty() {
            Ok(edit::apply(text, &self.edits))
        } else {
            Err(Refused { findings })
        }
    }
}

/// The errors that keep a text as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentences(findings))]
pub struct Refused {
    /// Never empty.
    pub findings: Vec<Finding>,
}

/// `hand-edited: the agent was edited by hand …`, one below the other.
fn sentences(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("{}: {}", finding.reason.id(), finding.message))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use crate::engine::inject;
    use crate::options::{Options, Warnings};
    use config::{Config, Sources, load};
    use report::{Reason, Severity};

    /// Reasons that hold the text back; none where it comes out.
    fn held_back(text: &str, settings: &[&str], options: Options) -> Vec<Reason> {
        let set: Vec<String> = settings
            .iter()
            .map(|setting| (*setting).to_owned())
            .collect();
        let config: Config = load(&Sources::default().with_set(&set)).unwrap();
        let injection = inject(text, &config, options);
        let found: Vec<Reason> = injection
            .held_back_by()
            .map(|finding| finding.reason)
            .collect();
        match injection.apply(text) {
            Ok(_) => assert_eq!(found, []),
            Err(refused) => {
                assert_eq!(
                    refused
                        .findings
                        .iter()
                        .map(|finding| finding.reason)
                        .collect::<Vec<_>>(),
                    found
                );
                assert!(refused.to_string().starts_with(found[0].id()), "{refused}");
            }
        }
        found
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
