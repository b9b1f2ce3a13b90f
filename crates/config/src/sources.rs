//! Sources of a configuration: one base, then `--set` arguments in their order, then `--namespace`.

use crate::agent::HostIdStore;
use crate::checked::ObjectName;
use crate::cross_checks::{conflicts, pod_conflicts};
use crate::layers::{Document, LayerKind, Loader, MAX_SHOWN, Member, SpanMap, TextSetting};
use crate::secret;
use crate::values::Given;
use crate::violation::{Conflict, Violation};
use crate::{API_VERSION, Config, KIND};
use report::{Diagnostic, Place, closest};
use std::collections::BTreeMap;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

/// The sources of a configuration, before annotations: one object or none, and settings on top of it. Without any, every
/// setting has its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    pub base: Base<'a>,
    /// `--set` arguments, each `path=value`, in their order.
    pub set: &'a [String],
    /// The `--namespace` argument.
    pub namespace: Option<&'a str>,
    pub reader: ConfigReader,
}

/// The reader of a configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConfigReader {
    /// A run over manifests.
    #[default]
    Manifests,
    /// The webhook, which does not take every setting.
    Webhook,
    /// An admission policy, which sees as little of a workload as the webhook.
    Policy,
}

impl<'a> Sources<'a> {
    /// A configuration object within a document, such as the `functionConfig` of a function call: the node of a tree whose
    /// text begins at byte `start` of `text`.
    #[must_use]
    pub fn of_node(
        name: &'a str,
        text: &'a str,
        start: usize,
        tree: &'a Tree<'a>,
        node: NodeId,
    ) -> Self {
        Sources {
            base: Base::Node {
                name,
                text,
                start,
                tree,
                node,
            },
            ..Sources::default()
        }
    }

    /// The text of a configuration: an `AgentInjector` object or a `ConfigMap` with dotted paths in `data`, YAML or JSON.
    /// `name` is its name in diagnostics and in [`Origin`](crate::Origin), usually the file's.
    #[must_use]
    pub fn of_text(name: &'a str, text: &'a str) -> Self {
        Sources {
            base: Base::Text { name, text },
            ..Sources::default()
        }
    }

    /// Adds `--set` arguments, each `path=value` with a dotted path below `spec`, in their order. The setting's type decides
    /// how a value is read; lists and maps are YAML, as in `agent.roles=[shop:web]`.
    #[must_use]
    pub fn with_set(self, set: &'a [String]) -> Self {
        Sources { set, ..self }
    }

    /// Adds the `--namespace` argument: the namespace of resources that name none. Empty means unknown.
    #[must_use]
    pub fn with_namespace(self, namespace: &'a str) -> Self {
        Sources {
            namespace: Some(namespace),
            ..self
        }
    }

    /// Refuses what `select` says of workloads, which the webhook does not see.
    #[must_use]
    pub fn for_webhook(self) -> Self {
        Sources {
            reader: ConfigReader::Webhook,
            ..self
        }
    }
}

/// The one configuration object; bases are never merged.
#[derive(Debug, Clone, Copy, Default)]
pub enum Base<'a> {
    /// No configuration.
    #[default]
    Defaults,
    /// A file's text: an `AgentInjector` object or a `ConfigMap`, YAML or JSON.
    Text { name: &'a str, text: &'a str },
    /// The object within a parsed document, such as a ResourceList's `functionConfig`.
    Node {
        /// Name of the whole text.
        name: &'a str,
        /// The whole text.
        text: &'a str,
        /// Byte offset of the tree's text in the whole text.
        start: usize,
        tree: &'a Tree<'a>,
        /// The object; an empty mapping or null means the defaults.
        node: NodeId,
    },
}

/// Reads and checks a configuration.
///
/// # Errors
/// Returns everything wrong in the order of the sources, up to 20:
/// - the text is not valid YAML, empty, or an object of another kind or `apiVersion`
/// - a setting that does not exist, with the one that may be meant
/// - a value of another type, or one that the setting cannot have
/// - settings that contradict each other, or that the webhook cannot follow
///
/// Each is a [`Diagnostic`] with its place in the text or the argument.
pub fn load<'a>(sources: &Sources<'a>) -> Result<Config, Vec<Diagnostic<'a>>> {
    let mut loader = Loader::default();
    let mut config = Config::default();
    let mut diagnostics = Vec::new();
    // Each layer is checked before the next one, which may replace what is wrong in it.
    read_base(&sources.base, &mut config, &mut loader);
    config.spec = loader.settings();
    for (index, argument) in sources.set.iter().enumerate() {
        diagnostics.extend(read_argument(index + 1, argument, &mut loader));
        config.spec = loader.settings();
    }
    if let Some(text) = sources.namespace {
        let place = Place::of_argument("--namespace", text.as_bytes(), 0..0);
        loader.begin(LayerKind::Namespace, place);
        loader.merge_namespace(text);
        config.spec = loader.settings();
    }
    diagnostics.extend(loader.diagnostics());
    let places = loader.places();
    config.origins = loader.origins(&places);
    if config.spec.agent.tmp.is_none() && !config.is_explicit("agent.hostIdStore") {
        config.spec.agent.host_id_store = HostIdStore::Memory;
    }
    if diagnostics.is_empty() {
        let mut found = conflicts(&config);
        match sources.reader {
            ConfigReader::Manifests => {}
            ConfigReader::Webhook => found.extend(pod_conflicts(&config, "the webhook")),
            ConfigReader::Policy => found.extend(pod_conflicts(&config, "a policy")),
        }
        for found in found.into_iter().take(MAX_SHOWN + 1) {
            diagnostics.push(conflict(&config, &loader, &places, found));
        }
        if diagnostics.is_empty() {
            return Ok(config);
        }
    }
    if diagnostics.len() > MAX_SHOWN {
        diagnostics.truncate(MAX_SHOWN);
        diagnostics.push(Diagnostic::error("more errors in the configuration"));
    }
    Err(diagnostics)
}

