//! The plan for one piece of text: a decision for each of its pod templates, and the changes that they take.
//!
//! It writes nothing.

use crate::agent::existing::{EarlierReadings, ExistingInjection};
use crate::agent::kubelet_access::{PodServiceAccount, RbacSubject};
use crate::agent::{Agents, Component, ComponentKind};
use crate::decide::misplaced_annotation::on_object;
use crate::decide::{DecisionContext, acknowledged};
use crate::inject::kind_counts::KindCounts;
use crate::inject::outcome::{InjectedAgent, InjectedComponents, Outcome, Remark};
use crate::inject::refusal::{MAC, duplicate_key, key_named_as_written, refuse, sealed};
use crate::inject::template_form::{self, has_record, with_record};
use crate::inject::unknown_kind::{self, unknown_kind};
use crate::options::{Direction, Explanations, Options};
use crate::reconcile::apply::PlannedChange;
use crate::reconcile::{Action, Reconciler};
use config::Config;
use json_patch::Patch;
use kube_core::TypeMeta;
use mackerel::annotations::{Annotation, PREFIX};
use manifest::duplicate_keys::{self, second_key, second_of};
use manifest::{
    FoundTemplate, Identity, Location, NamedPatch, PodTemplate, RelatedKind, Resource, Table,
    Templates, WorkloadKind, is_list, resource, resources,
};
use memchr::memmem::{self, Finder};
use report::Class;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use yaml_json_patch::pointer::{escape, unescape};
use yaml_json_patch::{Kind, NodeId, Tree};

/// Finds the prefix that all annotations have. JSON may write its slash as `\/`.
pub static HAS_PREFIX: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(PREFIX.trim_end_matches('/')));

/// The place of the resources in a piece of text.
pub struct Root<'p> {
    /// The document's root, or the item.
    pub node: NodeId,
    /// JSON Pointer from the root of the piece's tree: an item that was cut out of a list is a sequence of one.
    pub pointer: &'p str,
    /// API version and kind that a typed list gives to its items.
    pub inherited: Option<Arc<TypeMeta>>,
}

/// The plan for one piece. All offsets are bytes of the piece.
#[derive(Default)]
pub struct PiecePlan {
    /// One per pod template, in order of the text.
    pub outcomes: Vec<Outcome>,
    /// The changes that the outcomes take.
    pub changes: Vec<PlannedChange>,
    /// Findings about resources without a known pod template.
    pub remarks: Vec<Remark>,
    /// JSON Pointers from its pod templates to our annotations.
    pub read_keys: HashSet<String>,
    /// Places of resources that matter to the pods of the input.
    pub related: Vec<Location>,
}

impl PiecePlan {
    /// Adds the place of a resource if its kind matters to pods.
    fn relate(&mut self, tree: &Tree<'_>, root: &Root<'_>, kind: &str, pointer: String) {
        if let Some(kind) = RelatedKind::of_kind(kind) {
            self.related.push(Location {
                kind,
                piece: tree.start()..tree.start() + tree.text().len(),
                pointer,
                inherited: root.inherited.clone(),
            });
        }
    }
}

/// Makes plans under one configuration.
#[derive(Clone)]
pub struct Planner<'c> {
    config: &'c Config,
    options: Options,
    /// The entry of a kustomization that names the text as a patch.
    patch: Option<&'c NamedPatch>,
    table: Table<'c>,
    pub agents: Agents,
    pub readings: EarlierReadings,
}

impl<'c> Planner<'c> {
    pub fn new(
        patch: Option<&'c NamedPatch>,
        config: &'c Config,
        options: Options,
        agents: Agents,
        readings: EarlierReadings,
    ) -> Self {
        Self {
            config,
            options,
            patch,
            table: config.workloads(),
            agents,
            readings,
        }
    }

    /// Returns true for a kind that holds a pod template, in any group if the version is not known.
    pub fn knows_kind(&self, kind: &str, api_version: Option<&str>) -> bool {
        self.table.knows(api_version.map(unknown_kind::group), kind)
    }

    /// Decides about every pod template of a piece, and counts its resources without one.
    pub fn plan(
        &self,
        tree: &Tree<'_>,
        root: &Root<'_>,
        without_template: &mut KindCounts,
    ) -> PiecePlan {
        let mut plan = PiecePlan::default();
        let untyped = TypeMeta::default();
        let types = root.inherited.as_deref().unwrap_or(&untyped);
        if let Some(types) = self.type_without_template(tree, root.node, types) {
            without_template.add(unknown_kind::group(&types.api_version), &types.kind, 1);
            plan.relate(tree, root, &types.kind, root.pointer.to_owned());
            return plan;
        }
        for resource in &resources(tree, root.node, types) {
            let mut planner = ResourcePlanner {
                planner: self,
                tree,
                resource,
                path: [root.pointer, &resource.pointer].concat(),
                file: resource::file(tree, resource.node),
                duplicate: resource.duplicate,
                mac: tree
                    .member_at(root.node, MAC)
                    .or_else(|| tree.member_at(resource.node, MAC)),
            };
            let templates = planner.find(&mut plan.remarks);
            let Identity {
                api_version, kind, ..
            } = &resource.identity;
            // What duplicate keys hide of a workload or a Secret is not looked for.
            if templates.is_empty() && resource.duplicate.is_none() {
                plan.relate(tree, root, kind, planner.path.clone());
            }
            if templates.is_empty() {
                without_template.add(unknown_kind::group(api_version), kind, 1);
            } else {
                planner.plan(templates, &mut plan);
            }
        }
        plan
    }

