//! Sources of a configuration: one base, then `--set` arguments in their order, then `--namespace`.

use crate::config::agent::{AgentSettings, HostIdStore};
use crate::config::constraint::Constraint;
use crate::config::cross_checks::{conflicts, pod_conflicts};
use crate::config::origin::Origin;
use crate::config::read_context::{ConfigError, ReadContext, SourceKind};
use crate::config::read_value::read_text;
use crate::config::secret::shown;
use crate::config::spec::Spec;
use crate::config::value::{ConfigValue, Member, SpanMap};
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
        let value = ConfigValue::untyped(namespace, SpanMap::From(0));
        config.set(&path::parts(Spec::namespace().path), value, &mut context);
        diagnostics.extend(finish(
            context,
            &mut config,
            Place::of_argument("--namespace", namespace.as_bytes(), 0..0),
        ));
    }
    if config.spec.agent.tmp.is_none() && !config.is_explicit(AgentSettings::host_id_store().path) {
        config.spec.agent.host_id_store = HostIdStore::Memory;
    }
    if diagnostics.is_empty() {
        let mut found = conflicts(&config);
        match sources.reader {
            ConfigReader::Manifests => {}
            ConfigReader::Webhook => found.extend(pod_conflicts(&config, "the webhook")),
            ConfigReader::Policy => found.extend(pod_conflicts(&config, "a policy")),
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
    let object = match *base {
        Base::Defaults => None,
        Base::Text { .. } => parse_file(text, &mut context),
        Base::Node {
            start, tree, node, ..
        } => Some(ConfigValue::of_node(tree, node, &SpanMap::From(start))),
    };
    if let Some(object) = object.filter(|object| !object.is_nothing()) {
        read_object(object, config, &mut context);
    }
    finish(
        context,
        config,
        Place::of_lines(name, text.as_bytes(), 0..0),
    )
}

/// Parses a file. An empty one is an error: it was truncated, or is the wrong file.
fn parse_file<'a>(text: &'a str, context: &mut ReadContext<'_>) -> Option<ConfigValue<'a>> {
    match yaml::read(text) {
        Ok(tree) => {
            let root = tree
                .root()
                .map(|root| ConfigValue::of_node(&tree, root, &SpanMap::From(0)));
            let object = root.filter(|root| !root.is_nothing());
            if object.is_none() {
                let help = format!(
                    "start the file with `apiVersion: {API_VERSION}` and `kind: {KIND}`; for the defaults, use `--no-config`"
                );
                context.error(0..0, Violation::new("is empty").with_help(help));
            }
            object
        }
        Err(error) => {
            let violation = Violation::new(format!("is not valid YAML: {}", error.message));
            context.error(error.offset..error.offset, violation);
            None
        }
    }
}

/// The objects that hold a configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectKind {
    AgentInjector,
    ConfigMap,
}

