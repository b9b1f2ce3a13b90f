//! The pieces of a text: each is read, planned and applied. Threads share a long text in batches.

use crate::agent::Agents;
use crate::agent::existing::EarlierReadings;
use crate::inject::apply::{Applied, Applier};
use crate::inject::in_order::in_order;
use crate::inject::injection::Injection;
use crate::inject::plan::{HAS_PREFIX, Planner, Root};
use crate::inject::refusal::{GENERAL_CORRECTION, MAC, NOT_VALID_YAML, correction};
use crate::inject::severity::SeverityPolicy;
use crate::inject::template_form;
use crate::inject::unknown_kind::group;
use crate::options::{Direction, Options};
use crate::reconcile::own_annotations::RecordCache;
use config::{Config, InjectionMode};
use mackerel::annotations::Annotation;
use manifest::duplicate_keys::second_key;
use manifest::{
    Cut, Location, NamedPatch, Prefilter, RelatedKind, go_yaml, is_list, list, prefilter, resource,
};
use report::{Finding, Reason};
use serde::de::IgnoredAny;
use std::ops::Range;
use std::sync::Arc;
use yaml_json_patch::{self as yaml, Buffer, Cache, Tree, YamlError};

/// Work that the texts of a run share. Their configuration is the same.
#[derive(Default)]
pub struct SharedWork {
    agents: Agents,
    readings: EarlierReadings,
    cache: Cache,
    records: RecordCache,
    buffer: Buffer,
}

/// One text, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub text: &'a str,
    /// The entry of a kustomization that names the text as a patch.
    pub patch: Option<&'a NamedPatch>,
    /// The pieces of the list that the text is, if they are known.
    pub cut: Option<&'a Cut>,
}

/// Injects the pod templates of one text of several that belong together; `checks::check_inputs` then reads all of them.
pub fn inject_templates(
    input: Input<'_>,
    config: &Config,
    options: Options,
    shared: &mut SharedWork,
) -> Injection {
    let work = std::mem::take(shared);
    let Input { text, patch, cut } = input;
    let mut pipeline = Pipeline {
        config,
        options,
        planner: Planner::new(patch, config, options, work.agents, work.readings),
        applier: Applier {
            cache: work.cache,
            records: work.records,
            patches: options.patches,
            on_error: config.spec.on_error,
        },
        buffer: work.buffer,
    };
    let mut injection = for_bytes(text.len());
    injection.severity_policy = SeverityPolicy::of(config, options);
    match cut.and_then(|cut| pipeline.list(text, cut)) {
        Some(list) => injection.append(list),
        None => {
            let documents = yaml::documents(text).map(|document| document.span);
            let work = |pipeline: &mut Pipeline<'_>, span, part: &mut Injection| {
                pipeline.document(text, span, part);
                Some(())
            };
            pipeline.each(documents, text.len(), work, &mut injection);
        }
    }
    let Injection {
        remarks, read_keys, ..
    } = &mut injection;
    // An annotation that a pod template of the text has, too, was set by kustomize's `commonAnnotations`.
    remarks.retain(|remark| !read_keys.contains(&remark.finding.pointer));
    remarks.sort_by_key(|remark| remark.offset);
    injection.outcomes.shrink_to_fit();
    *shared = SharedWork {
        agents: pipeline.planner.agents,
        readings: pipeline.planner.readings,
        cache: pipeline.applier.cache,
        records: pipeline.applier.records,
        buffer: pipeline.buffer,
    };
    injection
}

/// The byte order mark.
const BOM: char = '\u{feff}';

/// Bytes of a batch of pieces, which one thread takes at a time.
const BATCH: usize = 1 << 16;

/// Gathers pieces into batches.
fn batches(
    mut pieces: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = Vec<Range<usize>>> {
    std::iter::from_fn(move || {
        let (mut batch, mut size) = (Vec::new(), 0);
        while size < BATCH
            && let Some(piece) = pieces.next()
        {
            size += piece.len();
            batch.push(piece);
        }
        (!batch.is_empty()).then_some(batch)
    })
}

struct Pipeline<'c> {
    config: &'c Config,
    options: Options,
    planner: Planner<'c>,
    applier: Applier,
    /// The memory of the tree of the current piece.
    buffer: Buffer,
}

