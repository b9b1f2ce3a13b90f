//! The KRM function of kustomize and kpt. Its input and output is a ResourceList; the output has the edits and `results`.

mod function_config;
mod kpt;
mod results;

pub(crate) use function_config::FunctionConfig;

use config::{Config, KIND};
use injector::{Direction, Injection, Options, Row, STDIN, Tense, errors_first, inject_list};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use manifest::prefilter::is_empty;
use manifest::{Cut, list};
use report::{Finding, Reason, Severity};
use results::{becomes_result, lines, value};
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{
    self as yaml, Buffer, Cache, Kind, NodeId, Tree, YamlError, place_of_new_member, splice,
    to_json,
};

/// A ResourceList. The items of a long one are read one by one, so that it is never in memory as one tree.
#[derive(Debug)]
pub(crate) struct Call<'t> {
    text: &'t str,
    /// The document, without empty ones before and after it.
    document: Range<usize>,
    /// The items, if they can be separated without reading them.
    cut: Option<Cut>,
}

/// The ResourceList without its items, or with them if they cannot be separated.
#[derive(Debug)]
pub(crate) struct Envelope<'c> {
    call: &'c Call<'c>,
    tree: Tree<'c>,
    root: NodeId,
}

/// The answer to the orchestrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionAnswer {
    /// Edits of the text, sorted, without overlap: those of the items unless a template was refused, and that of `results`.
    pub(crate) edits: Vec<Edit>,
    /// Success or failure.
    pub(crate) status: CallStatus,
}

/// Success or failure of a call, which the orchestrator learns from the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStatus {
    /// Success.
    Done,
    /// A failed check; the items are unchanged.
    Found,
    /// Warnings with `--strict`; the items are unchanged.
    HeldBack,
    /// Failure; the items are unchanged.
    Refused,
}

/// Returns true for a function call: a text whose first document is a ResourceList.
#[must_use]
pub fn is_call(text: &str) -> bool {
    document_of_call(text).is_some()
}

/// Returns the ResourceList of a function call; none for another text.
///
/// # Errors
/// When another document follows.
pub(crate) fn document_of_call(text: &str) -> Option<Result<Range<usize>, YamlError>> {
    let mut documents = yaml::documents(text)
        .map(|document| document.span)
        .filter(|span| !is_empty(&text[span.clone()]));
    let first = documents.next()?;
    if !is_list_of_resources(&text[first.clone()]) {
        return None;
    }
    Some(match documents.next() {
        Some(next) => {
            let message = "another document follows; a function call must be a single document";
            Err(YamlError::new(next.start, message.to_owned()))
        }
        None => Ok(first),
    })
}

fn is_list_of_resources(document: &str) -> bool {
    if memchr::memmem::find(document.as_bytes(), b"ResourceList").is_none() {
        return false;
    }
    let document = document.trim_start_matches('\u{feff}');
    if !document.trim_start().starts_with('{') {
        let mut kinds = document.lines().filter_map(kind_of_line).peekable();
        if kinds.peek().is_some() {
            return kinds.any(is_quoted_or_plain_list);
        }
    }
    // The root is in braces, indented or otherwise unusual.
    yaml::read(document).is_ok_and(|tree| is_resource_list(&tree))
}

/// Returns true for the name with or without quotes.
fn is_quoted_or_plain_list(kind: &str) -> bool {
    matches!(kind, "ResourceList" | "\"ResourceList\"" | "'ResourceList'")
}

/// `kind: ResourceList # a call` -> `ResourceList`
fn kind_of_line(line: &str) -> Option<&str> {
    let value = ["kind:", "\"kind\":", "'kind':"]
        .iter()
        .find_map(|key| line.strip_prefix(key))?;
    let (kind, _comment) = value.split_once(" #").unwrap_or((value, ""));
    Some(kind.trim())
}

impl<'t> Call<'t> {
    /// Cuts the ResourceList, a [document](document_of_call) of the text.
    pub(crate) fn new(text: &'t str, document: Range<usize>) -> Self {
        Self {
            text,
            cut: list::cut(text, document.clone()),
            document,
        }
    }

