//! Sources of a configuration: one base, then `--set` arguments in their order, then `--namespace`.

use crate::config::cross_checks::{conflicts, webhook_conflicts};
use crate::config::origin::Origin;
use crate::config::read_context::{ConfigError, ReadContext, SourceKind};
use crate::config::read_value::read_text;
use crate::config::spec::Spec;
use crate::config::value::{ConfigValue, SpanMap};
use crate::config::violation::Violation;
use crate::config::{API_VERSION, Config, KIND};
use crate::diagnostic::{Diagnostic, LineCounter, Place};
use crate::manifest::dotted_path as path;
use yaml_json_patch::{self as yaml, NodeId, Tree};

/// Limit of reported errors; the rest are counted.
const MAX_SHOWN: usize = 20;

/// The sources of a configuration, before annotations: one object or none, and settings on top of it. Without any, every
/// setting has its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    pub(crate) base: Base<'a>,
    /// `--set` arguments, each `path=value`, in their order.
    pub(crate) set: &'a [String],
    /// The `--namespace` argument.
    pub(crate) namespace: Option<&'a str>,
    pub(crate) reader: ConfigReader,
}

/// The reader of a configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ConfigReader {
    /// A run over manifests.
    #[default]
    Manifests,
    /// The webhook, which does not take every setting.
    Webhook,
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
    /// `name` is its name in diagnostics and in [`Origin`], usually the file's.
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

    /// Refuses settings that the webhook cannot follow: `rbac.generate`, and what `select` says of workloads.
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
pub(crate) enum Base<'a> {
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

impl<'a> Base<'a> {
    fn source(&self) -> (&'a str, &'a str) {
        match *self {
            Base::Defaults => ("", ""),
            Base::Text { name, text } | Base::Node { name, text, .. } => (name, text),
        }
    }
}

/// Reads and checks a configuration.
///
/// # Errors
/// Returns everything wrong in the order of the sources, up to 20 and then their count:
/// - the text is not valid YAML, empty, or an object of another kind or `apiVersion`
/// - a setting that does not exist, with the one that may be meant
/// - a value of another type, or one that the setting cannot have
/// - settings that contradict each other, or that the webhook cannot follow
///
/// Each is a [`Diagnostic`] with its place in the text or the argument.
pub fn load<'a>(sources: &Sources<'a>) -> Result<Config, Vec<Diagnostic<'a>>> {
    let mut config = Config::default();
    let mut diagnostics = read_base(&sources.base, &mut config);
    for (index, argument) in sources.set.iter().enumerate() {
        diagnostics.extend(read_argument(index + 1, argument, &mut config));
    }
    if let Some(namespace) = sources.namespace {
        let mut context =
            ReadContext::new(SourceKind::Namespace, std::mem::take(&mut config.origins));
        let value = ConfigValue::Text {
            text: namespace,
            spans: SpanMap::From(0),
        };
        config.set(&path::parts(Spec::namespace().path), &value, &mut context);
        diagnostics.extend(finish(
            context,
            &mut config,
            Place::of_argument("--namespace", namespace.as_bytes(), 0..0),
        ));
    }
    if diagnostics.is_empty() {
        let mut found = conflicts(&config);
        if sources.reader == ConfigReader::Webhook {
            found.extend(webhook_conflicts(&config));
        }
        for found in found {
            diagnostics.push(conflict(&config, sources, &found.paths, found.violation));
        }
        if diagnostics.is_empty() {
            return Ok(config);
        }
    }
    if diagnostics.len() > MAX_SHOWN {
        let more = diagnostics.len() - MAX_SHOWN;
        diagnostics.truncate(MAX_SHOWN);
        diagnostics.push(Diagnostic::error(format!(
            "{more} more errors in the configuration"
        )));
    }
    Err(diagnostics)
}

