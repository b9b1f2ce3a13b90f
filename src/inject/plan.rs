//! The plan for one piece of text: a decision for each of its pod templates, and the changes that they take.
//!
//! Nothing is written here, so a webhook, which answers with a patch, needs no more than this.

use crate::agent::Agents;
use crate::agent::existing::ExistingInjection;
use crate::agent::kubelet_access::{PodServiceAccount, RbacSubject};
use crate::config::Config;
use crate::decide::{DecisionContext, acknowledged};
use crate::inject::earlier_run::{self, earlier_templates};
use crate::inject::kind_counts::KindCounts;
use crate::inject::on_namespace::on_namespace;
use crate::inject::outcome::{Outcome, Remark};
use crate::inject::refusal::{duplicate_key, key_named_as_written, refuse};
use crate::inject::template_form::{self, Formed, has_record};
use crate::inject::unknown_kind::{self, KeySearch, unknown_kind};
use crate::mackerel::annotations::Annotation;
use crate::manifest::duplicate_keys;
use crate::manifest::identity::{Identity, is_list};
use crate::manifest::kustomization::NamedPatch;
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::related::{Location, RelatedKind};
use crate::manifest::replicas::replicas;
use crate::manifest::resource::{Resource, file, resources};
use crate::manifest::workloads::{FoundTemplate, Table};
use crate::options::{Direction, Explanations, Options};
use crate::reconcile::apply::PlannedChange;
use crate::reconcile::{Action, reconcile};
use crate::report::{Class, Finding};
use json_patch::Patch;
use kube_core::TypeMeta;
use std::collections::HashSet;
use std::rc::Rc;
use yaml_json_patch::{NodeId, Tree};

/// The place of the resources in a piece of text.
pub(crate) struct Root<'p> {
    /// The document's root, or the item.
    pub(crate) node: NodeId,
    /// JSON Pointer from the root of the piece's tree: an item that was cut out of a list is a sequence of one.
    pub(crate) pointer: &'p str,
    /// API version and kind that a typed list gives to its items.
    pub(crate) inherited: Option<Rc<TypeMeta>>,
}

/// The plan for one piece. All offsets are bytes of the piece.
#[derive(Default)]
pub(crate) struct PiecePlan {
    /// One per pod template, in order of the text.
    pub(crate) outcomes: Vec<Outcome>,
    /// The changes that the outcomes take.
    pub(crate) changes: Vec<PlannedChange>,
    /// Findings about resources without a known pod template.
    pub(crate) remarks: Vec<Remark>,
    /// Places of resources that matter to the pods of the input.
    pub(crate) related: Vec<Location>,
    /// The number of resources without a pod template.
    pub(crate) without_template: usize,
    /// The same by kind.
    pub(crate) kinds_without_template: KindCounts,
}

/// Makes plans under one configuration.
pub(crate) struct Planner<'c> {
    config: &'c Config,
    options: Options,
    /// The entry of a kustomization that names the text as a patch.
    patch: Option<&'c NamedPatch>,
    table: Table<'c>,
    agents: Agents,
    /// Finds requests in templates of unknown kinds; absent where agents are removed.
    requests: Option<KeySearch>,
    /// Finds agents of earlier runs in templates that are not known.
    records: KeySearch,
}

impl<'c> Planner<'c> {
    /// Plans for the pieces of `text`.
    pub(crate) fn new(
        text: &str,
        patch: Option<&'c NamedPatch>,
        config: &'c Config,
        options: Options,
    ) -> Self {
        let requests = || KeySearch::new(text, &[Annotation::Inject, Annotation::WaitFor]);
        let requests = (options.direction == Direction::Inject).then(requests);
        let records = KeySearch::new(text, &[Annotation::Record]);
        Self {
            config,
            options,
            patch,
            table: config.workloads(),
            agents: Agents::default(),
            requests,
            records,
        }
    }

    /// True for a kind that holds a pod template in some group.
    pub(crate) fn knows_kind(&self, kind: &str) -> bool {
        self.table.knows_kind(kind)
    }

