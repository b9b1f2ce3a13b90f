//! The pieces of a text, one after the other: each is read, planned and applied.

use crate::agent::Agents;
use crate::annotations;
use crate::config::{Config, InjectionMode};
use crate::inject::apply::{Applied, Applier};
use crate::inject::injection::Injection;
use crate::inject::outcome::Notes;
use crate::inject::plan::{Planner, Root};
use crate::inject::refusal::{GENERAL_CORRECTION, SEPARATE_THEM, correction, is_json_stream};
use crate::inject::severity::SeverityPolicy;
use crate::inject::unknown_kind::group;
use crate::mackerel::annotations::Annotation;
use crate::manifest::duplicate_keys::second_key;
use crate::manifest::identity::is_list;
use crate::manifest::kustomization::NamedPatch;
use crate::manifest::list::{self, Cut};
use crate::manifest::prefilter::{self, Prefilter};
use crate::manifest::related::{Location, RelatedKind};
use crate::manifest::resource::item_types;
use crate::options::{Direction, Options};
use crate::reconcile::own_annotations::RecordCache;
use crate::report::{Finding, Reason, SeenMessages};
use std::ops::Range;
use std::rc::Rc;
use yaml_json_patch::{self as yaml, Buffer, Cache, Tree, YamlError};

/// Work that the texts of a run share. Their configuration is the same.
#[derive(Default)]
pub(crate) struct SharedWork {
    agents: Agents,
    cache: Cache,
    records: RecordCache,
    buffer: Buffer,
}

/// Injects the pod templates of one text, without permissions and without checks of other resources. `patch` is the entry of a
/// kustomization that names the text as a patch.
pub(crate) fn inject_templates(
    text: &str,
    patch: Option<&NamedPatch>,
    config: &Config,
    options: Options,
    shared: &mut SharedWork,
) -> Injection {
    let SharedWork {
        agents,
        cache,
        records,
        buffer,
    } = std::mem::take(shared);
    let mut pipeline = Pipeline {
        config,
        direction: options.direction,
        planner: Planner::new(text, patch, config, options, agents),
        applier: Applier {
            cache,
            records,
            patches: options.patches,
            on_error: config.spec.on_error,
        },
        buffer,
        seen: SeenMessages::new(),
    };
    let mut result = PartResult::default();
    result.injection.severity_policy = SeverityPolicy::of(config, options);
    // Room for more than most texts have: unused room takes no memory, and growing takes twice the room.
    result.injection.outcomes.reserve(text.len() / 2048);
    for document in yaml::documents(text) {
        pipeline.document(text, document.span, &mut result);
    }
    let PartResult {
        mut injection,
        notes,
    } = result;
    injection.remarks.extend(notes.into_values());
    injection.remarks.sort_by_key(|remark| remark.offset);
    injection.outcomes.shrink_to_fit();
    *shared = SharedWork {
        agents: pipeline.planner.agents,
        cache: pipeline.applier.cache,
        records: pipeline.applier.records,
        buffer: pipeline.buffer,
    };
    injection
}

struct Pipeline<'c> {
    config: &'c Config,
    direction: Direction,
    planner: Planner<'c>,
    applier: Applier,
    /// The memory of the tree of the current piece.
    buffer: Buffer,
    /// Messages of earlier pieces that are reported once.
    seen: SeenMessages,
}

/// The result for a part of the text.
#[derive(Default)]
struct PartResult {
    injection: Injection,
    /// The notes `unknown-template`, which are not yet among the remarks.
    notes: Notes,
}

impl PartResult {
    /// Adds the result for a later part.
    fn append(&mut self, later: Self) {
        self.injection.append(later.injection);
        for note in later.notes.into_values() {
            note.gather(&mut self.notes);
        }
    }

    /// Counts a resource without a pod template.
    fn count(&mut self, kind: &str, api_version: Option<&str>) {
        let group = api_version.map_or("", group);
        self.injection.kinds_without_template.add(group, kind, 1);
    }
}

