//! Compares pods that are created through a policy with the pods that the engine gives, and counts.

use super::{PREFIX, Policy, agents, containers, reported};
use crate::kubernetes::cluster::{ApiVerdict, Run, SILENT};
use crate::kubernetes::injected::{comparable, pairs};
use crate::kubernetes::judge::nothing_is_wrong;
use config::Config;
use injector::inject;
use laws::{INJECT, carries_record};
use report::{Class, Reason};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use support::parallel::for_each;

/// A pod, and the engine's decision about it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    name: String,
    pod: Value,
    decision: Decision,
}

#[derive(Debug, Clone)]
enum Decision {
    /// The pod with the agent.
    Injected(Value),
    Skipped,
    /// The reason, and the consequence.
    Refused(&'static str, OnError),
}

/// The consequence of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    Reject,
    Report,
}

impl Subject {
    /// The pod as the engine decides about it in the policy's namespace. None for a pod that brings a record, and for a patch.
    pub(super) fn new(name: &str, pod: &Value, policy: &Policy, config: &Config) -> Option<Self> {
        let mut pod = pod.clone();
        pod["metadata"]["namespace"] = policy.namespace.as_str().into();
        // With it the engine takes the pod for a stored one, whose ServiceAccount gave it no token. The API server adds one here.
        if let Some(metadata) = pod["metadata"].as_object_mut() {
            metadata.remove("uid");
        }
        let text = pod.to_string();
        if carries_record(&text) {
            return None;
        }
        let outcome = inject(&text, config, INJECT).outcomes.into_iter().next()?;
        // The API server drops the directives of a patch.
        if outcome.decision.reason == Reason::Patch {
            return None;
        }
        let decision = match outcome.decision.reason.class() {
            Class::Done => {
                let pair = pairs(&text, config, INJECT).into_iter().next()?;
                let (_, after) = pair.pods().next()?;
                Decision::Injected(after)
            }
            Class::Refused => {
                let on_error = match config.value("onError") {
                    Some(value) if value == "fail" && config.is_explicit("onError") => {
                        OnError::Reject
                    }
                    _ => OnError::Report,
                };
                Decision::Refused(outcome.decision.reason.id(), on_error)
            }
            Class::Skipped | Class::Warning | Class::Note => Decision::Skipped,
        };
        Some(Self {
            name: name.to_owned(),
            pod,
            decision,
        })
    }

    /// True if the pod has no agent of its own and does not opt out.
    fn lacks_agent(&self) -> bool {
        let opts_out = self.pod["metadata"]["annotations"][&format!("{PREFIX}inject")] == "false";
        let brings_agent = containers(&self.pod).any(|container| {
            let container = container.to_string();
            container.contains("/mackerel-container-agent")
                || container.contains("CONTAINER_PLATFORM")
        });
        !opts_out && !brings_agent
    }

