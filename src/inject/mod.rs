//! The pipeline of one text: a manifest in, edits and outcomes out. [`engine::inject`](crate::engine::inject) calls it.
//!
//! The way of the data in one place: read, find, decide, patch, splice, verify. Writing is the caller's part.

mod injection;
pub(crate) mod outcome;
mod remark;
pub(crate) mod severity;
mod template_form;
mod unknown_kind;

pub use crate::agent::prerequisites::{KeyRef, Presence, Requirement};
pub use crate::manifest::identity::Identity;
pub use crate::manifest::related::Source;
pub use injection::{Injection, Refused, ReportedFinding};
pub use outcome::{Outcome, Remark, ResourceRef};

use crate::agent::Agents;
use crate::agent::components::Components;
use crate::agent::existing::ExistingInjection;
use crate::agent::kubelet_access::{RbacSubject, service_account};
use crate::annotations;
use crate::config::{self, Config, OnError};
use crate::decide::DecisionContext;
use crate::inject::severity::SeverityPolicy;
use crate::inject::unknown_kind::Search;
use crate::mackerel::annotations::Annotation;
use crate::manifest::duplicate_keys::{self, second_key};
use crate::manifest::identity::is_list;
use crate::manifest::kustomization::NamedPatch;
use crate::manifest::list::{self, Cut};
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::prefilter::{self, Glance};
use crate::manifest::related::{Location, RelatedKind};
use crate::manifest::resource::{Resource, file, item_types, with_hidden};
use crate::manifest::workloads::{Table, may_have_containers};
use crate::options::{Direction, Explanations, Options};
use crate::reconcile::apply::{ApplyError, PlannedChange, UneditableChange, apply_changes};
use crate::reconcile::patch::RecordCache;
use crate::reconcile::{Action, reconcile};
use crate::report::{Cause, Class, Finding, Reason, SeenMessages};
use json_patch::Patch;
use kube_core::TypeMeta;
use std::ops::Range;
use std::rc::Rc;
use yaml_json_patch::Cache;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{self as yaml, Buffer, ErrorKind, NodeId, Tree, YamlError};

/// Injects the pod templates of one text, without permissions and without checks of other resources. `patch` is the entry of a
/// kustomization that names the text as a patch.
#[must_use]
pub(crate) fn inject_templates(text: &str, patch: Option<&NamedPatch>, config: &Config, options: Options) -> Injection {
    let table = config.workloads();
    // Room for more than most texts have: what is not used of it takes no memory, and growing takes twice what is there.
    let outcomes = Vec::with_capacity(text.len() / 2048);
    let severity_policy = SeverityPolicy::of(config, options);
    let mut run = Run {
        config,
        patch,
        options,
        table,
        agents: Agents::default(),
        cache: Cache::default(),
        buffer: Buffer::default(),
        records: RecordCache::default(),
        said: SeenMessages::new(),
        search: (options.direction == Direction::Inject).then(|| Search::new(text)),
        injection: Injection { outcomes, severity_policy, ..Injection::default() },
    };
    for document in yaml_json_patch::documents(text) {
        run.document(&text[document.span.clone()], document.span.start);
    }
    run.injection.outcomes.shrink_to_fit();
    run.injection
}

/// What to do about a document that cannot be read, where nothing else is known of it.
pub(crate) const CORRECT_IT: &str = "correct the document";

/// What to do about a document that Kubernetes cannot read.
fn correction(text: &str) -> &'static str {
    let is_conflict = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    if text.lines().any(is_conflict) {
        "resolve the merge conflict whose markers stand in it"
    } else if text.contains("{{") {
        "is it a template, of a Helm chart for example? Render it first, and give the result"
    } else {
        CORRECT_IT
    }
}

struct Run<'c> {
    config: &'c Config,
    /// Where the text is a patch by the word of a kustomization.
    patch: Option<&'c NamedPatch>,
    options: Options,
    table: Table<'c>,
    agents: Agents,
    cache: Cache,
    /// Of the piece in hand.
    buffer: Buffer,
    records: RecordCache,
    /// For templates of unknown kinds; nobody misses an agent that is to be taken out.
    search: Option<Search>,
    said: SeenMessages,
    injection: Injection,
}