/// Returns an empty result with room for more than most texts of this length have: unused room takes no memory, and growing takes
/// twice the room.
fn for_bytes(length: usize) -> Injection {
    let mut result = Injection::default();
    result.outcomes.reserve(length / 2048);
    result
}

/// Returns the documents that kubectl finds where YAML has one: JSON objects one after the other, as `jq '.items[]'` prints them, and
/// the text behind a byte order mark, where files with one were joined.
fn documents(text: &str) -> Vec<Range<usize>> {
    let before = text.split_once(BOM).map_or("", |(before, _)| before);
    let mark = if prefilter::is_empty(before) && text[before.len()..].starts_with(BOM) {
        before.len() + BOM.len_utf8()
    } else {
        0
    };
    let mut found: Vec<_> = json_objects(&text[mark..])
        .unwrap_or_default()
        .into_iter()
        .map(|object| mark + object.start..mark + object.end)
        .collect();
    // The parser takes a mark that begins the text.
    if found.is_empty() && mark > BOM.len_utf8() {
        found.push(mark..text.len());
    }
    found
}

/// Returns the JSON objects of a text, if it has several and nothing else. The text of each begins where the one before it ends.
fn json_objects(text: &str) -> Option<Vec<Range<usize>>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut objects = Vec::new();
    let mut start = 0;
    while let Some(value) = values.next() {
        value.ok()?;
        let end = values.byte_offset();
        objects.push(start..end);
        start = end;
    }
    (objects.len() > 1).then_some(objects)
}

/// Counts a resource without a pod template.
fn count(result: &mut Injection, kind: &str, api_version: Option<&str>) {
    let group = api_version.map_or("", group);
    result.kinds_without_template.add(group, kind, 1);
}