    /// Reads the envelope.
    ///
    /// # Errors
    /// - the list is not valid YAML; only the envelope where the items can be separated without reading them
    /// - its root is no mapping, or its `apiVersion` is neither `config.kubernetes.io/v1` nor `v1beta1`
    pub(crate) fn envelope(&self) -> Result<Envelope<'_>, YamlError> {
        let tree = match self.cut.as_ref().and_then(Cut::envelope) {
            Some(tree) => tree,
            None => yaml::read_piece(self.text, self.document.clone(), &mut Buffer::default())?,
        };
        let Some(root) = tree.root() else {
            let message = "the document is empty".to_owned();
            return Err(YamlError::new(self.document.start, message));
        };
        let envelope = Envelope {
            call: self,
            tree,
            root,
        };
        let tree = &envelope.tree;
        if tree.kind(root) != Kind::Mapping {
            let offset = envelope.place(tree.place(root).start);
            return Err(YamlError::new(offset, "expected a mapping".to_owned()));
        }
        if let Some(version) = tree.get(root, "apiVersion") {
            let name = tree.scalar(version).unwrap_or_default();
            if !matches!(
                &*name,
                "config.kubernetes.io/v1" | "config.kubernetes.io/v1beta1"
            ) {
                let message = format!(
                    "unknown apiVersion `{name}`; expected `config.kubernetes.io/v1` or `v1beta1`"
                );
                let offset = envelope.place(tree.place(version).start);
                return Err(YamlError::new(offset, message));
            }
        }
        Ok(envelope)
    }
}

impl<'c> Envelope<'c> {
    /// Converts an offset in the source of the tree to one in the text of the call.
    fn place(&self, offset: usize) -> usize {
        match self.cut() {
            Some(cut) => cut.place(offset),
            None => offset,
        }
    }

    /// Returns the functionConfig, unless it is empty. kpt sends a ConfigMap without data if the user gave none.
    pub(crate) fn function_config(&'c self) -> Option<FunctionConfig<'c>> {
        let tree = &self.tree;
        let node = tree.alias_target(tree.get(self.root, "functionConfig")?);
        let has_settings = match tree.kind(node) {
            Kind::Mapping => self.has_settings(node),
            Kind::Scalar => !matches!(tree.raw(node), "" | "null" | "~"),
            Kind::Sequence | Kind::Alias => true,
        };
        let offset = tree.place(node).start;
        has_settings.then(|| FunctionConfig {
            tree,
            node,
            start: self.place(offset) - offset,
        })
    }

    /// Returns true unless the mapping is empty, or a ConfigMap without data. The reader of the configuration reports settings
    /// that are beside `data` by mistake.
    fn has_settings(&self, function_config: NodeId) -> bool {
        let tree = &self.tree;
        let is_config_map = tree
            .get(function_config, "kind")
            .and_then(|kind| tree.scalar(kind))
            .is_some_and(|kind| kind == "ConfigMap");
        tree.entries(function_config)
            .any(|(key, value)| match tree.scalar(key).as_deref() {
                _ if !is_config_map => true,
                Some("apiVersion" | "kind" | "metadata" | "immutable") => false,
                Some("data") => {
                    tree.kind(value) != Kind::Mapping || tree.entries(value).next().is_some()
                }
                _ => true,
            })
    }

    /// Injects the items.
    pub(crate) fn inject(&self, config: &Config, options: Options) -> Injection {
        let mut injection = inject_list(self.call.text, self.cut(), config, options);
        let others = &injection.kinds_without_template;
        if injection.outcomes.is_empty() && others.total() == 1 && others.has(KIND) {
            let message = "the only resource is a configuration, which is not used";
            let finding = Finding::about_input(Reason::ConfigurationUnused, message)
                .with_help("in a kustomization, name it under `transformers`, not `generators`");
            injection.findings.push(finding);
        }
        if options.direction == Direction::Inject {
            injection
                .findings
                .extend(kpt::configured_subpackages(self.items()));
        }
        injection
    }

    /// Returns true for a function that kpt runs, which shows the results beside stderr.
    pub(crate) fn is_run_by_kpt(&self) -> bool {
        self.items().next().is_some_and(kpt::is_run_by_kpt)
    }

    /// Returns the texts of the items, if they can be separated.
    fn items(&self) -> impl Iterator<Item = &'c str> {
        self.call
            .cut
            .iter()
            .flat_map(|cut| &*cut.items)
            .map(|item| &self.call.text[item.clone()])
    }