/// Where the resources of a piece of text begin.
struct Root<'p> {
    node: NodeId,
    /// JSON Pointer from the root of the piece's tree: an item that was cut out of a list is a sequence of one.
    pointer: &'p str,
    /// What a typed list says of its items.
    inherited: Option<Rc<TypeMeta>>,
}

/// How far an injection had come, to go back to.
struct Lengths {
    edits: usize,
    outcomes: usize,
    findings: usize,
    remarks: usize,
    faults: usize,
    without_template: usize,
    related: usize,
}

impl Lengths {
    fn of(injection: &Injection) -> Self {
        Self {
            edits: injection.edits.len(),
            outcomes: injection.outcomes.len(),
            findings: injection.findings.len(),
            remarks: injection.remarks.len(),
            faults: injection.faults.len(),
            without_template: injection.without_template,
            related: injection.related.len(),
        }
    }

    fn restore(&self, injection: &mut Injection) {
        injection.edits.truncate(self.edits);
        injection.outcomes.truncate(self.outcomes);
        injection.findings.truncate(self.findings);
        injection.remarks.truncate(self.remarks);
        injection.faults.truncate(self.faults);
        injection.without_template = self.without_template;
        injection.related.truncate(self.related);
    }
}

impl Run<'_> {
    fn document(&mut self, text: &str, base: usize) {
        let glance = prefilter::glance(text, |kind| self.table.knows_kind(kind));
        let is_passed = matches!(glance, Glance::Passed { .. });
        let kind = match glance {
            Glance::Passed { kind, api_version } if !self.may_be_remarked(kind, api_version, text) => {
                self.injection.without_template += 1;
                self.related(kind, base..base + text.len(), String::new(), None);
                return;
            }
            Glance::Passed { kind, .. } => Some(kind),
            Glance::MustBeRead { kind } => kind,
        };
        let may_be_list = kind.is_none_or(is_list) && memchr::memmem::find(text.as_bytes(), b"List").is_some();
        if may_be_list && list::cut(text).is_some_and(|cut| self.list(text, base, &cut)) {
            return;
        }
        match yaml::read_into(text, &mut self.buffer) {
            Ok(tree) => {
                if let Some(root) = tree.root() {
                    let root = Root { node: root, pointer: "", inherited: None };
                    self.piece(&tree, &root, base);
                }
                tree.recycle(&mut self.buffer);
            }
            Err(_) if prefilter::is_empty(text) => {}
            Err(_) if is_passed => self.injection.without_template += 1,
            Err(error) => self.unreadable(&error, text, base),
        }
    }

    /// Takes a long list item by item, so that only one of them is in memory as a tree. False, and nothing done, where the
    /// list must be read as a whole.
    fn list(&mut self, text: &str, base: usize, cut: &Cut) -> bool {
        let inherited = cut.envelope().and_then(|envelope| {
            let root = envelope.root().filter(|root| second_key(&envelope, *root, "").is_none())?;
            item_types(&envelope, root)
        });
        let Some(inherited) = inherited.map(Rc::new) else { return false };
        let before = Lengths::of(&self.injection);
        for range in &cut.items {
            let tree = yaml::read_into(&text[range.clone()], &mut self.buffer).ok();
            let item = tree.and_then(|tree| Some((list::item(&tree)?, tree)));
            let Some((node, tree)) = item else {
                before.restore(&mut self.injection);
                self.forget_what_was_said();
                return false;
            };
            let inherited = Some(Rc::clone(&inherited));
            self.piece(&tree, &Root { node, pointer: "/0", inherited }, base + range.start);
            tree.recycle(&mut self.buffer);
        }
        true
    }

    /// One document, or one item of a list.
    fn piece(&mut self, tree: &Tree<'_>, root: &Root<'_>, base: usize) {
        let before = self.injection.outcomes.len();
        self.resources(tree, root, base);
        self.say_once(before);
    }

    /// What is the same for many templates is said of the first, from the outcome `from` on. Not at the end of the run:
    /// until then the others would take more memory than all the rest.
    fn say_once(&mut self, from: usize) {
        for outcome in self.injection.outcomes.iter_mut().skip(from) {
            let said = &mut self.said;
            outcome.warnings.retain(|warning| warning.first_time(said));
            outcome.warnings.shrink_to_fit();
        }
    }

    /// What was said of the rest of the outcomes and remarks stays said.
    fn forget_what_was_said(&mut self) {
        self.said.clear();
        self.say_once(0);
        for remark in &self.injection.remarks {
            remark.finding.first_time(&mut self.said);
        }
    }

    fn resources(&mut self, tree: &Tree<'_>, root: &Root<'_>, base: usize) {
        let untyped = TypeMeta::default();
        let resources = with_hidden(tree, root.node, root.inherited.as_deref().unwrap_or(&untyped));
        let mut changes = Vec::new();
        for resource in &resources {
            let before = self.injection.outcomes.len();
            self.resource(tree, resource, root.pointer, base, &mut changes);
            if self.injection.outcomes.len() == before && !resource.is_hidden {
                let pointer = format!("{}{}", root.pointer, resource.pointer);
                let piece = base..base + tree.text().len();
                self.related(&resource.identity.kind, piece, pointer, root.inherited.as_ref());
            }
        }
        if changes.is_empty() {
            return;
        }
        let edits = match yaml::rejected_by_go_yaml(tree) {
            Some(error) => self.refuse_unreadable(tree, changes, &error, base),
            None => self.apply_changes(tree, changes, base),
        };
        self.injection.edits.extend(
            edits
                .into_iter()
                .map(|edit| Edit { range: edit.range.start + base..edit.range.end + base, text: edit.text }),
        );
    }

    /// Notes what may matter to the pods of the input.
    fn related(&mut self, name: &str, piece: Range<usize>, pointer: String, inherited: Option<&Rc<TypeMeta>>) {
        if let Some(kind) = RelatedKind::of_kind(name) {
            self.injection.related.push(Location { kind, piece, pointer, inherited: inherited.map(Rc::clone) });
        }
    }

    /// What Kubernetes cannot read has no pod template, however much it looks like one: `image: {{ .Values.image }}` is
    /// YAML, a mapping as a mapping's key.
    #[cold]
    fn refuse_unreadable(
        &mut self,
        tree: &Tree<'_>,
        changes: Vec<PlannedChange>,
        error: &YamlError,
        base: usize,
    ) -> Vec<Edit> {
        let help = correction(tree.text());
        for change in changes {
            let message = format!("unreadable: Kubernetes cannot read this document: {}", error.message);
            self.refuse(change, UneditableChange { message, help: help.to_owned(), offset: error.offset }, base);
        }
        Vec::new()
    }

    /// A change that cannot be made; `base` is where its piece begins in the text.
    #[cold]
    fn refuse(&mut self, change: PlannedChange, refusal: UneditableChange, base: usize) {
        let UneditableChange { message, help, offset } = refusal;
        let finding = Finding::new(Reason::Uneditable, message, base + offset, &change.template).with_help(help);
        if let Some(outcome) = self.injection.outcomes.get_mut(change.outcome) {
            refuse(outcome, change, finding, base, self.config.spec.on_error);
        }
    }

    #[cold]
    fn unreadable(&mut self, error: &YamlError, text: &str, base: usize) {
        let offset = base + error.offset;
        self.injection.findings.push(if self.wants_nothing_of(text) {
            let message = format!("a document that is not valid YAML was passed by: {}", error.message);
            Finding::new(Reason::UnreadableDocument, message, offset, "")
        } else {
            let message = format!("not valid YAML: {}", error.message);
            Finding::new(Reason::Uneditable, message, offset, "").with_help(correction(text))
        });
    }

    /// Decides for every template of a resource, and notes what is to change.
    fn resource(
        &mut self,
        tree: &Tree<'_>,
        resource: &Resource,
        root: &str,
        base: usize,
        changes: &mut Vec<PlannedChange>,
    ) {
        let is_of = |group: &str, kind: &str| match (resource.duplicate, &resource.gvk) {
            (None, Some(gvk)) => gvk.group == group && gvk.kind == kind,
            (None, None) => false,
            (Some(_), _) => duplicate_keys::may_be(tree, resource.node, &resource.identity, group, kind),
        };
        let found = self.table.templates(tree, resource.node, is_of);
        if found.found.is_empty() && !resource.is_hidden {
            self.injection.without_template += 1;
            self.remark(tree, resource, base);
        }
        let templates: Vec<(String, PodTemplate)> =
            found.found.into_iter().map(|(at, node)| (at, PodTemplate::view(tree, node))).collect();
        let within = || templates.iter().find_map(|(_, template)| template.second_key(tree));
        let duplicate = resource.duplicate.or(found.duplicate).or_else(within);
        let file = file(tree, resource.node);
        for (at, mut template) in templates {
            template.hides_containers = duplicate.is_some() && may_have_containers(tree, template.node);
            let (pod_spec, automount) = (template.spec, template.automount);
            let holder = format!("{root}{}", resource.pointer);
            let path = format!("{holder}{at}");
            let existing = ExistingInjection::take_from(&mut template, tree);
            let reconciled =
                reconcile(tree, resource, (&at, &path), &template, existing.as_ref(), self.context(), self.options);
            let is_done = reconciled.decision.reason.class() == Class::Done;
            let action = reconciled.action.or_else(|| (duplicate.is_some() && is_done).then(Action::default));
            let change = action.map(|action| PlannedChange {
                outcome: self.injection.outcomes.len(),
                resource: holder,
                template: at.clone(),
                view: template,
                existing,
                action,
            });
            let explains = self.options.explanations == Explanations::Keep;
            let asks_for_rbac_subjects = explains || self.config.spec.rbac.generate;
            let rbac_subject = reconciled.agent.as_ref().filter(|_| asks_for_rbac_subjects).map(|agent| RbacSubject {
                access: agent.access,
                namespace: resource.identity.namespace_or(self.config.spec.namespace.as_ref()).cloned(),
                service_account: service_account(tree, pod_spec),
            });
            let relies = reconciled.agent.as_ref().is_some_and(|agent| agent.relies_on_the_pods_token());
            let token_of = (relies && automount.is_none()).then(|| service_account(tree, pod_spec));
            let mut outcome = Outcome {
                identity: resource.identity.clone(),
                template: at,
                offset: tree.span(resource.node).start,
                file: file.clone(),
                decision: reconciled.decision,
                cause: reconciled.cause,
                about: reconciled.about,
                warnings: reconciled.warnings,
                token_of,
                rbac_subject,
                needs: reconciled.agent.as_ref().map(|agent| Rc::clone(&agent.needs)),
                agent: reconciled.agent.filter(|_| explains).map(|agent| Rc::new(agent.moved(base))),
                wait_for: reconciled.wait_for.filter(|_| explains),
                patch: Patch(Vec::new()),
            };
            shift(&mut outcome, base);
            self.injection.outcomes.push(outcome);
            match (change, duplicate) {
                // The resource as a whole is refused: the same need not be said of more of its templates.
                (Some(change), Some(key)) => {
                    self.refuse(change, duplicate_key(tree, key), base);
                    break;
                }
                (Some(change), None) => changes.push(change),
                (None, _) => {}
            }
        }
    }

    fn context(&self) -> DecisionContext<'_> {
        DecisionContext { config: self.config, agents: &self.agents, patch: self.patch }
    }

    /// True where nothing can be wanted of a text, whatever stands in it: nobody is held up because it cannot be read.
    fn wants_nothing_of(&self, text: &str) -> bool {
        // JSON may write the slash behind the prefix as `\/`.
        let has_annotations = || text.contains(annotations::PREFIX.trim_end_matches('/'));
        let asks_to_wait = || self.config.spec.wait_for.annotations.iter().any(|name| text.contains(&**name));
        match (self.options.direction, self.config.spec.injection) {
            (Direction::Inject, config::InjectionMode::Always) => false,
            (Direction::Inject, config::InjectionMode::Annotated) => !has_annotations() && !asks_to_wait(),
            (Direction::Inject, config::InjectionMode::Disabled) => true,
            (Direction::Uninject, _) => !(has_annotations() && text.contains(Annotation::Record.name())),
        }
    }

    /// Carries the changes out, and tells the outcomes their patches. A change that cannot be carried out is refused, and
    /// everything begins again without it, so that no template is left half changed.
    fn apply_changes(&mut self, tree: &Tree<'_>, mut changes: Vec<PlannedChange>, base: usize) -> Vec<Edit> {
        while !changes.is_empty() {
            match apply_changes(tree, &changes, self.options.patches, &self.cache, &self.records) {
                Ok(done) => {
                    for (change, patch) in changes.iter().zip(done.patches) {
                        if let Some(outcome) = self.injection.outcomes.get_mut(change.outcome) {
                            outcome.patch = patch;
                        }
                    }
                    return done.edits;
                }
                Err(ApplyError::Refused(refused)) => {
                    for (change, refusal) in refused.into_iter().rev() {
                        self.refuse(changes.remove(change), refusal, base);
                    }
                }
                Err(ApplyError::Fault { message }) => {
                    // What is wrong stands in a text that nobody will see: the first template shows where it came from.
                    let start = changes.first().map_or(0, |change| tree.span(change.view.node).start);
                    self.injection.faults.push(Finding::verify_failed(message, base + start));
                    break;
                }
            }
        }
        Vec::new()
    }
}