    fn judge(&self, policy: &Policy) -> Verdict {
        let engine = match &self.decision {
            Decision::Injected(after) => after,
            Decision::Skipped | Decision::Refused(..) => &self.pod,
        };
        let wrong = |what: &str| Verdict::Wrong(format!("== {}: {what}", self.name));
        let expected = policy.cluster.create(Run::Dry, SILENT, engine);
        let seen = policy.create(&self.pod);
        let (expected, seen, warnings) = match (expected, seen) {
            (
                ApiVerdict::Accepted {
                    object: expected, ..
                },
                ApiVerdict::Accepted {
                    object: seen,
                    warnings,
                },
            ) => (expected, seen, warnings),
            (ApiVerdict::Refused(_), ApiVerdict::Refused(_)) => return Verdict::Invalid,
            (ApiVerdict::Accepted { .. }, ApiVerdict::Refused(_))
                if matches!(self.decision, Decision::Refused(_, OnError::Reject)) =>
            {
                return Verdict::Unchanged;
            }
            (ApiVerdict::Accepted { .. }, ApiVerdict::Refused(why)) => {
                return wrong(&format!("refused through the policy: {why}"));
            }
            // The agent makes it invalid, but the policy left it alone.
            (ApiVerdict::Refused(_), ApiVerdict::Accepted { .. }) => return Verdict::Invalid,
        };
        let reasons = reported(&warnings);
        match (&self.decision, agents(&seen) > agents(&self.pod)) {
            (Decision::Injected(_), false) => match reasons.first() {
                Some(reason) => Verdict::LeftAlone(reason.clone()),
                None => wrong("left alone in silence"),
            },
            (Decision::Skipped | Decision::Refused(..), true) => wrong("the policy injects"),
            (Decision::Skipped, false) if !reasons.is_empty() => {
                wrong(&format!("skipped, and reported: {reasons:?}"))
            }
            (Decision::Refused(reason, on_error), false)
                if self.lacks_agent() && !is_reported(&reasons, *on_error) =>
            {
                wrong(&format!("{reason}, but {reasons:?}: {}", self.pod))
            }
            (Decision::Injected(_), true) if !reasons.is_empty() => {
                wrong(&format!("injected, and reported: {reasons:?}"))
            }
            (decision, _) => match difference(&expected, &seen) {
                Some(difference) => wrong(&difference),
                None if matches!(decision, Decision::Injected(_)) => Verdict::Equal,
                None => Verdict::Unchanged,
            },
        }
    }
}

fn difference(expected: &Value, seen: &Value) -> Option<String> {
    let [expected, seen] = [expected, seen].map(comparable);
    if expected == seen {
        return None;
    }
    let difference = similar::TextDiff::from_lines(&expected, &seen)
        .unified_diff()
        .context_radius(2)
        .to_string();
    Some(format!("differs\n{difference}"))
}

/// True if a refusal is reported. One that is to reject the pod, and does not, is about what the policy cannot decide.
fn is_reported(reasons: &[String], on_error: OnError) -> bool {
    match on_error {
        OnError::Reject => reasons == ["undecided"],
        OnError::Report => !reasons.is_empty(),
    }
}

/// The comparison of one pod.
#[derive(Debug)]
enum Verdict {
    /// Both inject, and the pods are equal.
    Equal,
    /// Neither injects, and the pods are equal.
    Unchanged,
    /// The engine injects and the policy does not, and says so with this reason.
    LeftAlone(String),
    /// The API server refuses the pod in any case.
    Invalid,
    Wrong(String),
}

/// The numbers of pods by verdict.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) equal: usize,
    unchanged: usize,
    left_alone: BTreeMap<String, usize>,
    invalid: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Creates the pods through the policy, several at a time.
    pub(super) fn add(&mut self, policy: &Policy, subjects: &[Subject]) {
        for verdict in for_each(subjects, |subject| subject.judge(policy)) {
            match verdict {
                Verdict::Equal => self.equal += 1,
                Verdict::Unchanged => self.unchanged += 1,
                Verdict::LeftAlone(reason) => *self.left_alone.entry(reason).or_default() += 1,
                Verdict::Invalid => self.invalid += 1,
                Verdict::Wrong(difference) => self.wrong.push(difference),
            }
        }
    }

    fn left_alone(&self) -> usize {
        self.left_alone.values().sum()
    }

    /// The number of pods that the engine injects.
    fn wanted(&self) -> usize {
        self.equal + self.left_alone()
    }

    /// Panics if a pod differs, or if more pods than this percentage are left alone.
    #[track_caller]
    pub(super) fn holds(&self, percentage: usize) {
        nothing_is_wrong(&self.wrong, self);
        let created = self.wanted() + self.unchanged;
        assert!(
            self.left_alone() * 100 <= created * percentage,
            "more than {percentage} % are left alone: {self}"
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "equal: {}, without an agent: {}, refused anyway: {}, left alone: {:?}",
            self.equal, self.unchanged, self.invalid, self.left_alone
        )
    }
}
