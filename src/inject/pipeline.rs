//! The pieces of a text, one after the other: read, plan, apply.

use crate::annotations;
use crate::config::{self, Config};
use crate::inject::apply::{Applied, Applier};
use crate::inject::injection::Injection;
use crate::inject::outcome::Notes;
use crate::inject::plan::{Planner, Root};
use crate::inject::refusal::{SEPARATE_THEM, correction, is_json_stream};
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
use crate::report::{Finding, Reason, SeenMessages};
use std::ops::Range;
use std::rc::Rc;
use yaml_json_patch::{self as yaml, Buffer, Tree, YamlError};

/// Injects the pod templates of one text, without permissions and without checks of other resources. `patch` is the entry of a
/// kustomization that names the text as a patch.
pub(crate) fn inject_templates(
    text: &str,
    patch: Option<&NamedPatch>,
    config: &Config,
    options: Options,
) -> Injection {
    // Room for more than most texts have: unused room takes no memory, and growing takes twice what is there.
    let outcomes = Vec::with_capacity(text.len() / 2048);
    let severity_policy = SeverityPolicy::of(config, options);
    let mut pipeline = Pipeline {
        config,
        direction: options.direction,
        planner: Planner::new(text, patch, config, options),
        applier: Applier::new(options.patches, config.spec.on_error),
        buffer: Buffer::default(),
        said: SeenMessages::new(),
        notes: Notes::new(),
        notes_of_document: Notes::new(),
        injection: Injection {
            outcomes,
            severity_policy,
            ..Injection::default()
        },
    };
    for document in yaml::documents(text) {
        pipeline.document(text, document.span);
        for note in std::mem::take(&mut pipeline.notes_of_document).into_values() {
            note.gather(&mut pipeline.notes);
        }
    }
    pipeline
        .injection
        .remarks
        .extend(pipeline.notes.into_values());
    pipeline
        .injection
        .remarks
        .sort_by_key(|remark| remark.offset);
    pipeline.injection.outcomes.shrink_to_fit();
    pipeline.injection
}

struct Pipeline<'c> {
    config: &'c Config,
    direction: Direction,
    planner: Planner<'c>,
    applier: Applier,
    /// The memory of the tree of the current piece.
    buffer: Buffer,
    said: SeenMessages,
    notes: Notes,
    /// Apart from the others until the document is done: a list may be read again.
    notes_of_document: Notes,
    injection: Injection,
}