    /// Returns the answer with the injection of the items, or of a check, which leaves them as they are: an orchestrator takes the
    /// output for its package.
    pub(crate) fn answer(&self, injection: &mut Injection, tense: Tense) -> FunctionAnswer {
        let status = match tense {
            _ if injection.errors().next().is_some() => CallStatus::Refused,
            Tense::Conditional if injection.fails_check() => CallStatus::Found,
            _ if injection.held_back_by().next().is_some() => CallStatus::HeldBack,
            _ => CallStatus::Done,
        };
        let mut edits = std::mem::take(&mut injection.edits);
        if status != CallStatus::Done {
            edits.clear();
        }
        let mut rows: Vec<Row<'_>> = injection.rows(STDIN, "").filter(becomes_result).collect();
        if tense == Tense::Conditional {
            rows = rows.into_iter().map(Row::for_check).collect();
        }
        // Where no item is changed, results about changes would be wrong.
        match status {
            CallStatus::Refused => rows.retain(|row| row.severity == Severity::Error),
            CallStatus::HeldBack if tense == Tense::Past => rows.retain(|row| !row.is_change()),
            CallStatus::HeldBack | CallStatus::Found | CallStatus::Done => {}
        }
        edits.extend(self.add_results(&rows));
        // The sort is stable: at the end of the last item, its edits come before `results`.
        edits.sort_by_key(|edit| edit.range.start);
        FunctionAnswer { edits, status }
    }