fn read_base<'a>(base: &Base<'a>, config: &mut Config) -> Vec<Diagnostic<'a>> {
    let (name, text) = base.source();
    let source = SourceKind::Configuration {
        source: name,
        lines: LineCounter::new(text.as_bytes()),
    };
    let mut context = ReadContext::new(source, std::mem::take(&mut config.origins));
    match *base {
        Base::Defaults => {}
        Base::Text { .. } => match yaml::read(text) {
            Ok(tree) => match tree.root().filter(|root| !is_nothing(&tree, *root)) {
                Some(root) => read_object(&tree, root, 0, config, &mut context),
                // An empty file is an error: it was truncated, or is the wrong file.
                None => {
                    let help = format!(
                        "start the file with `apiVersion: {API_VERSION}` and `kind: {KIND}`, or omit the option"
                    );
                    context.error(0..0, Violation::new("is empty").with_help(help));
                }
            },
            Err(error) => {
                let violation = Violation::new(format!("is not valid YAML: {}", error.message));
                context.error(error.offset..error.offset, violation);
            }
        },
        Base::Node { tree, node, .. } if is_nothing(tree, node) => {}
        Base::Node {
            start, tree, node, ..
        } => read_object(tree, node, start, config, &mut context),
    }
    finish(
        context,
        config,
        Place::of_lines(name, text.as_bytes(), 0..0),
    )
}

/// Returns true for `null` and `{}`.
fn is_nothing(tree: &Tree<'_>, node: NodeId) -> bool {
    let value = ConfigValue::Node {
        tree,
        id: node,
        spans: SpanMap::From(0),
    };
    value.is_null()
        || (tree.kind(node) == yaml::Kind::Mapping && tree.entries(node).next().is_none())
}

/// Reads an `AgentInjector` or a `ConfigMap`.
fn read_object(
    tree: &Tree<'_>,
    node: NodeId,
    start: usize,
    config: &mut Config,
    context: &mut ReadContext<'_>,
) {
    let object = ConfigValue::Node {
        tree,
        id: node,
        spans: SpanMap::From(start),
    };
    let text_of = |key: &str| {
        tree.get(node, key)
            .and_then(|value| tree.scalar(value))
            .unwrap_or_default()
    };
    let is_config_map = text_of("kind") == "ConfigMap" && text_of("apiVersion") == "v1";
    let mut is_named = [false; 2];
    object.mapping(context, |name, value, context| match name {
        "apiVersion" | "kind" => {
            is_named[usize::from(name == "kind")] = true;
            let wanted = if name == "kind" { KIND } else { API_VERSION };
            context.within(name, None, |context| {
                let Some(found) = read_text(value, context) else {
                    return;
                };
                if !is_config_map && found != wanted {
                    let mut violation =
                        Violation::new(format!("must be `{wanted}`, found `{found}`"));
                    if name == "kind" {
                        violation = violation
                            .with_help("a ConfigMap with dotted paths in `data` is also supported");
                    }
                    context.error(value.range(), violation);
                }
            });
        }
        "metadata" => context.within(name, None, |context| read_metadata(value, config, context)),
        "spec" if !is_config_map => {
            if !value.is_null() {
                config.set(&[], value, context);
            }
        }
        "data" if is_config_map => {
            if !value.is_null() {
                read_data(value, config, context);
            }
        }
        "immutable" if is_config_map => {}
        _ if Spec::ROWS.iter().any(|row| row.name == name) && !is_config_map => {
            let violation = Violation::new(format!("has the setting `{name}` outside of `spec`"));
            context.error_at_name(violation.with_help("indent the settings below `spec:`"));
        }
        _ => {
            let known: &[&str] = if is_config_map {
                &["metadata", "data"]
            } else {
                &["metadata", "spec"]
            };
            context.unknown_field(name, known.iter().copied());
        }
    });
    let is_mapping = tree.kind(node) == yaml::Kind::Mapping;
    for (is_there, name, value) in [
        (is_named[0], "apiVersion", API_VERSION),
        (is_named[1], "kind", KIND),
    ] {
        if is_mapping && !is_there && !is_config_map {
            let start = object.range().start;
            let violation = Violation::new(format!("has no `{name}`"));
            context.error(
                start..start,
                violation.with_help(format!("write `{name}: {value}`")),
            );
        }
    }
}

/// Reads `metadata.name`; other metadata is for the tools that handle the object.
fn read_metadata(value: &ConfigValue<'_>, config: &mut Config, context: &mut ReadContext<'_>) {
    if value.is_null() {
        return;
    }
    value.mapping(context, |name, value, context| {
        if name == "name" {
            context.within(
                name,
                Some(crate::config::constraint::Constraint::ObjectName),
                |context| {
                    if let Some(name) = read_text(value, context) {
                        config.name = name;
                    }
                },
            );
        }
    });
}