/// A change that cannot be made becomes a refusal; one that would only have taken out what nobody wants, a warning.
#[cold]
fn refuse(outcome: &mut Outcome, change: PlannedChange, refusal: Finding, base: usize, on_error: OnError) {
    let stands_there = !change.action.first.operations.is_empty();
    outcome.warnings.retain(|warning| !warning.reason.is_about_change());
    (outcome.needs, outcome.agent, outcome.wait_for) = (None, None, None);
    (outcome.token_of, outcome.rbac_subject) = (None, None);
    let components = change.existing.as_ref().map_or(Components::Agent(()), ExistingInjection::component_set);
    let still = Finding {
        reason: Reason::StillInjected,
        message: format!("{} of an earlier run stays: {}", components.subject(), refusal.message),
        ..refusal.clone()
    };
    match change.action.unwanted {
        Some(unwanted) => {
            outcome.decision = Finding { offset: unwanted.offset.map(|offset| offset + base), ..unwanted };
            outcome.warnings.push(still);
        }
        None => {
            outcome.cause = refusal.offset.map(|offset| Cause::Manifest { offset, pointer: refusal.pointer.clone() });
            outcome.decision = refusal;
            if stands_there && on_error == OnError::Skip {
                outcome.warnings.push(still);
            }
        }
    }
}

/// Offsets in the piece become offsets in the text.
fn shift(outcome: &mut Outcome, base: usize) {
    outcome.offset += base;
    for finding in std::iter::once(&mut outcome.decision).chain(&mut outcome.warnings) {
        if let Some(offset) = &mut finding.offset {
            *offset += base;
        }
    }
    let asked = outcome.wait_for.as_mut().map(|waiting| &mut waiting.asked);
    for cause in outcome.cause.as_mut().into_iter().chain(asked) {
        if let Cause::Manifest { offset, .. } = cause {
            *offset += base;
        }
    }
}

/// The refusal of a resource with a duplicate key.
#[must_use]
fn duplicate_key(tree: &Tree<'_>, key: NodeId) -> UneditableChange {
    let name = tree.scalar(key).unwrap_or_default();
    let word = ErrorKind::DuplicateKey.word();
    UneditableChange {
        message: format!("{word}: `{name}` stands here a second time, and Kubernetes reads the last one only"),
        help: "is a `---` missing? Else write the two as one".to_owned(),
        offset: tree.span(key).start,
    }
}
