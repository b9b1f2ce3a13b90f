//! What is to be done about one template: the decision, seen together with the agent that an earlier run may have left.
//!
//! An update takes two steps: the old agent is taken out in memory, then the new one goes in. So a changed
//! configuration gives, by construction, the bytes that it would have given in the first place. Only an agent that
//! is not where we would put it (another tool printed the manifest again, somebody appended a container) is replaced
//! where it stands.

use crate::adoption::{self, Adoption};
use crate::agent::container::Name;
use crate::agent::normal::Digest;
use crate::agent::{Agent, Agents, Record};
use crate::annotations::Annotation;
use crate::config::{Config, OnRefusal};
use crate::decide::{Decision, Verdict, decide};
use crate::find::member;
use crate::hand_edit::{HandEdit, Told};
use crate::inject::{Direction, ForeignAgents, HandEdits, Options};
use crate::owner::owned;
use crate::patch::{Place, TemplatePatch, removal, replacement};
use crate::pod_template::{Ours, PodTemplate, is_agent};
use crate::report::{Class, Finding, Reason, Rule};
use crate::resource::{Resource, text};
use crate::yaml::{Kind, Tree};
use std::rc::Rc;

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
}

impl Judgement {
    fn of(decision: Finding, warnings: Vec<Finding>, action: Option<Action>) -> Self {
        Self { decision, warnings, action, rule: None, agent: None }
    }

    fn with(self, agent: Rc<Agent>) -> Self {
        Self { agent: Some(agent), ..self }
    }
}

/// What it takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    /// Takes out or replaces what stands there.
    pub(crate) first: TemplatePatch,
    /// Goes in afterwards.
    pub(crate) then: Option<(Rc<Agent>, Place)>,
    /// Where nobody wants the agent any more: what is told if it cannot be taken out.
    pub(crate) unwanted: Option<Finding>,
}