impl Pipeline<'_> {
    /// Takes one document of the source.
    fn document(&mut self, source: &str, span: Range<usize>) {
        let text = &source[span.clone()];
        let prefiltered = prefilter::prefilter(text, |kind| self.planner.knows_kind(kind));
        let is_passed = matches!(prefiltered, Prefilter::Skip { .. });
        let count = |injection: &mut Injection| {
            if let Prefilter::Skip { kind, api_version } = prefiltered {
                injection.without_template += 1;
                injection
                    .kinds_without_template
                    .add(api_version.map_or("", group), kind, 1);
            }
        };
        let kind = match prefiltered {
            Prefilter::Skip { kind, api_version }
                if !self.planner.may_remark(kind, api_version, text) =>
            {
                count(&mut self.injection);
                let location = |kind| Location {
                    kind,
                    piece: span,
                    pointer: String::new(),
                    inherited: None,
                };
                self.injection
                    .related
                    .extend(RelatedKind::of_kind(kind).map(location));
                return;
            }
            Prefilter::Skip { kind, .. } => Some(kind),
            Prefilter::Parse { kind } => kind,
        };
        let may_be_list =
            kind.is_none_or(is_list) && memchr::memmem::find(text.as_bytes(), b"List").is_some();
        if may_be_list && list::cut(source, span.clone()).is_some_and(|cut| self.list(source, &cut))
        {
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
                    self.piece(&tree, &root);
                }
                tree.recycle(&mut self.buffer);
            }
            Err(_) if prefilter::is_empty(text) => {}
            Err(_)
                if is_passed
                    && (self.direction == Direction::Inject || self.wants_nothing_of(text)) =>
            {
                count(&mut self.injection);
            }
            Err(error) => self.unreadable(&error, text),
        }
    }

    /// Takes a long list item by item, so that only one of them is in memory as a tree. Returns false, with nothing done, where
    /// the list must be read as a whole.
    fn list(&mut self, source: &str, cut: &Cut) -> bool {
        let inherited = cut.envelope().and_then(|envelope| {
            let root = envelope
                .root()
                .filter(|root| second_key(&envelope, *root, "").is_none())?;
            item_types(&envelope, root)
        });
        let Some(inherited) = inherited.map(Rc::new) else {
            return false;
        };
        let empty = Injection {
            severity_policy: self.injection.severity_policy,
            ..Injection::default()
        };
        let before = std::mem::replace(&mut self.injection, empty);
        for range in &cut.items {
            let tree = yaml::read_piece(source, range.clone(), &mut self.buffer).ok();
            let item = tree.and_then(|tree| Some((list::item(&tree)?, tree)));
            let Some((node, tree)) = item else {
                let dropped = std::mem::replace(&mut self.injection, before);
                for finding in dropped
                    .outcomes
                    .iter()
                    .flat_map(|outcome| &outcome.warnings)
                {
                    finding.forget(&mut self.said);
                }
                self.notes_of_document.clear();
                return false;
            };
            let root = Root {
                node,
                pointer: "/0",
                inherited: Some(Rc::clone(&inherited)),
            };
            self.piece(&tree, &root);
            tree.recycle(&mut self.buffer);
        }
        let list = std::mem::replace(&mut self.injection, before);
        self.injection.append(list);
        true
    }

    /// Plans and applies one document, or one item of a list.
    fn piece(&mut self, tree: &Tree<'_>, root: &Root<'_>) {
        let mut plan = self.planner.plan(tree, root);
        let Applied { edits, fault } = self.applier.apply(tree, &mut plan);
        let injection = &mut self.injection;
        injection.edits.extend(edits);
        injection.findings.extend(fault);
        // Messages that are the same for many templates stay with the first. At the end of the run it would be too late: until
        // then they would take more memory than all the rest.
        for mut outcome in plan.outcomes {
            outcome
                .warnings
                .retain(|warning| warning.first_time(&mut self.said));
            outcome.warnings.shrink_to_fit();
            injection.outcomes.push(outcome);
        }
        for remark in plan.remarks {
            match remark.unknown {
                Some(_) => remark.gather(&mut self.notes_of_document),
                None => injection.remarks.push(remark),
            }
        }
        injection.without_template += plan.without_template;
        injection
            .kinds_without_template
            .absorb(&plan.kinds_without_template);
        injection.related.extend(plan.related);
    }

    fn unreadable(&mut self, error: &YamlError, text: &str) {
        let offset = error.offset;
        self.injection
            .findings
            .push(if self.wants_nothing_of(text) {
                let message = format!(
                    "skipped a document that is not valid YAML: {}",
                    error.message
                );
                Finding::new(Reason::UnreadableDocument, message, offset, "")
            } else {
                let (what, help) = match is_json_stream(text) {
                    true => ("several JSON documents, one after the other", SEPARATE_THEM),
                    false => (&*error.message, correction(text)),
                };
                Finding::new(
                    Reason::Uneditable,
                    format!("not valid YAML: {what}"),
                    offset,
                    "",
                )
                .with_help(help)
            });
    }

    /// True if no template of a text can be wanted: then a text that cannot be read is no error.
    fn wants_nothing_of(&self, text: &str) -> bool {
        match (self.direction, self.config.spec.injection) {
            (Direction::Inject, config::InjectionMode::Always) => false,
            (Direction::Inject, config::InjectionMode::Annotated) => {
                asks_for_nothing(text, self.config)
            }
            (Direction::Inject, config::InjectionMode::Disabled) => true,
            (Direction::Uninject, _) => {
                !(has_annotations(text) && text.contains(Annotation::Record.name()))
            }
        }
    }
}

/// Returns true if no template of a text can ask for anything by annotation.
pub(crate) fn asks_for_nothing(text: &str, config: &Config) -> bool {
    !has_annotations(text)
        && !config
            .spec
            .wait_for
            .annotations
            .iter()
            .any(|name| text.contains(&**name))
}

fn has_annotations(text: &str) -> bool {
    // JSON may write the slash behind the prefix as `\/`.
    text.contains(annotations::PREFIX.trim_end_matches('/'))
}
