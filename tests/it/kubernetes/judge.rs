//! Compares the API server's answers to an object without and with the agent.

use super::cluster::{Cluster, DryRunAnswer, RESTRICTED, SILENT, UNENFORCED, collection};
use super::injected::{InjectedPair, completed, hardened};
use config::Config;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

/// The form in which the API server gets an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// A template as a Pod where "restricted" is enforced, which accepted it before.
    Restricted,
    /// A template as a Pod where nothing is enforced, since "restricted" refused it before.
    Unenforced,
    /// The same template where "restricted" is enforced, with its own containers made to comply.
    Hardened,
    /// A template as a Pod under a configuration with which the agent's container does not comply with "restricted": nothing is
    /// enforced.
    GivenUp,
    /// A workload, with all that a manifest has.
    Workload,
}

impl fmt::Display for Way {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Way::Restricted => "pods, restricted",
            Way::Unenforced => "pods, not enforced",
            Way::Hardened => "pods, restricted once their own containers are",
            Way::GivenUp => "pods, not enforced since the configuration gives it up",
            Way::Workload => "workloads",
        })
    }
}

/// The API server's answers to many objects, counted.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// The number of accepted objects, without the agent and with it.
    accepted: BTreeMap<Way, (usize, usize)>,
    /// The numbers of pods and of workloads that the API server refuses without the agent too.
    invalid: (usize, usize),
    wrong: Vec<String>,
}

impl Census {
    /// The number of objects that were accepted with the agent.
    pub(super) fn accepted(&self, way: Way) -> usize {
        self.accepted.get(&way).map_or(0, |(_, after)| *after)
    }

    /// The number of templates that were accepted before.
    pub(super) fn valid(&self) -> usize {
        [Way::Restricted, Way::Unenforced, Way::GivenUp]
            .iter()
            .filter_map(|way| self.accepted.get(way))
            .map(|(before, _)| before)
            .sum()
    }

    /// Panics if an object was accepted before and is not with the agent.
    #[track_caller]
    pub(super) fn nothing_is_wrong(&self) {
        nothing_is_wrong(&self.wrong, self);
    }

    fn judged(&mut self, way: Way, subject: &str, outcome: Result<(), String>) {
        let (before, after) = self.accepted.entry(way).or_default();
        *before += 1;
        match outcome {
            Ok(()) => *after += 1,
            Err(why) => self.wrong.push(format!("{subject} ({way}): {why}")),
        }
    }
}

/// Panics if something is wrong, with the first of it and the counts.
#[track_caller]
pub(crate) fn nothing_is_wrong(wrong: &[String], counts: &impl fmt::Display) {
    let shown = &wrong[..wrong.len().min(20)];
    assert!(
        wrong.is_empty(),
        "{} wrong, of these:\n{}\n{counts}",
        wrong.len(),
        shown.join("\n")
    );
}

impl FromIterator<Census> for Census {
    fn from_iter<I: IntoIterator<Item = Census>>(parts: I) -> Self {
        let mut sum = Self::default();
        for part in parts {
            for (way, (before, after)) in part.accepted {
                let counts = sum.accepted.entry(way).or_default();
                *counts = (counts.0 + before, counts.1 + after);
            }
            sum.invalid = (
                sum.invalid.0 + part.invalid.0,
                sum.invalid.1 + part.invalid.1,
            );
            sum.wrong.extend(part.wrong);
        }
        sum
    }
}

impl fmt::Display for Census {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (way, (before, after)) in &self.accepted {
            writeln!(
                out,
                "  {way}: accepted {before} before, {after} with the agent"
            )?;
        }
        let (pods, workloads) = self.invalid;
        writeln!(
            out,
            "  refused before too: {pods} pods, {workloads} workloads"
        )
    }
}

/// An object that the API server accepted before the injection: its namespace and warnings.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    namespace: &'static str,
    warnings: BTreeSet<String>,
}

/// True if a configuration changes settings of the agent's container that "restricted" demands.
fn gives_up_restricted(config: &Config) -> bool {
    let [given, default] = [config, &Config::default()].map(|config| {
        [
            "allowPrivilegeEscalation",
            "capabilities",
            "runAsNonRoot",
            "seccompProfile",
        ]
        .map(|field| config.value(&format!("agent.securityContext.{field}")))
    });
    given != default
}

/// Asks the API server about each object once: many configurations give the same objects, and all have the same ones before.
pub(super) struct Judge {
    cluster: &'static Cluster,
    known: Mutex<BTreeMap<(&'static str, String), DryRunAnswer>>,
}

impl Judge {
    pub(super) fn new(cluster: &'static Cluster) -> Self {
        Self {
            cluster,
            known: Mutex::default(),
        }
    }

    fn ask(&self, namespace: &'static str, object: &Value) -> DryRunAnswer {
        let key = (namespace, object.to_string());
        if let Some(known) = self.known.lock().unwrap().get(&key) {
            return known.clone();
        }
        let answer = self.cluster.would_take(namespace, object);
        self.known.lock().unwrap().insert(key, answer.clone());
        answer
    }

    /// The object as it was before, in that namespace. None where it is refused.
    pub(super) fn ground(&self, namespace: &'static str, before: &Value) -> Option<Ground> {
        self.ask(namespace, before).ok().map(|warnings| Ground {
            namespace,
            warnings,
        })
    }

    /// The injected object on the same ground.
    ///
    /// # Errors
    /// Returns the reason of the refusal, or the warnings that the object did not have before.
    pub(super) fn holds(&self, ground: &Ground, after: &Value) -> Result<(), String> {
        let warnings = self
            .ask(ground.namespace, after)
            .map_err(|why| format!("refused: {why}"))?;
        let new: Vec<&String> = warnings.difference(&ground.warnings).collect();
        if new.is_empty() {
            Ok(())
        } else {
            Err(format!("new warnings: {new:?}"))
        }
    }

    /// The templates of a resource as Pods, and the resource itself where Kubernetes knows its kind.
    pub(super) fn judge(&self, subject: &str, config: &Config, pair: &InjectedPair) -> Census {
        let mut census = Census::default();
        let subject = format!("{subject}: {}", pair.name);
        let given_up = gives_up_restricted(config);
        let lenient = if given_up { SILENT } else { UNENFORCED };
        for (before, after) in pair.pods() {
            let restricted = |pod: &Value| {
                if given_up {
                    None
                } else {
                    self.ground(RESTRICTED, pod)
                }
            };
            if let Some(ground) = restricted(&before) {
                census.judged(Way::Restricted, &subject, self.holds(&ground, &after));
                continue;
            }
            let way = if given_up {
                Way::GivenUp
            } else {
                Way::Unenforced
            };
            match self.ground(lenient, &before) {
                Some(ground) => census.judged(way, &subject, self.holds(&ground, &after)),
                None => census.invalid.0 += 1,
            }
            if let Some(ground) = restricted(&hardened(&before)) {
                census.judged(
                    Way::Hardened,
                    &subject,
                    self.holds(&ground, &hardened(&after)),
                );
            }
        }
        if collection(&pair.after).is_some() && pair.after["kind"] != "Pod" {
            let [before, after] =
                [&pair.before, &pair.after].map(|resource| completed(resource, "subject"));
            // A workload is not refused for the sake of its pods: of those there is only a warning.
            match self.ground(lenient, &before) {
                Some(ground) => census.judged(Way::Workload, &subject, self.holds(&ground, &after)),
                None => census.invalid.1 += 1,
            }
        }
        census
    }
}
