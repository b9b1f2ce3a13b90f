//! What is to be done about one template: the decision, seen together with what an earlier run may have left.
//!
//! An update takes two steps: the old parts are taken out in memory, then the new ones go in. So a changed
//! configuration gives, by construction, the bytes that it would have given in the first place. Only what is not where we
//! would put it (another tool printed the manifest again, somebody appended a container) is replaced where it stands.

mod action;
mod adopt;
pub(crate) mod apply;
mod drift;
mod own_annotations;
pub(crate) mod patch;
mod position;

use crate::agent::Agent;
use crate::agent::canonical::Digest;
use crate::agent::container::Name;
use crate::agent::existing::{Ours, is_agent};
use crate::agent::parts::{Kinds, Parts};
use crate::agent::plan::Plan;
use crate::config::{Config, OnError};
use crate::decide::controller_owned::owned;
use crate::decide::plain_api_key;
use crate::decide::{Decision, Terms, Verdict, decide};
use crate::mackerel::annotations::Annotation;
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::resource::{Resource, text};
use crate::options::{Direction, ForeignAgents, HandEdits, Options};
pub(crate) use action::{Action, Waiting};

use crate::reconcile::adopt::{Adoption, mounts};
use crate::reconcile::drift::{HandEdit, Told};
use crate::reconcile::patch::{InsteadOf, Places, TemplatePatch, removal, replacement};
use crate::reconcile::position::{Standing, others};
use crate::report::{Class, Finding, Reason, Rule};
use std::rc::Rc;
use yaml_json_patch::{Kind, Tree};

/// The decision as it is told, and what it takes to carry it out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    /// What is told.
    pub(crate) decision: Finding,
    /// Told beside it.
    pub(crate) warnings: Vec<Finding>,
    /// None: nothing changes.
    pub(crate) action: Option<Action>,
    /// What made the decision.
    pub(crate) rule: Option<Rule>,
    /// The agent that the template then has.
    pub(crate) agent: Option<Rc<Agent>>,
    /// The init container that waits which the template then has, and what asked for it.
    pub(crate) wait_for: Option<Waiting>,
    /// What the decision speaks of; none where nothing is there and nothing goes in.
    pub(crate) about: Option<Kinds>,
}

impl Judgement {
    /// Nothing changes.
    fn of(decision: Finding, warnings: Vec<Finding>) -> Self {
        Self { decision, warnings, action: None, rule: None, agent: None, wait_for: None, about: None }
    }

    /// The template then has this.
    fn with(self, plan: &Plan, asked_to_wait: Option<Rule>) -> Self {
        let waiting = plan.wait_for().zip(asked_to_wait);
        let wait_for = waiting.map(|(wait_for, asked)| Waiting { wait_for: Rc::clone(wait_for), asked });
        Self { agent: plan.agent().map(Rc::clone), wait_for, ..self }
    }
}