    /// Decides about every pod template of a piece.
    pub(crate) fn plan(&self, tree: &Tree<'_>, root: &Root<'_>) -> PiecePlan {
        let mut plan = PiecePlan::default();
        let untyped = TypeMeta::default();
        for resource in &resources(
            tree,
            root.node,
            root.inherited.as_deref().unwrap_or(&untyped),
        ) {
            let before = plan.outcomes.len();
            self.resource(tree, resource, root.pointer, &mut plan);
            if plan.outcomes.len() == before && resource.duplicate.is_none() {
                let kind = RelatedKind::of_kind(&resource.identity.kind);
                plan.related.extend(kind.map(|kind| Location {
                    kind,
                    piece: tree.start()..tree.start() + tree.text().len(),
                    pointer: format!("{}{}", root.pointer, resource.pointer),
                    inherited: root.inherited.clone(),
                }));
            }
        }
        plan
    }

    fn resource(&self, tree: &Tree<'_>, resource: &Resource, root: &str, plan: &mut PiecePlan) {
        let is_of = |group: &str, kind: &str| match (resource.duplicate, &resource.gvk) {
            (None, Some(gvk)) => gvk.group == group && gvk.kind == kind,
            (None, None) => false,
            (Some(_), _) => {
                duplicate_keys::may_be(tree, resource.node, &resource.identity, group, kind)
            }
        };
        let mut found = self.table.templates(tree, resource.node, is_of);
        let earlier = self.earlier_templates(tree, resource, &found.found);
        if self.options.direction == Direction::Uninject {
            found.duplicate = found.duplicate.or_else(|| {
                earlier
                    .iter()
                    .find_map(|one| earlier_run::duplicate(tree, one))
            });
            found.found.extend(earlier.into_iter().map(
                |Formed {
                     pointer,
                     node,
                     ancestors,
                     ..
                 }| FoundTemplate {
                    pointer,
                    node,
                    ancestors,
                    completes: false,
                },
            ));
        } else {
            plan.remarks.extend(
                earlier_run::warning(tree, resource, &earlier)
                    .map(|finding| remark(tree, resource, finding)),
            );
        }
        // What a duplicate key hides is no template of another place.
        let may_have_more = resource.duplicate.is_none() && found.duplicate.is_none();
        if found.found.is_empty() || may_have_more {
            if found.found.is_empty() {
                let Identity {
                    api_version, kind, ..
                } = &resource.identity;
                plan.without_template += 1;
                plan.kinds_without_template
                    .add(unknown_kind::group(api_version), kind, 1);
            }
            plan.remarks
                .extend(self.remark(tree, resource, &found.found));
        }
        let with_pointer =
            |found: FoundTemplate| (found.pointer.clone(), PodTemplate::of_found(tree, found));
        let templates: Vec<(String, PodTemplate)> =
            found.found.into_iter().map(with_pointer).collect();
        let within = || {
            templates
                .iter()
                .find_map(|(_, template)| template.second_key(tree))
        };
        let duplicate = resource.duplicate.or(found.duplicate).or_else(within);
        let file = file(tree, resource.node);
        for (at, mut template) in templates {
            let (pod_spec, automount) = (template.spec, template.automount);
            let holder = format!("{root}{}", resource.pointer);
            let path = format!("{holder}{at}");
            let existing = ExistingInjection::take_from(&mut template, tree);
            let has_agent = existing
                .as_ref()
                .is_some_and(|existing| existing.agent.is_some());
            let reconciled = reconcile(
                tree,
                resource,
                (&at, &path),
                &template,
                existing.as_ref(),
                self.context(),
                self.options,
            );
            let acknowledged = acknowledged(&template);
            let is_done = reconciled.decision.reason.class() == Class::Done;
            let action = reconciled
                .action
                .or_else(|| (duplicate.is_some() && is_done).then(Action::default));
            let change = action.map(|action| PlannedChange {
                outcome: plan.outcomes.len(),
                resource: holder,
                template: at.clone(),
                view: template,
                existing,
                action,
            });
            let explains = self.options.explanations == Explanations::Keep;
            let rbac_subject = reconciled.agent.as_ref().map(|agent| RbacSubject {
                access: agent.access,
                namespace: resource
                    .identity
                    .namespace_or(self.config.spec.namespace.as_ref())
                    .cloned(),
                service_account: PodServiceAccount::of(tree, pod_spec).name,
            });
            let relies = reconciled
                .agent
                .as_ref()
                .is_some_and(|agent| agent.relies_on_the_pods_token());
            let token_of =
                (relies && automount.is_none()).then(|| PodServiceAccount::of(tree, pod_spec));
            plan.outcomes.push(Outcome {
                identity: resource.identity.clone(),
                template: at,
                offset: tree.place(resource.node).start,
                file: file.clone(),
                decision: reconciled.decision,
                cause: reconciled.cause,
                about: reconciled.about,
                warnings: reconciled.warnings,
                acknowledged,
                has_wanted_agent: has_agent && self.options.direction == Direction::Inject,
                token_of,
                replicas: explains.then(|| replicas(tree, resource)).flatten(),
                rbac_subject,
                needs: reconciled
                    .agent
                    .as_ref()
                    .map(|agent| Rc::clone(&agent.needs)),
                agent_list: reconciled.agent.as_ref().map(|agent| agent.sidecar.field()),
                agent: reconciled.agent.filter(|_| explains),
                wait_for: reconciled.wait_for.filter(|_| explains),
                patch: Patch(Vec::new()),
            });
            let Some(change) = change else { continue };
            let on_error = self.config.spec.on_error;
            if let Some(key) = duplicate {
                refuse(
                    &mut plan.outcomes,
                    change,
                    duplicate_key(tree, key),
                    on_error,
                );
                // The resource as a whole is refused: the same need not be said of more of its templates.
                break;
            }
            match tree.key_named_as_written(resource.node, &change.template) {
                Some(key) => {
                    let refusal = key_named_as_written(tree, key);
                    refuse(&mut plan.outcomes, change, refusal, on_error);
                }
                None => plan.changes.push(change),
            }
        }
    }