/// Judges one template; `at` points to it from its resource, `path` from the root of the tree.
#[must_use]
pub(crate) fn judge(
    tree: &Tree<'_>,
    resource: &Resource,
    (at, path): (&str, &str),
    template: &PodTemplate,
    config: &Config,
    options: Options,
    agents: &Agents,
) -> Judgement {
    let bench = Bench { tree, at, path, template, config, options };
    let edited = template.ours.as_ref().and_then(|ours| bench.hand_edit(ours));
    let mut judgement = match (options.direction, &template.ours) {
        (Direction::Uninject, None) => bench.says(Reason::NotInjected, Vec::new(), None),
        (Direction::Uninject, Some(ours)) => match edited {
            Some(edit) => {
                // What would go in today tells which field it is, as long as nothing else has changed since.
                let wanted = match decide(tree, resource, at, template, config, agents).decision {
                    Decision::Inject(agent) => Some(agent),
                    Decision::Skip(_) | Decision::Refuse(_) => None,
                };
                let decision = bench.hand_edited(edit, ours, wanted.as_deref());
                Judgement::of(decision, Vec::new(), None)
            }
            None => bench.says(Reason::Removed, Vec::new(), Some(bench.removal(ours))),
        },
        (Direction::Inject, ours) => {
            let adopts = options.foreign_agents == ForeignAgents::Adopt;
            let adoption = if adopts { adoption::candidate(tree, template) } else { None };
            let without = adoption.as_ref().map_or(template, |adoption| &adoption.without);
            let Verdict { decision, warnings, rule } = decide(tree, resource, at, without, config, agents);
            let decision = if adopts { bench.or_cannot_adopt(decision) } else { decision };
            let judged = match (ours, adoption) {
                (Some(ours), _) => bench.again(ours, edited, decision, warnings),
                (None, Some(adoption)) => bench.adopt(&adoption, decision, warnings),
                (None, None) => bench.anew(decision, warnings),
            };
            Judgement { rule: judged.rule.or(Some(rule)), ..judged }
        }
    };
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
        let metadata = member(self.tree, resource.node, "metadata")?;
        // With `generateName` each one is new, and Helm deletes a hook's before it makes the next.
        let is_made_anew = text(self.tree, metadata, "name").is_none_or(|name| name.is_empty())
            || member(self.tree, metadata, "annotations")
                .is_some_and(|given| member(self.tree, given, "helm.sh/hook").is_some());
        let message = format!("the containers of a {} cannot be changed once it is in the cluster", gvk.kind);
        let help =
            "delete the one that is there first, for example with `kubectl replace --force`, or give it a new name";
        (is_immutable && !is_made_anew).then(|| self.finding(Reason::ImmutableTemplate, message).with_help(help))
    }

    fn says(&self, reason: Reason, warnings: Vec<Finding>, action: Option<Action>) -> Judgement {
        Judgement::of(self.finding(reason, reason.sentence()), warnings, action)
    }

    fn removal(&self, ours: &Ours) -> Action {
        Action { first: removal(self.tree, self.template, self.path, ours), then: None, unwanted: None }
    }

    /// A template without an agent of ours.
    fn anew(&self, decision: Decision, warnings: Vec<Finding>) -> Judgement {
        match decision {
            Decision::Inject(agent) => {
                let action = Action {
                    first: TemplatePatch::default(),
                    then: Some((Rc::clone(&agent), Place::Last)),
                    unwanted: None,
                };
                self.says(Reason::Injected, warnings, Some(action)).with(agent)
            }
            Decision::Skip(finding) | Decision::Refuse(finding) => Judgement::of(finding, warnings, None),
        }
    }

    /// A template with an agent of somebody else.
    fn adopt(&self, adoption: &Adoption, decision: Decision, mut warnings: Vec<Finding>) -> Judgement {
        let Decision::Inject(agent) = decision else { return self.anew(decision, warnings) };
        let old = &adoption.old;
        let pointer = format!("{}/spec/{}/{}", self.at, old.list.field(), old.index);
        let at_old = |reason, message| Finding::new(reason, message, self.tree.span(old.node).start, &pointer);
        if self.tree.kind(old.node) == Kind::Alias {
            let refusal =
                at_old(Reason::AdoptRefused, "the agent is an alias, and others may share its anchor".to_owned());
            let decision = refusal.with_help("write the container out instead of `*name`");
            return Judgement::of(decision, warnings, None);
        }
        for volume in adoption::left_behind(self.tree, self.template, adoption, &agent) {
            let name = volume.name.as_deref().unwrap_or_default();
            let message = format!("the volume {name} stays, which nothing mounts any more");
            let pointer = format!("{}/spec/volumes/{}", self.at, volume.index);
            let finding = Finding::new(Reason::VolumeLeft, message, self.tree.span(volume.node).start, &pointer);
            warnings.push(finding.with_help("delete it if it is of no use"));
        }
        let decision = at_old(Reason::Adopted, adoption::told(self.tree, old, &agent));
        let then = Some((Rc::clone(&agent), Place::InsteadOf(old.list, old.index)));
        let action = Action { first: TemplatePatch::default(), then, unwanted: None };
        Judgement::of(decision, warnings, Some(action)).with(agent)
    }

    /// Where an agent of somebody else is still there although one was to be taken over, it is one too many.
    fn or_cannot_adopt(&self, decision: Decision) -> Decision {
        let Decision::Skip(skip) = decision else { return decision };
        if skip.reason != Reason::AgentPresent {
            return Decision::Skip(skip);
        }
        let agents = self.template.containers.iter().filter(|container| is_agent(container)).count();
        let (message, help) = match (&self.template.ours, agents) {
            (Some(_), _) => {
                ("the template carries a record of ours beside it".to_owned(), "take one of them out first")
            }
            (None, 1) => ("an ephemeral container cannot be taken over".to_owned(), "take it out"),
            (None, agents) => (format!("the pod has {agents} agents, and can have one of ours"), "leave one of them"),
        };
        Decision::Refuse(Finding { message, help: Some(help.to_owned()), reason: Reason::AdoptRefused, ..skip })
    }

    /// A template that carries our record.
    fn again(
        &self,
        ours: &Ours,
        edited: Option<HandEdit>,
        decision: Decision,
        mut warnings: Vec<Finding>,
    ) -> Judgement {
        let stays = |finding: Finding, mut warnings: Vec<Finding>, message: &str| {
            warnings.push(self.finding(Reason::StillInjected, message));
            Judgement::of(finding, warnings, None)
        };
        match (decision, edited) {
            (Decision::Inject(mut agent), None) => {
                let kept = self.keep_names(ours, &mut agent);
                warnings.extend(kept);
                // With `--force` a hand edit comes this far, and the record does not know of it.
                if is_current(ours, &agent) && HandEdit::of(ours).is_none() {
                    // It has been told when the agent went in.
                    warnings.retain(|warning| warning.reason.class() != Class::Note);
                    return self.says(Reason::Unchanged, warnings, None).with(agent);
                }
                self.says(Reason::Updated, warnings, Some(self.update(ours, Rc::clone(&agent)))).with(agent)
            }
            (Decision::Inject(agent), Some(edit)) => {
                let refusal = self.hand_edited(edit, ours, Some(&agent));
                let pointer = refusal.pointer.clone();
                let rule = refusal.offset.map(|offset| Rule::Manifest { offset, pointer });
                Judgement { rule, ..self.refused(refusal, warnings) }
            }
            (Decision::Refuse(refusal), _) => self.refused(refusal, warnings),
            (Decision::Skip(skip), _) if skip.reason == Reason::Disabled => {
                stays(skip, warnings, "the agent of an earlier run stays; `uninject` takes it out")
            }
            (Decision::Skip(skip), Some(edit)) => {
                let told = edit.told(self.tree, ours, None).message;
                let message = format!("the agent is no longer wanted, but stays: {told}");
                stays(skip, warnings, &message)
            }
            (Decision::Skip(skip), None) => {
                let message = format!("the agent was taken out: {}", skip.message);
                let decision = self.finding(Reason::Removed, message);
                let action = Action { unwanted: Some(skip), ..self.removal(ours) };
                Judgement::of(decision, warnings, Some(action))
            }
        }
    }

    /// A refusal of a template that carries our record.
    fn refused(&self, refusal: Finding, mut warnings: Vec<Finding>) -> Judgement {
        if self.config.spec.on_refusal == OnRefusal::Skip {
            warnings.push(self.finding(Reason::StillInjected, "the agent of an earlier run stays as it is"));
        }
        Judgement::of(refusal, warnings, None)
    }

    /// What somebody changed in what we added; none where nothing was changed, or `--force` says that it does not matter.
    fn hand_edit(&self, ours: &Ours) -> Option<HandEdit> {
        let edit = HandEdit::of(ours)?;
        let overwritten = self.options.hand_edits == HandEdits::Overwrite && edit != HandEdit::NewerRecord;
        (!overwritten).then_some(edit)
    }

    fn hand_edited(&self, edit: HandEdit, ours: &Ours, wanted: Option<&Agent>) -> Finding {
        let Told { message, offset, pointer } = edit.told(self.tree, ours, wanted);
        Finding::new(Reason::HandEdited, message, offset, &format!("{}{pointer}", self.at)).with_help(edit.help())
    }

    /// Names that somebody who may (Renovate, kustomize) changed since stay, unless the configuration sets them.
    fn keep_names(&self, ours: &Ours, agent: &mut Rc<Agent>) -> Vec<Finding> {
        let Ok(record) = &ours.record else { return Vec::new() };
        let configured = agent.names();
        let mut kept = Vec::new();
        for name in Name::ALL {
            let (recorded, current, wanted) = match name {
                Name::Image => (Some(record.image), Some(&ours.names.image), Some(&configured.image)),
                Name::Secret => (Some(record.secret), Some(&ours.names.secret), Some(&configured.secret)),
                Name::ConfigMap => (record.config, ours.names.config_map.as_ref(), configured.config_map.as_ref()),
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
        self.config.is_explicit(name.setting()) || self.template.annotation(annotation.key()).is_some()
    }

    fn update(&self, ours: &Ours, agent: Rc<Agent>) -> Action {
        let is_last = self.stands_last(ours);
        if let Ok(record) = &ours.record
            && !is_last
            && can_replace(ours, record, &agent)
        {
            return Action { first: replacement(self.path, ours, record, &agent), then: None, unwanted: None };
        }
        let place = match &ours.agent {
            Some(old) if old.list.field() == agent.sidecar.field() && !is_last => Place::At(old.index),
            _ => Place::Last,
        };
        Action { then: Some((agent, place)), ..self.removal(ours) }
    }

    /// True where everything of ours stands where an injection would put it.
    fn stands_last(&self, ours: &Ours) -> bool {
        let agent = ours.agent.as_ref().is_some_and(|agent| {
            let mut others = self.template.containers.iter().filter(|other| other.list == agent.list);
            others.all(|other| other.index < agent.index)
        });
        let volumes = ours.volumes.iter().all(|(_, volume)| {
            volume.as_ref().is_some_and(|volume| self.template.volumes.iter().all(|other| other.index < volume.index))
        });
        let annotations = self.template.annotations.iter().all(|annotation| annotation.offset < ours.offset);
        agent && volumes && annotations
    }
}

fn can_replace(ours: &Ours, record: &Record, agent: &Agent) -> bool {
    let complete = ours.agent.is_some() && ours.volumes.iter().all(|(_, volume)| volume.is_some());
    let status = ours.status || !record.status_is_ours;
    let same_volumes = ours.volumes.iter().map(|(volume, _)| volume).eq(agent.volumes.iter().map(|(volume, _)| volume));
    let pulled = record.pull_secrets.as_ref().map_or(&[][..], |ours| &ours.names);
    complete && status && same_volumes && record.agent == agent.sidecar && *pulled == agent.pull_secrets
}

/// True where an injection would add, to the letter, what the record says was added, and nobody put a name of theirs in
/// the place of one that we insist on.
fn is_current(ours: &Ours, agent: &Agent) -> bool {
    let Ok(record) = &ours.record else { return false };
    record.plan == agent.record().plan && (ours.status || !record.status_is_ours) && ours.names == agent.names()
}