    /// Returns the type of a resource that is no list and has no pod template, and about which there is no finding; most of
    /// those in a list.
    fn type_without_template(
        &self,
        tree: &Tree<'_>,
        node: NodeId,
        inherited: &TypeMeta,
    ) -> Option<TypeMeta> {
        let mapping = tree.alias_target(node);
        if tree.kind(mapping) != Kind::Mapping || second_key(tree, mapping).is_some() {
            return None;
        }
        let types = resource::types(tree, mapping, inherited);
        let TypeMeta { api_version, kind } = &types;
        let may_matter = is_list(kind)
            || self.knows_kind(kind, Some(api_version))
            || self.may_remark(kind, Some(api_version), tree.raw(node));
        (!may_matter).then_some(types)
    }

    fn context(&self) -> DecisionContext<'_> {
        DecisionContext {
            config: self.config,
            agents: &self.agents,
            patch: self.patch,
        }
    }

    /// Returns false if the text of a resource shows that it has no template of an unknown kind and no key in our name.
    pub fn may_remark(&self, kind: &str, api_version: Option<&str>, text: &str) -> bool {
        HAS_PREFIX.find(text.as_bytes()).is_some()
            || self.options.direction == Direction::Inject
                && unknown_kind::may_be(kind, api_version, self.config)
                && template_form::may_be_in(text)
    }
}

/// Makes the plan for the templates of one resource.
struct ResourcePlanner<'a, 't> {
    planner: &'a Planner<'a>,
    tree: &'a Tree<'t>,
    resource: &'a Resource,
    /// JSON Pointer from the tree's root to the resource.
    path: String,
    file: Option<(String, Option<i64>)>,
    /// The first duplicate key for which the resource is refused.
    duplicate: Option<NodeId>,
    /// The checksum of SOPS in the document or the resource.
    mac: Option<NodeId>,
}