/// Judges one template; `at` points to it from its resource, `path` from the root of the tree.
#[must_use]
pub(crate) fn judge(
    tree: &Tree<'_>,
    resource: &Resource,
    (at, path): (&str, &str),
    template: &PodTemplate,
    existing: Option<&Ours>,
    terms: Terms<'_>,
    options: Options,
) -> Judgement {
    let bench = Bench { tree, at, path, template, existing, config: terms.config, options };
    let edited = existing.and_then(|ours| bench.hand_edit(ours));
    let mut judgement = match (options.direction, existing) {
        (Direction::Uninject, None) => bench.says(Reason::NotInjected, None, Vec::new()),
        (Direction::Uninject, Some(ours)) => match edited {
            Some(edit) => {
                // What would go in today tells which field it is, as long as nothing else has changed since.
                let wanted = match decide(tree, resource, at, template, terms).decision {
                    Decision::Add(plan) => Some(plan),
                    Decision::Skip(_) | Decision::Refuse(_) => None,
                };
                Judgement::of(bench.hand_edited(edit, ours, wanted.as_ref()), Vec::new())
            }
            None => match bench.still_mounted(ours, None) {
                Some(refusal) => Judgement::of(refusal, Vec::new()),
                None => {
                    let judgement = bench.says(Reason::Removed, Some(ours.kinds()), Vec::new());
                    Judgement { action: Some(bench.removal(ours)), ..judgement }
                }
            },
        },
        (Direction::Inject, ours) => {
            let adopts = options.foreign_agents == ForeignAgents::Adopt;
            let adoption = if adopts { adopt::candidate(tree, template, existing) } else { None };
            let without = adoption.as_ref().map_or(template, |adoption| &adoption.without);
            let verdict = decide(tree, resource, at, without, terms);
            let verdict = if adopts { bench.or_cannot_adopt(verdict) } else { verdict };
            let rule = verdict.rule.clone();
            let judged = match (ours, adoption) {
                (ours, Some(adoption)) if edited.is_none() && adds_agent(&verdict.decision) => {
                    bench.adopt(ours, &adoption, verdict)
                }
                (Some(ours), _) => bench.again(ours, edited, verdict),
                (None, _) => bench.anew(verdict),
            };
            Judgement { rule: judged.rule.or(Some(rule)), ..judged }
        }
    };
    if options.direction == Direction::Inject {
        judgement.warnings.extend(plain_api_key::findings(tree, at, template));
    }
    if judgement.action.is_some() {
        // Whose resource it is says more than that it cannot be changed.
        let owned = owned(tree, resource.node).filter(|_| options.direction == Direction::Inject);
        judgement.warnings.extend(owned.or_else(|| bench.immutable(resource)));
    } else if judgement.decision.reason.class() == Class::Refused {
        judgement.warnings.retain(|warning| !warning.reason.is_about_change());
    }
    judgement
}

struct Bench<'a, 't> {
    tree: &'a Tree<'t>,
    at: &'a str,
    path: &'a str,
    template: &'a PodTemplate,
    /// What an earlier run put into it.
    existing: Option<&'a Ours>,
    config: &'a Config,
    options: Options,
}