/// Reads the dotted paths in a ConfigMap's `data`.
fn read_data(value: &ConfigValue<'_>, config: &mut Config, context: &mut ReadContext<'_>) {
    value.mapping(context, |dotted, value, context| {
        let ConfigValue::Node { tree, id, spans } = value else {
            return;
        };
        let Some(text) = tree.scalar(*id) else {
            let violation =
                Violation::new(format!("must be a string, found {}", value.type_name()));
            return context.error_below(&[dotted.to_owned()], value.range(), violation);
        };
        // In `"[a, b]"` the text is found verbatim behind the quote.
        let within = tree.place(*id);
        let verbatim = tree
            .raw(*id)
            .find(text.as_ref())
            .map(|at| spans.range(within.start + at..within.end).start);
        let spans = match verbatim {
            Some(start) => SpanMap::From(start),
            None => SpanMap::Within(spans.range(within)),
        };
        config.set(
            &path::parts(dotted),
            &ConfigValue::Text { text: &text, spans },
            context,
        );
    });
}

fn read_argument<'a>(number: usize, argument: &'a str, config: &mut Config) -> Vec<Diagnostic<'a>> {
    let name = format!("--set #{number}");
    let Some((path, text)) = argument.split_once('=') else {
        let place = Place::of_argument(name, argument.as_bytes(), 0..argument.len());
        let help =
            "use `path=value`, for example `agent.image=registry.example.com/agent:v1`".to_owned();
        return vec![
            Diagnostic::error("`--set` requires a path and a value")
                .at(place)
                .with_help(Some(help)),
        ];
    };
    let mut context = ReadContext::new(
        SourceKind::Argument { number },
        std::mem::take(&mut config.origins),
    );
    context.set_name_span(0..path.len());
    let value = ConfigValue::Text {
        text,
        spans: SpanMap::From(path.len() + 1),
    };
    config.set(&path::parts(path), &value, &mut context);
    finish(
        context,
        config,
        Place::of_argument(name, argument.as_bytes(), 0..0),
    )
}

/// Returns the origins to the configuration, and the errors with their place in the source.
fn finish<'a>(
    context: ReadContext<'_>,
    config: &mut Config,
    source: Place<'a>,
) -> Vec<Diagnostic<'a>> {
    config.origins = context.origins;
    let diagnostic = |error: ConfigError| {
        let message = error.message();
        let place = Place {
            range: error.range,
            ..source.clone()
        };
        Diagnostic::error(message)
            .at(place)
            .with_help(error.violation.help)
    };
    context.errors.into_iter().map(diagnostic).collect()
}

/// Returns the diagnostic of a conflict, placed where the first of its settings is set.
fn conflict<'a>(
    config: &Config,
    sources: &Sources<'a>,
    paths: &[String],
    violation: Violation,
) -> Diagnostic<'a> {
    let mut diagnostic = Diagnostic::error(violation.what).with_help(violation.help);
    for path in paths {
        let origin = config.origin(path);
        match (place(origin, sources), &diagnostic.place) {
            (Some(place), None) => diagnostic.place = Some(place),
            _ => diagnostic
                .notes
                .push(format!("`{path}` is set by: {origin}")),
        }
    }
    diagnostic
}

fn place<'a>(origin: &Origin, sources: &Sources<'a>) -> Option<Place<'a>> {
    match origin {
        Origin::Configuration { range, .. } => {
            let (name, text) = sources.base.source();
            Some(Place::of_lines(name, text.as_bytes(), range.clone()))
        }
        Origin::Argument { number } => {
            let argument = sources.set.get(number.checked_sub(1)?)?;
            Some(Place::of_argument(
                format!("--set #{number}"),
                argument.as_bytes(),
                0..argument.len(),
            ))
        }
        Origin::Namespace => {
            let namespace = sources.namespace?;
            Some(Place::of_argument(
                "--namespace",
                namespace.as_bytes(),
                0..namespace.len(),
            ))
        }
        Origin::Default | Origin::Annotation { .. } => None,
    }
}
