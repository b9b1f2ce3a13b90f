//! The findings that a reviewer acts on, for [`sarif`](super::sarif) and [`github`](super::github): changes that `inject` would
//! make, refusals, warnings and notes.

use crate::diagnostic::Severity;
use crate::explain::{Explanation, FindingView, PlaceView, full_name};
use crate::report::{Class, Reason};

/// A finding that tools of code review show.
#[derive(Debug)]
pub(crate) struct ReviewFinding<'e> {
    pub(crate) problem: Problem,
    pub(crate) finding: &'e FindingView,
    /// `Deployment/shop/web`
    pub(crate) resource: Option<String>,
    pub(crate) place: Option<&'e PlaceView>,
}

impl ReviewFinding<'_> {
    /// The message, with the help behind it.
    pub(crate) fn text(&self) -> String {
        let FindingView { message, help, .. } = self.finding;
        help.as_ref()
            .map_or_else(|| message.clone(), |help| format!("{message}; {help}"))
    }
}

/// The problem that a reviewer sees. A change is named by the state that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) reason: Reason,
    /// `agent-missing`, or the reason's id.
    pub(crate) id: &'static str,
    /// One sentence, without a full stop.
    pub(crate) sentence: &'static str,
}

impl Problem {
    fn of(reason: Reason) -> Self {
        let (id, sentence) = match reason {
            Reason::Injected => ("agent-missing", "the agent is missing"),
            Reason::Updated => ("agent-outdated", "the agent is out of date"),
            Reason::Adopted => (
                "agent-not-adopted",
                "an agent that this tool did not inject is not adopted",
            ),
            Reason::Removed => ("agent-not-wanted", "the agent is present, but not wanted"),
            other => (other.id(), other.sentence()),
        };
        Self {
            reason,
            id,
            sentence,
        }
    }
}

impl Explanation {
    /// Returns the findings for a review.
    pub(crate) fn review_findings(&self) -> impl Iterator<Item = ReviewFinding<'_>> {
        self.findings().filter_map(|(finding, template)| {
            let reason = Reason::ALL
                .iter()
                .copied()
                .find(|reason| reason.id() == finding.id)?;
            let is_change = reason.done().is_some();
            let is_for_review =
                is_change || !matches!(reason.class(), Class::Done | Class::Skipped);
            is_for_review.then(|| ReviewFinding {
                problem: Problem::of(reason),
                finding,
                resource: finding
                    .resource
                    .as_ref()
                    .or(template.map(|template| &template.resource))
                    .map(full_name),
                // A change is about the resource as a whole, as in the list of `--check`.
                place: finding
                    .place
                    .as_ref()
                    .filter(|_| !is_change)
                    .or(template.map(|template| &template.place)),
            })
        })
    }

    /// Makes each finding an error for which `--check` fails.
    pub(crate) fn fail_check(&mut self) {
        let decisions = self
            .templates
            .iter_mut()
            .map(|template| &mut template.decision);
        for finding in decisions
            .chain(&mut self.findings)
            .filter(|finding| finding.fails_check)
        {
            finding.severity = Severity::Error;
        }
    }
}