    /// Returns the answer after errors of the configuration or the arguments, for which no item was read.
    pub(crate) fn failure(&self, rows: &[Row<'_>]) -> FunctionAnswer {
        let mut errors = rows.to_vec();
        errors.retain(|row| row.severity == Severity::Error);
        FunctionAnswer {
            edits: self.add_results(&errors),
            status: CallStatus::Refused,
        }
    }

    /// Returns the results that the list already has.
    fn earlier_results(&self) -> HashSet<Value> {
        let results = self
            .tree
            .get(self.root, "results")
            .and_then(|node| to_json(&self.tree, node).ok());
        match results {
            Some(Value::Array(results)) => results.into_iter().collect(),
            _ => HashSet::new(),
        }
    }

    /// Returns the edits that add the rows as results, errors first, but those that it already has. There are none if the text cannot be edited; then
    /// only stderr has the messages.
    fn add_results(&self, rows: &[Row<'_>]) -> Vec<Edit> {
        let earlier = self.earlier_results();
        let mut results = errors_first(rows);
        results.retain(|row| earlier.is_empty() || !earlier.contains(&value(row)));
        if results.is_empty() || self.ends_in_open_block_scalar() {
            return Vec::new();
        }
        let present = self.tree.get(self.root, "results");
        let edits = match (present, self.results_in_lines(&results)) {
            (None, Some(edits)) => edits,
            _ => self.spliced_results(present, &results),
        };
        let first_line = self.call.text[self.call.document.clone()]
            .split_inclusive('\n')
            .next()
            .unwrap_or_default();
        if !first_line.ends_with("\r\n") {
            return edits;
        }
        // The line breaks are those of the call.
        let with_returns = |edit: Edit| Edit {
            text: edit.text.replace('\n', "\r\n").into(),
            ..edit
        };
        edits.into_iter().map(with_returns).collect()
    }

    /// Returns true if a line behind the items would change a value of the last one.
    fn ends_in_open_block_scalar(&self) -> bool {
        self.cut()
            .and_then(|cut| cut.items.last())
            .map(|item| &self.call.text[item.clone()])
            .filter(|text| !text.ends_with('\n'))
            .and_then(|text| yaml::read(text).ok())
            .is_some_and(|tree| yaml::ends_in_open_block_scalar(&tree))
    }

    /// Adds the results by a patch: to the list if it has items, otherwise as the value of the key.
    fn spliced_results(&self, present: Option<NodeId>, results: &[&Row<'_>]) -> Vec<Edit> {
        let tree = &self.tree;
        let has_items = present.is_some_and(|node| {
            tree.kind(node) == Kind::Sequence && tree.items(node).next().is_some()
        });
        let values = results.iter().map(|row| value(row));
        let operations = if has_items {
            values
                .map(|value| add("/results/-", value).into())
                .collect()
        } else {
            vec![add("/results", values.collect()).into()]
        };
        let Ok(spliced) = splice(tree, operations, &Cache::default()) else {
            return Vec::new();
        };
        let edits = tree.edits_of_source(spliced.edits).into_iter();
        edits.map(|edit| self.in_document(edit)).collect()
    }

    /// Adds the key and the results with the indentation of the items. None if that is unknown, or the envelope cannot be edited.
    ///
    /// Each is an edit of its own: the results of a long list have megabytes, which are not copied into one text.
    fn results_in_lines(&self, results: &[&Row<'_>]) -> Option<Vec<Edit>> {
        let indent = self.indent_of_items()?;
        let place = place_of_new_member(&self.tree, self.root).ok()?;
        let place = match self.end_of_items(place) {
            Some(end) => end,
            None => self.place(place),
        };
        let is_line_start = self.call.text[..place].ends_with('\n');
        let added = |lines: &str| match lines.strip_suffix('\n') {
            Some(lines) if !is_line_start => Edit::insert(place, ["\n", lines].concat()),
            _ => Edit::insert(place, lines),
        };
        let each = results.iter().map(|row| added(&lines(row, indent)));
        Some(std::iter::once(added("results:\n")).chain(each).collect())
    }

    /// Returns the indentation of the items, which a patch of the envelope alone could not find.
    fn indent_of_items(&self) -> Option<&'c str> {
        let item = &self.call.text[self.cut()?.items.first()?.clone()];
        Some(&item[..item.len() - item.trim_start_matches(' ').len()])
    }

    /// Converts an edit of the envelope to one of the call's text.
    ///
    /// If `items` is the last key, lines that the splicer adds behind it move behind the items:
    /// ```yaml
    /// items:
    /// results: …    # in the envelope
    /// ```
    fn in_document(&self, edit: Edit) -> Edit {
        if let Some(end) = self.end_of_items(edit.range.start) {
            let text = edit.text.replace("\r\n", "\n");
            let lines = text.trim_matches('\n');
            return Edit::insert(
                end,
                if self.call.text[..end].ends_with('\n') {
                    format!("{lines}\n")
                } else {
                    format!("\n{lines}")
                },
            );
        }
        let range = self.place(edit.range.start)..self.place(edit.range.end);
        Edit::replace(range, edit.text.replace("\r\n", "\n"))
    }

    /// Returns the end of the items, if the place in the envelope is between `items:` and what follows it.
    fn end_of_items(&self, place: usize) -> Option<usize> {
        let items = self.tree.get(self.root, "items")?;
        let cut = self.cut()?;
        let (first, last) = (cut.items.first()?, cut.items.last()?);
        let is_behind = self.tree.place(items).end <= place && place <= first.start - cut.start;
        is_behind.then_some(last.end)
    }

    /// Returns the separated items, if the tree is without them.
    fn cut(&self) -> Option<&'c Cut> {
        let has_items = std::ptr::eq(self.tree.source(), self.call.text);
        self.call.cut.as_ref().filter(|_| !has_items)
    }
}

fn add(path: &str, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path.split('/').skip(1)),
        value,
    })
}

fn is_resource_list(tree: &Tree<'_>) -> bool {
    tree.root()
        .and_then(|root| tree.get(root, "kind"))
        .and_then(|kind| tree.scalar(kind))
        .is_some_and(|kind| kind == "ResourceList")
}

#[cfg(test)]
mod tests {
    use super::*;
    use injector::{InjectedComponents, Outcome, Remark};
    use manifest::Identity;
    use report::{Finding, Reason, ReasonSet};
    use yaml_json_patch::edit::apply;

    fn finding(reason: Reason, message: &str) -> Finding {
        Finding::about_input(reason, message)
    }

    fn outcome(decision: Finding) -> Outcome {
        Outcome {
            identity: Identity {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: None,
                name: "a".into(),
                is_generated: false,
            },
            template: String::new(),
            offset: 0,
            file: None,
            decision,
            cause: None,
            warnings: Vec::new(),
            acknowledged: ReasonSet::default(),
            has_wanted_agent: false,
            components: InjectedComponents::default(),
            patch: json_patch::Patch::default(),
        }
    }