fn read_base<'a>(base: &Base<'a>, config: &mut Config, loader: &mut Loader<'a>) {
    let (name, text) = match *base {
        Base::Defaults => ("", ""),
        Base::Text { name, text } | Base::Node { name, text, .. } => (name, text),
    };
    loader.begin(
        LayerKind::Configuration,
        Place::of_lines(name, text.as_bytes(), 0..0),
    );
    match *base {
        Base::Defaults => {}
        Base::Text { .. } => read_file(text, config, loader),
        Base::Node {
            start, tree, node, ..
        } => {
            if !is_nothing(tree, node) {
                let spans = SpanMap::From(start);
                read_object(&Document { tree, spans }, node, config, loader);
            }
        }
    }
}

/// Reads a file. An empty one is an error: it was truncated, or is the wrong file.
fn read_file(text: &str, config: &mut Config, loader: &mut Loader<'_>) {
    match yaml::read(text) {
        Ok(tree) => match tree.root().filter(|root| !is_nothing(&tree, *root)) {
            Some(root) => {
                let spans = SpanMap::From(0);
                read_object(&Document { tree: &tree, spans }, root, config, loader);
            }
            None => {
                let help = format!(
                    "start the file with `apiVersion: {API_VERSION}` and `kind: {KIND}`; for the defaults, use `--no-config`"
                );
                loader.error("", 0..0, Violation::new("is empty").with_help(help));
            }
        },
        Err(error) => {
            let violation = Violation::new(format!("is not valid YAML: {}", error.message));
            loader.error("", error.offset..error.offset, violation);
        }
    }
}

/// Returns true for `null` and `{}`.
fn is_nothing(tree: &Tree<'_>, node: NodeId) -> bool {
    match tree.kind(node) {
        Kind::Mapping => tree.entries(node).next().is_none(),
        Kind::Scalar => {
            yaml::scalar_value(tree, node).is_ok_and(|value| value == yaml::ScalarValue::Null)
        }
        Kind::Sequence | Kind::Alias => false,
    }
}

/// Reads an `AgentInjector`, or a `ConfigMap` with dotted paths in `data`.
fn read_object(
    document: &Document<'_>,
    object: NodeId,
    config: &mut Config,
    loader: &mut Loader<'_>,
) {
    let tree = document.tree;
    let whole = document.span(object);
    if tree.kind(object) != Kind::Mapping {
        let found = if tree.kind(object) == Kind::Sequence {
            "a list"
        } else {
            "a single value"
        };
        let violation = Violation::new(format!("must be a mapping, found {found}"));
        return loader.error("", whole, violation);
    }
    let text = |name: &str| tree.member_text(object, name);
    let is_config_map =
        text("kind").as_deref() == Some("ConfigMap") && text("apiVersion").as_deref() == Some("v1");
    let mut missing = if is_config_map {
        Vec::new()
    } else {
        vec![("apiVersion", API_VERSION), ("kind", KIND)]
    };
    for Member {
        name,
        name_span,
        value,
    } in loader.members(document, object, "")
    {
        missing.retain(|(required, _)| *required != name);
        let wanted = match &*name {
            "apiVersion" => Some(API_VERSION),
            "kind" => Some(KIND),
            _ => None,
        };
        match (&*name, wanted) {
            (_, Some(wanted)) if !is_config_map => {
                let found = tree.scalar(value).unwrap_or_default();
                if found != wanted {
                    let what = format!("must be `{wanted}`, found `{found}`");
                    let help = "a ConfigMap with dotted paths in `data` is also supported";
                    let help = (wanted == KIND).then(|| help.to_owned());
                    loader.error(&name, document.span(value), Violation { what, help });
                }
            }
            ("apiVersion" | "kind" | "immutable", _) if is_config_map => {}
            ("metadata", _) => read_metadata(document, value, config, loader),
            ("spec", _) if !is_config_map => loader.merge(document, value),
            ("data", _) if is_config_map => read_data(document, value, loader),
            _ if !is_config_map && Config::knows(&name) => {
                let what = format!("has the setting `{name}` outside of `spec`");
                let violation = Violation::new(what).with_help("indent the settings below `spec:`");
                loader.error("", name_span, violation);
            }
            _ => {
                let settings = if is_config_map { "data" } else { "spec" };
                let help = match closest(&name, ["metadata", settings]) {
                    _ if name == "spec" => {
                        "write the settings as dotted paths below `data`".to_owned()
                    }
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the fields are `metadata`, `{settings}`"),
                };
                let violation = Violation::new(format!("unknown setting `{name}`")).with_help(help);
                loader.push_error("", "", name_span, violation);
            }
        }
    }
    for (name, value) in missing {
        let violation = Violation::new(format!("has no `{name}`"))
            .with_help(format!("write `{name}: {value}`"));
        loader.error("", whole.start..whole.start, violation);
    }
}