impl ResourcePlanner<'_, '_> {
    /// Finds the pod templates: by the resource's kind, and those to uninject also by the record of an earlier run.
    fn find(&mut self, remarks: &mut Vec<Remark>) -> Vec<FoundTemplate> {
        let Self { tree, resource, .. } = *self;
        let may_be = |kind: &WorkloadKind<'_>| match (resource.duplicate, &resource.gvk) {
            (None, Some(gvk)) => kind.matches(gvk),
            (None, None) => false,
            (Some(_), _) => duplicate_keys::may_be(tree, resource.node, &resource.identity, kind),
        };
        let Templates {
            found: mut templates,
            duplicate,
        } = self.planner.table.templates(tree, resource.node, may_be);
        self.duplicate = self.duplicate.or(duplicate);
        match self.planner.options.direction {
            Direction::Inject if templates.is_empty() => {
                self.remark(remarks);
            }
            Direction::Inject => {}
            Direction::Uninject => {
                for template in self.earlier_templates(&templates) {
                    let duplicate = template
                        .pointer
                        .split('/')
                        .skip(1)
                        .zip(&template.ancestors)
                        .find_map(|(token, holder)| second_of(tree, *holder, &unescape(token)));
                    self.duplicate = self.duplicate.or(duplicate);
                    templates.push(template);
                }
            }
        }
        templates
    }

    /// Returns the templates with the record of an earlier run that are none of the `known` ones.
    fn earlier_templates(&self, known: &[FoundTemplate]) -> Vec<FoundTemplate> {
        let Self { tree, resource, .. } = *self;
        // The items of a list are resources of their own.
        if resource.duplicate.is_some() && is_list(&resource.identity.kind) {
            return Vec::new();
        }
        let known: HashSet<NodeId> = known
            .iter()
            .map(|found| tree.alias_target(found.node))
            .collect();
        let recorded = known.iter().filter(|node| has_record(tree, **node));
        // The text of an alias has no record: its anchor has been looked at.
        let text = tree.raw(resource.node).as_bytes();
        if memmem::find_iter(text, Annotation::Record.key()).count() == recorded.count() {
            return Vec::new();
        }
        let mut earlier = with_record(tree, resource.node);
        earlier.retain(|template| !known.contains(&template.node));
        earlier
    }

    /// Adds the findings about a resource without a known pod template.
    fn remark(&self, remarks: &mut Vec<Remark>) {
        let Self {
            planner,
            tree,
            resource,
            ..
        } = *self;
        let Identity {
            api_version, kind, ..
        } = &resource.identity;
        // The resource of an alias has been looked at in the place of its anchor.
        let text = tree.raw(resource.node);
        if !planner.may_remark(kind, Some(api_version), text) {
            return;
        }
        let findings = on_object(tree, resource, planner.config)
            .into_iter()
            .chain(unknown_kind(tree, resource, planner.context()));
        remarks.extend(findings.map(|finding| Remark {
            identity: resource.identity.clone(),
            offset: tree.place(resource.node).start,
            file: self.file.clone(),
            finding,
            workloads: Vec::new(),
        }));
    }

    /// Adds the outcome and the change of each template.
    fn plan(mut self, templates: Vec<FoundTemplate>, plan: &mut PiecePlan) {
        // Most pieces have one template; without this, the lists take room for four, which is kilobytes.
        if plan.outcomes.is_empty() {
            plan.outcomes.reserve_exact(templates.len());
            plan.changes.reserve_exact(templates.len());
        }
        let mut views = Vec::with_capacity(templates.len());
        for found in templates {
            let pointer = found.pointer.clone();
            let view = PodTemplate::of_found(self.tree, found);
            let ours = view
                .annotations
                .iter()
                .filter(|one| one.key.starts_with(PREFIX));
            plan.read_keys
                .extend(ours.map(|one| format!("/metadata/annotations/{}", escape(&one.key))));
            self.duplicate = self.duplicate.or_else(|| view.second_key(self.tree));
            views.push((pointer, view));
        }
        for (pointer, view) in views {
            let Some(change) = self.change(pointer, view, &mut plan.outcomes) else {
                continue;
            };
            let on_error = self.planner.config.spec.on_error;
            if let Some(key) = self.duplicate {
                // The resource as a whole is refused, with one finding.
                let refusal = duplicate_key(self.tree, key);
                refuse(&mut plan.outcomes, change, refusal, on_error);
                return;
            }
            if let Some(mac) = self.mac {
                refuse(&mut plan.outcomes, change, sealed(self.tree, mac), on_error);
                continue;
            }
            let resource = self.resource.node;
            match self.tree.key_named_as_written(resource, &change.template) {
                Some(key) => {
                    let refusal = key_named_as_written(self.tree, key);
                    refuse(&mut plan.outcomes, change, refusal, on_error);
                }
                None => plan.changes.push(change),
            }
        }
    }

    /// Adds the outcome of one template, and returns its change.
    fn change(
        &self,
        pointer: String,
        mut view: PodTemplate,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<PlannedChange> {
        let Planner { options, .. } = *self.planner;
        let existing = ExistingInjection::take_from(&mut view, self.tree, &self.planner.readings);
        let reconciled = Reconciler {
            tree: self.tree,
            resource: self.resource,
            at: &pointer,
            path: &[&*self.path, &pointer].concat(),
            template: &view,
            existing: existing.as_ref(),
            context: self.planner.context(),
            options,
        }
        .reconcile();
        let has_agent = existing
            .as_ref()
            .is_some_and(|existing| existing.container(ComponentKind::Agent).is_some());
        let is_explained = options.explanations == Explanations::Keep;
        let class = reconciled.decision.reason.class();
        let outcome = outcomes.len();
        outcomes.push(Outcome {
            identity: self.resource.identity.clone(),
            template: pointer.clone(),
            offset: self.tree.place(self.resource.node).start,
            file: self.file.clone(),
            decision: reconciled.decision,
            cause: reconciled.cause,
            warnings: reconciled.warnings,
            acknowledged: acknowledged(&view),
            has_wanted_agent: has_agent && options.direction == Direction::Inject,
            components: InjectedComponents {
                agent: reconciled
                    .agent
                    .and_then(|agent| self.injected(agent, &view)),
                wait_for: reconciled.wait_for.filter(|_| is_explained),
            },
            patch: Patch(Vec::new()),
        });
        let action = match reconciled.action {
            // A template that is up to date is refused with the others of its resource.
            None if self.duplicate.is_some() && class == Class::Done => Some(Action::default()),
            // The refused value may be an encrypted one.
            None if self.mac.is_some() && class == Class::Refused => Some(Action::default()),
            action => action,
        };
        Some(PlannedChange {
            outcome,
            resource: self.path.clone(),
            template: pointer,
            view,
            existing,
            action: action?,
        })
    }

    fn injected(&self, agent: Arc<Component>, view: &PodTemplate) -> Option<InjectedAgent> {
        let named = self
            .tree
            .member_at(self.resource.node, ["metadata", "namespace"])
            .unwrap_or(self.resource.node);
        let default_namespace = self.planner.config.spec.namespace.as_deref();
        let namespace = self.resource.identity.namespace_or(default_namespace);
        Some(InjectedAgent {
            needs: Arc::clone(&agent.needs),
            rbac_subject: RbacSubject {
                access: agent.access?,
                namespace: namespace.cloned(),
                namespace_offset: self.tree.place(named).start,
                account: PodServiceAccount::of(self.tree, view.spec),
            },
            is_account_asked: agent.relies_on_the_pods_token() && view.automount.is_none(),
            component: match self.planner.options.explanations {
                Explanations::Keep => Some(agent),
                Explanations::Drop => None,
            },
        })
    }
}