impl Pipeline<'_> {
    /// Returns a pipeline for another thread.
    fn beside(&self) -> Self {
        Self {
            config: self.config,
            options: self.options,
            planner: self.planner.clone(),
            applier: Applier {
                cache: Cache::default(),
                records: RecordCache::default(),
                ..self.applier
            },
            buffer: Buffer::default(),
        }
    }

    /// Works on each of the pieces, which have `size` bytes together. Returns none if the work on one of them does.
    fn each(
        &mut self,
        pieces: impl Iterator<Item = Range<usize>> + Send,
        size: usize,
        work: impl Fn(&mut Self, Range<usize>, &mut Injection) -> Option<()> + Sync,
        result: &mut Injection,
    ) -> Option<()> {
        let threads = self.options.further_threads.min(size / BATCH);
        let others = (0..threads).map(|_| self.beside()).collect();
        let work_on_batch = |pipeline: &mut Self, batch: Vec<Range<usize>>| {
            let mut part = Injection::default();
            for piece in batch {
                work(pipeline, piece, &mut part)?;
            }
            Some(part)
        };
        let mut is_whole = true;
        in_order(
            self,
            others,
            batches(pieces),
            work_on_batch,
            |part| match part {
                Some(part) => result.append(part),
                None => is_whole = false,
            },
        );
        is_whole.then_some(())
    }

    /// Takes one document of the source, which may be several to kubectl.
    fn document(&mut self, source: &str, span: Range<usize>, result: &mut Injection) {
        let Err(error) = self.read(source, span.clone(), result) else {
            return;
        };
        let text = &source[span.clone()];
        let documents = documents(text);
        if documents.is_empty() {
            self.not_read(&error, text, result);
        }
        for part in documents {
            let part = span.start + part.start..span.start + part.end;
            if let Err(error) = self.read(source, part.clone(), result) {
                self.not_read(&error, &source[part], result);
            }
        }
    }

    /// Reads a document and takes it.
    fn read(
        &mut self,
        source: &str,
        span: Range<usize>,
        result: &mut Injection,
    ) -> Result<(), YamlError> {
        let text = &source[span.clone()];
        let kind = match self.prefilter(text) {
            Prefilter::Skip { kind, api_version }
                if !self.planner.may_remark(kind, api_version, text) =>
            {
                count(result, kind, api_version);
                result.related.extend(
                    RelatedKind::of_kind(kind).map(|kind| Location::of_document(kind, span)),
                );
                return Ok(());
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
            return Ok(());
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
                Ok(())
            }
            Err(_) if prefilter::is_empty(text) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn prefilter<'t>(&self, text: &'t str) -> Prefilter<'t> {
        prefilter::prefilter(text, |kind, version| self.planner.knows_kind(kind, version))
    }

    /// Counts or reports a document that cannot be read.
    fn not_read(&self, error: &YamlError, text: &str, result: &mut Injection) {
        let holds = |kind: &str, version: Option<&str>| self.planner.knows_kind(kind, version);
        match prefilter::prefilter_unreadable(text, holds) {
            Prefilter::Skip { kind, api_version }
                if self.options.direction == Direction::Inject || self.wants_nothing_of(text) =>
            {
                count(result, kind, api_version);
            }
            _ => result.findings.push(self.unreadable(error, text)),
        }
    }

    /// Takes a long list item by item, so that only one of them is in memory as a tree. Returns none where the list must be
    /// read as a whole.
    fn list(&mut self, source: &str, cut: &Cut) -> Option<Injection> {
        let envelope = cut.envelope()?;
        let root = envelope.root()?;
        // A refusal of the whole list needs its envelope.
        if second_key(&envelope, root).is_some() || envelope.member_at(root, MAC).is_some() {
            return None;
        }
        let inherited = Arc::new(resource::item_types(&envelope, root)?);
        let mut result = for_bytes(cut.size());
        let work = |pipeline: &mut Self, span, part: &mut Injection| {
            let tree = yaml::read_piece(source, span, &mut pipeline.buffer).ok()?;
            let root = Root {
                node: list::item(&tree)?,
                pointer: "/0",
                inherited: Some(Arc::clone(&inherited)),
            };
            pipeline.piece(&tree, &root, part);
            tree.recycle(&mut pipeline.buffer);
            Some(())
        };
        let items = cut.items.iter().cloned();
        // A list that is most of the text occupies one thread of those that share the text.
        let is_most = cut.size() > source.len() / 2;
        let size = if is_most { cut.size() } else { 0 };
        self.each(items, size, work, &mut result)?;
        Some(result)
    }

    /// Plans and applies one document, or one item of a list.
    fn piece(&mut self, tree: &Tree<'_>, root: &Root<'_>, result: &mut Injection) {
        // Aliases multiply templates and their annotations: nothing is decided before Kubernetes' own bound on them.
        if tree.has_aliases()
            && let Some(error) = go_yaml::rejected_by_go_yaml(tree)
        {
            if template_form::may_be_in(tree.text()) {
                result.findings.push(self.unreadable(&error, tree.text()));
            }
            return;
        }
        let mut plan = self
            .planner
            .plan(tree, root, &mut result.kinds_without_template);
        let Applied { edits, fault } = self.applier.apply(tree, &mut plan);
        result.edits.extend(edits);
        result.findings.extend(fault);
        // Room that is not used would take memory until the end of the run.
        for mut outcome in plan.outcomes {
            outcome.warnings.shrink_to_fit();
            result.outcomes.push(outcome);
        }
        result.remarks.extend(plan.remarks);
        result.read_keys.extend(plan.read_keys);
        result.related.extend(plan.related);
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
        let message = format!("{NOT_VALID_YAML}: {message}");
        let finding = Finding::new(Reason::Uneditable, message, *offset, "");
        match correction(text) {
            Some(help) => finding.with_help(help),
            None => finding.with_general_help(GENERAL_CORRECTION),
        }
    }

    /// Returns true if no template of a text can be wanted: then a text that cannot be read is no error.
    fn wants_nothing_of(&self, text: &str) -> bool {
        match (self.options.direction, self.config.spec.injection) {
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
pub fn asks_for_nothing(text: &str, config: &Config) -> bool {
    let mut wait_for = config.spec.wait_for.annotations.iter();
    !has_annotations(text) && !wait_for.any(|name| text.contains(&**name))
}

fn has_annotations(text: &str) -> bool {
    HAS_PREFIX.find(text.as_bytes()).is_some()
}