impl Bench<'_, '_> {
    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        Finding::new(reason, message, self.tree.span(self.template.node).start, self.at)
    }

    /// What the API server would refuse to see changed.
    fn immutable(&self, resource: &Resource) -> Option<Finding> {
        let gvk = resource.gvk.as_ref()?;
        let is_immutable = matches!(
            (gvk.group.as_str(), gvk.kind.as_str()),
            ("", "Pod") | ("batch", "Job") | ("jobset.x-k8s.io", "JobSet") | ("serving.knative.dev", "Revision")
        );
        let metadata = self.tree.member(resource.node, "metadata")?;
        // With `generateName` each one is new, and Helm deletes a hook's before it makes the next.
        let is_made_anew = text(self.tree, metadata, "name").is_none_or(|name| name.is_empty())
            || self
                .tree
                .member(metadata, "annotations")
                .is_some_and(|given| self.tree.member(given, "helm.sh/hook").is_some());
        let message = format!("the containers of a {} cannot be changed once it is in the cluster", gvk.kind);
        let help =
            "delete the one that is there first, for example with `kubectl replace --force`, or give it a new name";
        (is_immutable && !is_made_anew).then(|| self.finding(Reason::ImmutableTemplate, message).with_help(help))
    }

    /// A decision in the words of its reason, which speaks of the agent alone; `about`: what it is about here.
    fn says(&self, reason: Reason, about: Option<Kinds>, warnings: Vec<Finding>) -> Judgement {
        let message = match (about, reason.done()) {
            (None, _) => reason.sentence().to_owned(),
            (Some(kinds), Some(done)) => kinds.passive(self.options.tense, done),
            (Some(kinds), None) => format!("{} is there and up to date", kinds.subject()),
        };
        Judgement { about, ..Judgement::of(self.finding(reason, message), warnings) }
    }

    fn removal(&self, ours: &Ours) -> Action {
        Action { first: removal(self.tree, self.template, self.path, ours), then: None, unwanted: None }
    }

    /// A template without anything of ours.
    fn anew(&self, Verdict { decision, warnings, no_agent, asked_to_wait, .. }: Verdict) -> Judgement {
        match decision {
            Decision::Add(plan) => {
                let mut judgement =
                    self.says(Reason::Injected, Some(plan.kinds()), warnings).with(&plan, asked_to_wait);
                if let Some(skip) = no_agent {
                    judgement.decision.message += &format!("; no agent: {}", skip.message);
                }
                let then = Some((plan, Places::default()));
                let action = Action { first: TemplatePatch::default(), then, unwanted: None };
                Judgement { action: Some(action), ..judgement }
            }
            Decision::Skip(finding) | Decision::Refuse(finding) => Judgement::of(finding, warnings),
        }
    }

    /// A template with an agent of somebody else. What there may be of ours has none, and goes in anew.
    #[cold]
    fn adopt(&self, ours: Option<&Ours>, adoption: &Adoption, verdict: Verdict) -> Judgement {
        let Decision::Add(plan) = &verdict.decision else { return self.anew(verdict) };
        let Some(agent) = plan.agent() else { return self.anew(verdict) };
        let old = &adoption.old;
        let pointer = format!("{}/spec/{}/{}", self.at, old.list.field(), old.index);
        let at_old = |reason, message| Finding::new(reason, message, self.tree.span(old.node).start, &pointer);
        if self.tree.kind(old.node) == Kind::Alias {
            let refusal =
                at_old(Reason::AdoptRefused, "the agent is an alias, and others may share its anchor".to_owned());
            let decision = refusal.with_help("write the container out instead of `*name`");
            return Judgement::of(decision, verdict.warnings);
        }
        let mut decision = at_old(Reason::Adopted, adopt::told(self.tree, old, agent, self.options.tense));
        for volume in adopt::left_behind(self.tree, self.template, adoption, agent) {
            let name = volume.name.as_deref().unwrap_or_default();
            decision.message += &format!("; the volume {name} stays, which nothing mounts any more");
        }
        if plan.wait_for().is_some() && ours.is_none() {
            decision.message += &format!("; {}", Kinds::WaitFor(()).passive(self.options.tense, "added"));
        }
        let first = ours.map(|ours| self.removal(ours).first).unwrap_or_default();
        // By then what there is of ours is gone.
        let index = others(self.template, old.list).filter(|other| *other < old.index).count();
        let then =
            Some((plan.clone(), Places { instead_of: Some(InsteadOf { list: old.list, index }), ..Places::default() }));
        let action = Some(Action { first, then, unwanted: None });
        let about = Some(Parts::Agent(()));
        Judgement { action, about, ..Judgement::of(decision, verdict.warnings).with(plan, verdict.asked_to_wait) }
    }

    /// Where an agent of somebody else is still there although one was to be taken over, it is one too many.
    #[cold]
    fn or_cannot_adopt(&self, verdict: Verdict) -> Verdict {
        let skip = match &verdict {
            Verdict { decision: Decision::Skip(skip), .. } | Verdict { no_agent: Some(skip), .. } => skip,
            _ => return verdict,
        };
        if skip.reason != Reason::AgentPresent {
            return verdict;
        }
        let agents = self.template.containers.iter().filter(|container| is_agent(container)).count();
        let ours = self.existing.filter(|ours| ours.kinds().agent().is_some());
        let (message, help) = match (ours, agents) {
            (Some(_), _) => {
                ("the template carries a record of ours beside it".to_owned(), "take one of them out first")
            }
            (None, 1) => ("an ephemeral container cannot be taken over".to_owned(), "take it out"),
            (None, agents) => (format!("the pod has {agents} agents, and can have one of ours"), "leave one of them"),
        };
        let refusal = Finding { message, help: Some(help.to_owned()), reason: Reason::AdoptRefused, ..skip.clone() };
        let place = refusal.offset.map(|offset| Rule::Manifest { offset, pointer: refusal.pointer.clone() });
        let rule = place.unwrap_or(verdict.rule);
        Verdict { decision: Decision::Refuse(refusal), rule, ..verdict }
    }

    /// A template that carries our record.
    // Apart from what every template runs that never had an agent.
    #[inline(never)]
    fn again(
        &self,
        ours: &Ours,
        edited: Option<HandEdit>,
        Verdict { decision, mut warnings, no_agent, asked_to_wait, .. }: Verdict,
    ) -> Judgement {
        let kinds = ours.kinds();
        let stays = |finding: Finding, mut warnings: Vec<Finding>, message: &str| {
            warnings.push(self.finding(Reason::StillInjected, message));
            Judgement::of(finding, warnings)
        };
        match (decision, edited) {
            (Decision::Add(mut plan), None) => {
                warnings.extend(self.keep_names(ours, &mut plan));
                // With `--force` a hand edit comes this far, and the record does not know of it.
                let standing = Standing { template: self.template, ours };
                if standing.is_current(&plan) && HandEdit::of(ours).is_none() {
                    // It has been told when they went in.
                    warnings.retain(|warning| warning.reason.class() != Class::Note);
                    return self.says(Reason::Unchanged, Some(kinds), warnings).with(&plan, asked_to_wait);
                }
                if let Some(refusal) = self.still_mounted(ours, Some(&plan)) {
                    return self.refused(ours, refusal, warnings);
                }
                let decision =
                    self.finding(Reason::Updated, standing.updated(self.options.tense, &plan, no_agent.as_ref()));
                let is = plan.kinds();
                let about =
                    Parts::of(kinds.agent().or(is.agent()).copied(), kinds.wait_for().or(is.wait_for()).copied());
                let judgement = Judgement::of(decision, warnings).with(&plan, asked_to_wait);
                Judgement { action: Some(self.update(ours, plan)), about, ..judgement }
            }
            (Decision::Add(plan), Some(edit)) => {
                let refusal = self.hand_edited(edit, ours, Some(&plan));
                let pointer = refusal.pointer.clone();
                let rule = refusal.offset.map(|offset| Rule::Manifest { offset, pointer });
                Judgement { rule, ..self.refused(ours, refusal, warnings) }
            }
            (Decision::Refuse(refusal), _) => self.refused(ours, refusal, warnings),
            // No reason to take an agent out: an app's container that lost its `image` to a slip of the pen looks like a patch's.
            (Decision::Skip(skip), _) if matches!(skip.reason, Reason::Disabled | Reason::Patch) => {
                let message = format!("{} of an earlier run stays; `uninject` takes it out", kinds.subject());
                stays(skip, warnings, &message)
            }
            (Decision::Skip(skip), edit) => {
                let told = edit.map(|edit| edit.told(self.tree, ours, None).message);
                let held = told.or_else(|| Some(self.still_mounted(ours, None)?.message));
                if let Some(why) = held {
                    let message = format!("{} is no longer wanted, but stays: {why}", kinds.subject());
                    return stays(skip, warnings, &message);
                }
                let message = format!("{}: {}", kinds.passive(self.options.tense, "taken out"), skip.message);
                let decision = self.finding(Reason::Removed, message);
                let action = Action { unwanted: Some(skip), ..self.removal(ours) };
                Judgement { action: Some(action), about: Some(kinds), ..Judgement::of(decision, warnings) }
            }
        }
    }

    /// A refusal of a template that carries our record.
    #[cold]
    fn refused(&self, ours: &Ours, refusal: Finding, mut warnings: Vec<Finding>) -> Judgement {
        if self.config.spec.on_error == OnError::Skip {
            let message = format!("{} of an earlier run stays as it is", ours.kinds().subject());
            warnings.push(self.finding(Reason::StillInjected, message));
        }
        Judgement::of(refusal, warnings)
    }

    /// What somebody changed in what we added; none where nothing was changed, or `--force` says that it does not matter.
    fn hand_edit(&self, ours: &Ours) -> Option<HandEdit> {
        let edit = HandEdit::of(ours)?;
        let overwritten = self.options.hand_edits == HandEdits::Overwrite && edit != HandEdit::NewerRecord;
        (!overwritten).then_some(edit)
    }

    /// A volume of ours that would go, and that a container of somebody else has come to mount. The API server refuses a pod that
    /// mounts what it does not have, so `--force` is no answer.
    fn still_mounted(&self, ours: &Ours, plan: Option<&Plan>) -> Option<Finding> {
        let stays = |name: &str| {
            let agent = plan.and_then(Plan::agent);
            agent.is_some_and(|agent| agent.volumes.iter().any(|(volume, _)| volume.name() == name))
        };
        let mut goes = ours.volumes.iter().filter(|(volume, there)| there.is_some() && !stays(volume.name()));
        let (volume, container) = goes.find_map(|(volume, _)| {
            let mut containers = self.template.containers.iter();
            Some((volume.name(), containers.find(|container| mounts(self.tree, container, volume.name()))?))
        })?;
        let name = container.name.as_deref().unwrap_or("without a name");
        let message = format!("the container {name} mounts the volume {volume}, which was put there for the agent");
        let pointer = format!("{}/spec/{}/{}", self.at, container.list.field(), container.index);
        let finding = Finding::new(Reason::HandEdited, message, self.tree.span(container.node).start, &pointer);
        Some(finding.with_help("give the container a volume of its own"))
    }

    #[cold]
    fn hand_edited(&self, edit: HandEdit, ours: &Ours, wanted: Option<&Plan>) -> Finding {
        let Told { message, offset, pointer } = edit.told(self.tree, ours, wanted);
        Finding::new(Reason::HandEdited, message, offset, &format!("{}{pointer}", self.at))
            .with_help(edit.help(self.options.direction))
    }

    /// Names that somebody who may (Renovate, kustomize) changed since stay, unless the configuration sets them.
    ///
    /// The image of the init container is not among them: it goes in only where the configuration sets it.
    fn keep_names(&self, ours: &Ours, plan: &mut Plan) -> Vec<Finding> {
        let record = ours.record.as_ref().ok().and_then(|record| record.parts.agent());
        let (Some(record), Some(agent)) = (record, plan.agent_mut()) else { return Vec::new() };
        let configured = agent.names();
        let mut kept = Vec::new();
        for name in Name::ALL {
            let (recorded, current, wanted) = match name {
                Name::Image => (Some(record.image), &ours.names.image, &configured.image),
                Name::Secret => (Some(record.secret), &ours.names.secret, &configured.secret),
                Name::ConfigMap => (record.config, &ours.names.config_map, &configured.config_map),
            };
            let (Some(recorded), Some(current), Some(wanted)) = (recorded, current, wanted) else { continue };
            let changed = Digest::of(current) != recorded && current != wanted;
            if changed && !self.is_explicit(name) {
                *agent = Rc::new(agent.with(name, current));
                let message = format!("{} stays {current}, which is not what we put there", name.setting());
                let help = format!("set `{}` to have it changed", name.setting());
                kept.push(Finding { help: Some(help), ..self.finding(Reason::ValueKept, message) });
            }
        }
        kept
    }

    fn is_explicit(&self, name: Name) -> bool {
        let annotation = match name {
            Name::Image => Annotation::Image,
            Name::Secret => Annotation::ApiKeySecretName,
            Name::ConfigMap => Annotation::AgentConfigMapName,
        };
        let is_it = |given: &crate::manifest::pod_template::Annotation| Annotation::of(&given.key) == Some(annotation);
        self.config.is_explicit(name.setting()) || self.template.annotations.iter().any(is_it)
    }

    fn update(&self, ours: &Ours, plan: Plan) -> Action {
        let standing = Standing { template: self.template, ours };
        if let Some(record) = standing.replaceable(&plan)
            && !standing.is_usual()
        {
            return Action { first: replacement(self.path, ours, record, &plan), then: None, unwanted: None };
        }
        let places = standing.places(&plan);
        Action { then: Some((plan, places)), ..self.removal(ours) }
    }
}

fn adds_agent(decision: &Decision) -> bool {
    matches!(decision, Decision::Add(plan) if plan.agent().is_some())
}