impl ObjectKind {
    fn of(members: &[Member<'_>]) -> Self {
        let has = |name: &str, text: &str| {
            let mut named = members.iter().filter(|member| member.name == name);
            named.any(|member| member.value.characters().as_deref() == Some(text))
        };
        if has("kind", "ConfigMap") && has("apiVersion", "v1") {
            ObjectKind::ConfigMap
        } else {
            ObjectKind::AgentInjector
        }
    }
}

/// Reads an `AgentInjector` or a `ConfigMap`.
fn read_object(object: ConfigValue<'_>, config: &mut Config, context: &mut ReadContext<'_>) {
    let start = object.span.start;
    let errors = context.errors.len();
    let members = object.members(context);
    if members.is_empty() && context.errors.len() > errors {
        return;
    }
    let kind = ObjectKind::of(&members);
    let mut missing = match kind {
        ObjectKind::AgentInjector => vec![("apiVersion", API_VERSION), ("kind", KIND)],
        ObjectKind::ConfigMap => Vec::new(),
    };
    for Member {
        name,
        name_span,
        value,
    } in members
    {
        missing.retain(|(required, _)| *required != name);
        context.name_span = name_span;
        match (&*name, kind) {
            ("apiVersion" | "kind" | "immutable", ObjectKind::ConfigMap) => {}
            ("apiVersion", _) => read_type("apiVersion", API_VERSION, &value, context),
            ("kind", _) => read_type("kind", KIND, &value, context),
            ("metadata", _) => read_metadata(value, config, context),
            ("spec", ObjectKind::AgentInjector) | ("data", ObjectKind::ConfigMap)
                if value.is_null() => {}
            ("spec", ObjectKind::AgentInjector) => config.set(&[], value, context),
            ("data", ObjectKind::ConfigMap) => read_data(value, config, context),
            (_, ObjectKind::AgentInjector) if Spec::has_setting(&name) => {
                let what = format!("has the setting `{name}` outside of `spec`");
                let violation = Violation::new(what);
                context.error_at_name(violation.with_help("indent the settings below `spec:`"));
            }
            (_, ObjectKind::AgentInjector) => context.unknown_field(&name, &["metadata", "spec"]),
            (_, ObjectKind::ConfigMap) => context.unknown_field(&name, &["metadata", "data"]),
        }
    }
    for (name, value) in missing {
        let violation = Violation::new(format!("has no `{name}`"));
        let help = format!("write `{name}: {value}`");
        context.error(start..start, violation.with_help(help));
    }
}

/// Checks `apiVersion` or `kind`.
fn read_type(name: &str, wanted: &str, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
    context.enter(name, None);
    if let Some(found) = read_text(value, context)
        && found != wanted
    {
        let mut violation = Violation::new(format!("must be `{wanted}`, found `{found}`"));
        if wanted == KIND {
            violation =
                violation.with_help("a ConfigMap with dotted paths in `data` is also supported");
        }
        context.error(value.span.clone(), violation);
    }
    context.leave();
}

/// Reads `metadata.name`; other metadata is for the tools that handle the object.
fn read_metadata(value: ConfigValue<'_>, config: &mut Config, context: &mut ReadContext<'_>) {
    if value.is_null() {
        return;
    }
    context.enter("metadata", None);
    for member in value.members(context) {
        if member.name == "name" {
            context.enter("name", Some(Constraint::ObjectName));
            if let Some(name) = read_text(&member.value, context) {
                config.name = name;
            }
            context.leave();
        }
    }
    context.leave();
}

/// Reads the dotted paths in a ConfigMap's `data`.
fn read_data(value: ConfigValue<'_>, config: &mut Config, context: &mut ReadContext<'_>) {
    for Member {
        name,
        name_span,
        value,
    } in value.members(context)
    {
        let (Some(text), Some(written)) = (value.characters(), value.written()) else {
            let violation =
                Violation::new(format!("must be a string, found {}", value.type_name()));
            context.error_at(&name, value.span, violation);
            continue;
        };
        context.name_span = name_span;
        // In `"[a, b]"` the text is found verbatim after the quote.
        let spans = match written.find(text.as_ref()) {
            Some(offset) => SpanMap::From(value.span.start + offset),
            None => SpanMap::Within(value.span),
        };
        let untyped = ConfigValue::untyped(&text, spans);
        config.set(&path::parts(&name), untyped, context);
    }
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
    context.name_span = 0..path.len();
    let value = ConfigValue::untyped(text, SpanMap::From(path.len() + 1));
    // Helm separates settings so. A list, a mapping and quoted text have commas of their own.
    let plain = text.trim_start();
    let plain = if plain.starts_with(['[', '{', '"', '\'']) {
        ""
    } else {
        plain
    };
    let others = plain.split(',').skip(1).filter_map(|it| it.split_once('='));
    let mut others = others.map(|(other, _)| other.trim());
    if let Some(other) = others.find(|other| config.value(other).is_some()) {
        let violation = Violation::new(format!("has another setting in its value: `{other}`"));
        let help = format!(
            "write `--set {path}=… --set {other}=…`; for such a text, use a configuration file"
        );
        context.error_at(path, value.span, violation.with_help(help));
    } else {
        config.set(&path::parts(path), value, &mut context);
    }
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
    let mut diagnostics = Vec::new();
    for error in context.errors.into_iter().map(ConfigError::without_secret) {
        let diagnostic = Diagnostic::error(error.message());
        let place = Place {
            range: error.span,
            ..source.clone()
        };
        let diagnostic = diagnostic.at(shown(&error.path, place));
        diagnostics.push(diagnostic.with_help(error.violation.help));
    }
    diagnostics
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
            (Some(place), None) => diagnostic.place = Some(shown(path, place)),
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