impl Pipeline<'_> {
    /// Takes one document of the source.
    fn document(&mut self, source: &str, span: Range<usize>, result: &mut PartResult) {
        let text = &source[span.clone()];
        let prefiltered = prefilter::prefilter(text, |kind| self.planner.knows_kind(kind));
        let kind = match prefiltered {
            Prefilter::Skip { kind, api_version }
                if !self.planner.may_remark(kind, api_version, text) =>
            {
                result.count(kind, api_version);
                let location = |kind| Location {
                    kind,
                    piece: span,
                    pointer: String::new(),
                    inherited: None,
                };
                let related = RelatedKind::of_kind(kind).map(location);
                result.injection.related.extend(related);
                return;
            }
            Prefilter::Skip { kind, .. } => Some(kind),
            Prefilter::Parse { kind } => kind,
        };
        let may_be_list =
            kind.is_none_or(is_list) && memchr::memmem::find(text.as_bytes(), b"List").is_some();
        if may_be_list
            && let Some(cut) = list::cut(source, span.clone())
            && let Some(list) = self.list(source, &cut)
        {
            result.append(list);
            return;
        }
        match yaml::read_piece(source, span, &mut self.buffer) {
            Ok(tree) => {
                if let Some(node) = tree.root() {
                    let root = Root {
                        node,
                        pointer: "",
                        inherited: None,
                    };
                    self.piece(&tree, &root, result);
                }
                tree.recycle(&mut self.buffer);
            }
            Err(_) if prefilter::is_empty(text) => {}
            Err(error) => match prefiltered {
                Prefilter::Skip { kind, api_version }
                    if self.direction == Direction::Inject || self.wants_nothing_of(text) =>
                {
                    result.count(kind, api_version);
                }
                _ => result
                    .injection
                    .findings
                    .push(self.unreadable(&error, text)),
            },
        }
    }

    /// Takes a long list item by item, so that only one of them is in memory as a tree. Returns none where the list must be
    /// read as a whole.
    fn list(&mut self, source: &str, cut: &Cut) -> Option<PartResult> {
        let envelope = cut.envelope()?;
        let root = envelope.root()?;
        if second_key(&envelope, root, "").is_some() {
            return None;
        }
        let inherited = Rc::new(item_types(&envelope, root)?);
        let mut result = PartResult::default();
        for range in &cut.items {
            let tree = yaml::read_piece(source, range.clone(), &mut self.buffer).ok();
            let item = tree.and_then(|tree| Some((list::item(&tree)?, tree)));
            let Some((node, tree)) = item else {
                for outcome in &result.injection.outcomes {
                    for finding in &outcome.warnings {
                        finding.forget(&mut self.seen);
                    }
                }
                return None;
            };
            let root = Root {
                node,
                pointer: "/0",
                inherited: Some(Rc::clone(&inherited)),
            };
            self.piece(&tree, &root, &mut result);
            tree.recycle(&mut self.buffer);
        }
        Some(result)
    }

    /// Plans and applies one document, or one item of a list.
    fn piece(&mut self, tree: &Tree<'_>, root: &Root<'_>, result: &mut PartResult) {
        let mut plan = self.planner.plan(tree, root);
        let Applied { edits, fault } = self.applier.apply(tree, &mut plan);
        let PartResult { injection, notes } = result;
        injection.edits.extend(edits);
        injection.findings.extend(fault);
        // Messages that are the same for many templates stay with the first. Until the end of the run they would take more
        // memory than all the rest.
        for mut outcome in plan.outcomes {
            outcome
                .warnings
                .retain(|warning| warning.first_time(&mut self.seen));
            outcome.warnings.shrink_to_fit();
            injection.outcomes.push(outcome);
        }
        for remark in plan.remarks {
            match remark.unknown {
                Some(_) => remark.gather(notes),
                None => injection.remarks.push(remark),
            }
        }
        let counts = &mut injection.kinds_without_template;
        counts.absorb(&plan.kinds_without_template);
        injection.related.extend(plan.related);
    }

    /// Returns the finding about a document that cannot be read.
    fn unreadable(&self, error: &YamlError, text: &str) -> Finding {
        let YamlError {
            message, offset, ..
        } = error;
        if self.wants_nothing_of(text) {
            let message = format!("skipped a document that is not valid YAML: {message}");
            return Finding::new(Reason::UnreadableDocument, message, *offset, "");
        }
        if is_json_stream(text) {
            let message = "not valid YAML: several JSON documents, one after the other";
            return Finding::new(Reason::Uneditable, message, *offset, "").with_help(SEPARATE_THEM);
        }
        let message = format!("not valid YAML: {message}");
        let finding = Finding::new(Reason::Uneditable, message, *offset, "");
        match correction(text) {
            Some(help) => finding.with_help(help),
            None => finding.with_general_help(GENERAL_CORRECTION),
        }
    }

    /// Returns true if no template of a text can be wanted: then a text that cannot be read is no error.
    fn wants_nothing_of(&self, text: &str) -> bool {
        match (self.direction, self.config.spec.injection) {
            (Direction::Inject, InjectionMode::Always) => false,
            (Direction::Inject, InjectionMode::Annotated) => asks_for_nothing(text, self.config),
            (Direction::Inject, InjectionMode::Disabled) => true,
            (Direction::Uninject, _) => {
                !(has_annotations(text) && text.contains(Annotation::Record.name()))
            }
        }
    }
}

/// Returns true if no template of a text can ask for anything by annotation.
pub(crate) fn asks_for_nothing(text: &str, config: &Config) -> bool {
    let mut wait_for = config.spec.wait_for.annotations.iter();
    !has_annotations(text) && !wait_for.any(|name| text.contains(&**name))
}

fn has_annotations(text: &str) -> bool {
    // JSON may write the slash behind the prefix as `\/`.
    text.contains(annotations::PREFIX.trim_end_matches('/'))
}