    fn context(&self) -> DecisionContext<'_> {
        DecisionContext {
            config: self.config,
            agents: &self.agents,
            patch: self.patch,
        }
    }

    /// False where the text of a resource shows that there is nothing to say about templates of an unknown kind.
    pub(crate) fn may_remark(&self, kind: &str, api_version: Option<&str>, text: &str) -> bool {
        let may_ask = |requests: &KeySearch| {
            let may_be_template = (requests.may_find(text)
                || unknown_kind::may_be(kind, api_version, self.config))
                && template_form::may_be_in(text);
            may_be_template || (kind == "Namespace" && requests.may_find(text))
        };
        self.records.may_find(text) || self.requests.as_ref().is_some_and(may_ask)
    }

    /// Returns the templates of an earlier run that are none of the `known` ones.
    fn earlier_templates(
        &self,
        tree: &Tree<'_>,
        resource: &Resource,
        known: &[FoundTemplate],
    ) -> Vec<Formed> {
        // The items of a list are resources of their own.
        let is_envelope = resource.duplicate.is_some() && is_list(&resource.identity.kind);
        // An alias has been looked at where its anchor stands.
        let records = if is_envelope {
            0
        } else {
            self.records.count(tree.raw(resource.node))
        };
        // The record of a ClusterRole is about permissions.
        if records == 0
            || resource
                .identity
                .api_version
                .starts_with("rbac.authorization.k8s.io/")
        {
            return Vec::new();
        }
        let known: HashSet<NodeId> = known
            .iter()
            .map(|found| tree.alias_target(found.node))
            .collect();
        let of_known = known
            .iter()
            .filter(|template| has_record(tree, **template))
            .count();
        if records > of_known {
            earlier_templates(tree, resource, &known)
        } else {
            Vec::new()
        }
    }

    /// A finding about pod templates of a resource that are not `known`.
    fn remark(
        &self,
        tree: &Tree<'_>,
        resource: &Resource,
        known: &[FoundTemplate],
    ) -> Option<Remark> {
        // The resource of an alias has been looked at in the place of its anchor.
        let text = tree.raw(resource.node);
        let Identity {
            api_version, kind, ..
        } = &resource.identity;
        let may_be_more = known.is_empty() || unknown_kind::is_custom(resource);
        if self.requests.is_none()
            || !may_be_more
            || !self.may_remark(kind, Some(api_version), text)
        {
            return None;
        }
        if let Some(finding) = on_namespace(tree, resource) {
            return Some(remark(tree, resource, finding));
        }
        let (finding, unknown) = unknown_kind(tree, resource, known, self.context())?;
        Some(Remark {
            unknown,
            ..remark(tree, resource, finding)
        })
    }
}

fn remark(tree: &Tree<'_>, resource: &Resource, finding: Finding) -> Remark {
    Remark {
        identity: resource.identity.clone(),
        offset: tree.place(resource.node).start,
        file: file(tree, resource.node),
        finding,
        unknown: None,
    }
}