    fn answered(text: &str, injection: &Injection) -> String {
        let document = document_of_call(text).unwrap().unwrap();
        let call = Call::new(text, document);
        apply(
            text,
            &call
                .envelope()
                .unwrap()
                .answer(&mut injection.clone(), Tense::Past)
                .edits,
        )
    }

    #[test]
    fn tells_a_call_from_a_stream() {
        for call in [
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n",
            "items: []\nkind: 'ResourceList' # last\n",
            "# comment\n---\nkind: ResourceList\n",
            "\u{feff}kind: ResourceList\r\n",
            "{\"items\": [], \"kind\": \"ResourceList\"}",
        ] {
            assert!(is_call(call), "{call:?}");
        }
        for stream in [
            "",
            "kind: List\nitems: []\n",
            "kind: ConfigMap\ndata:\n  kind: ResourceList\n",
            "kind: ConfigMap\n---\nkind: ResourceList\n",
            "kind: ConfigMap # not a ResourceList\n",
            "{\"kind\": \"List\", \"items\": [{\"kind\": \"ResourceList\"}]}",
        ] {
            assert!(!is_call(stream), "{stream:?}");
        }
    }

    #[test]
    fn results_stand_behind_everything_else() {
        let injection = Injection {
            outcomes: vec![outcome(finding(Reason::Injected, "added"))],
            ..Injection::default()
        };
        let result = |indent: &str| {
            format!(
                "results:\n{indent}- message: added\n{indent}  severity: info\n{indent}  resourceRef:\n{indent}    apiVersion: v1\n\
                 {indent}    kind: Pod\n{indent}    name: a\n{indent}  tags:\n{indent}    reason: injected\n"
            )
        };
        let head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
        let item = "- kind: Pod\n  metadata: {name: a}\n";
        for text in [
            format!("{head}{item}"),
            format!("{head}{item}# the end\n"),
            format!("{head}{item}functionConfig: {{}}\n"),
            format!("---\n{head}{item}"),
        ] {
            let answer = answered(&text, &injection);
            assert_eq!(answer, format!("{text}{}", result("")));
            assert_eq!(
                answered(&answer, &injection),
                answer,
                "an equal result is not added twice"
            );
        }
        let indented = "kind: ResourceList\nitems:\n  - kind: Pod\n";
        assert_eq!(
            answered(indented, &injection),
            format!("{indented}{}", result("  "))
        );
        let open = format!("{head}{}", item.trim_end());
        assert_eq!(
            answered(&open, &injection),
            format!("{open}\n{}", result("").trim_end())
        );
    }

    #[test]
    fn a_remark_names_its_resource() {
        let text = "kind: ResourceList\nitems:\n- kind: Widget\n";
        let Outcome {
            identity, offset, ..
        } = outcome(finding(Reason::Injected, ""));
        let finding = Finding {
            pointer: "/spec/template".to_owned(),
            ..finding(Reason::UnknownKind, "why")
        };
        let remark = Remark {
            identity,
            offset,
            file: Some(("a.yaml".to_owned(), Some(1))),
            finding,
            workloads: Vec::new(),
        };
        let answer = answered(
            text,
            &Injection {
                remarks: vec![remark],
                ..Injection::default()
            },
        );
        let result = "results:\n- message: why\n  severity: warning\n  resourceRef:\n    apiVersion: v1\n    kind: Pod\n    name: a\n  \
                      field:\n    path: spec.template\n  file:\n    path: a.yaml\n    index: 1\n  tags:\n    reason: unknown-kind\n";
        assert_eq!(answer, format!("{text}{result}"));
    }

    #[test]
    fn results_have_no_unrequested_and_no_repeated_findings() {
        let text = "kind: ResourceList\nitems:\n- kind: Pod\n";
        let with = |reason| Injection {
            outcomes: vec![outcome(finding(reason, "why"))],
            ..Injection::default()
        };
        for quiet in [
            Reason::Unchanged,
            Reason::NotRequested,
            Reason::NotSelected,
            Reason::Disabled,
            Reason::LocalConfig,
        ] {
            assert_eq!(answered(text, &with(quiet)), text);
        }
    }
}