/// Reads `metadata.name`; other metadata is for the tools that handle the object.
fn read_metadata(
    document: &Document<'_>,
    metadata: NodeId,
    config: &mut Config,
    loader: &mut Loader<'_>,
) {
    if !is_mapping(document, metadata, "metadata", loader) {
        return;
    }
    let Some(name) = document.tree.member(metadata, "name") else {
        return;
    };
    let text = document.tree.scalar(name).unwrap_or_default();
    match text.parse::<ObjectName>() {
        Ok(name) => config.name = name.to_string(),
        Err(violation) => {
            let span = document.span(name);
            loader.error("metadata.name", span, violation);
        }
    }
}

/// Reports a part of the object that is neither a mapping nor null.
fn is_mapping(document: &Document<'_>, node: NodeId, name: &str, loader: &mut Loader<'_>) -> bool {
    let tree = document.tree;
    let is_mapping = tree.kind(node) == Kind::Mapping;
    if !is_mapping && !is_nothing(tree, node) {
        let violation = Violation::new("must be a mapping");
        loader.error(name, document.span(node), violation);
    }
    is_mapping
}

/// Reads the dotted paths in a ConfigMap's `data`.
fn read_data(document: &Document<'_>, data: NodeId, loader: &mut Loader<'_>) {
    let tree = document.tree;
    if !is_mapping(document, data, "data", loader) {
        return;
    }
    for Member {
        name: path,
        name_span: name,
        value,
    } in loader.members(document, data, "")
    {
        let span = document.span(value);
        let Some(text) = tree
            .scalar(value)
            .filter(|_| tree.kind(value) == Kind::Scalar)
        else {
            let kind = if tree.kind(value) == Kind::Sequence {
                "a list"
            } else {
                "a mapping"
            };
            let violation = Violation::new(format!("must be a string, found {kind}"));
            loader.error(&path, span, violation);
            continue;
        };
        // In `"[a, b]"` the text is found verbatim after the quote.
        let spans = match tree.raw(value).find(text.as_ref()) {
            Some(offset) => SpanMap::From(span.start + offset),
            None => SpanMap::Within(span),
        };
        loader.merge_text(&TextSetting {
            path: &path,
            name,
            text: &text,
            spans,
        });
    }
}

fn read_argument<'a>(
    number: usize,
    argument: &'a str,
    loader: &mut Loader<'a>,
) -> Option<Diagnostic<'a>> {
    let name = format!("--set #{number}");
    let place = Place::of_argument(name, argument.as_bytes(), 0..argument.len());
    let Some((path, text)) = argument.split_once('=') else {
        let help = "use `path=value`, for example `agent.image=registry.example.com/agent:v1`";
        return Some(
            Diagnostic::error("`--set` requires a path and a value")
                .at(place)
                .with_help(Some(help.to_owned())),
        );
    };
    loader.begin(LayerKind::Argument(number), place);
    let (name, spans) = (0..path.len(), SpanMap::From(path.len() + 1));
    // Helm separates settings so. A list, a mapping and quoted text have commas of their own.
    let other = Some(text.trim_start())
        .filter(|text| !text.starts_with(['[', '{', '"', '\'']))
        .unwrap_or_default()
        .split(',')
        .skip(1)
        .filter_map(|it| it.split_once('='))
        .map(|(other, _)| other.trim())
        .find(|other| Config::knows(other));
    if let Some(other) = other {
        let help = format!(
            "write `--set {path}=… --set {other}=…`; for such a text, use a configuration file"
        );
        let violation =
            Violation::new(format!("has another setting in its value: `{other}`")).with_help(help);
        loader.error(path, spans.range(0..text.len()), violation);
    } else {
        loader.merge_text(&TextSetting {
            path,
            name,
            text,
            spans,
        });
    }
    None
}

/// Returns the diagnostic of a conflict, placed where the first of its settings is set.
fn conflict<'a>(
    config: &Config,
    loader: &Loader<'a>,
    places: &BTreeMap<String, &Given>,
    found: Conflict,
) -> Diagnostic<'a> {
    let Conflict { paths, violation } = found;
    let mut diagnostic = Diagnostic::error(violation.what).with_help(violation.help);
    for path in &paths {
        match (loader.place_of(path, places), &diagnostic.place) {
            (Some(place), None) => diagnostic.place = Some(secret::shown(path, place)),
            _ => {
                let origin = config.origin(path);
                diagnostic
                    .notes
                    .push(format!("`{path}` is set by: {origin}"));
            }
        }
    }
    diagnostic
}
