//! The ways in: one base, then `--set` arguments in their order, then `--namespace`.

use crate::config::contradiction::contradictions;
use crate::config::origin::Origin;
use crate::config::reading::{Door, Problem, Reading};
use crate::config::scalar;
use crate::config::setting::{Group, Setting as _};
use crate::config::spec::Spec;
use crate::config::suggestion::elsewhere;
use crate::config::value::{Places, Value};
use crate::config::violation::Violation;
use crate::config::{API_VERSION, Config, KIND, path};
use crate::diagnostic::{Diagnostic, Lines, Place};
use yaml_json_patch::{self as yaml, NodeId, Tree};

/// More errors than this are only counted.
const SHOWN: usize = 20;

/// Everything that a configuration is made of, before annotations: one text or none, and settings on top of it. The default
/// is neither, which gives the default configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// What the other sources are put on.
    pub(crate) base: Base<'a>,
    /// `--set` arguments, each `path=value`, in their order.
    pub(crate) set: &'a [String],
    /// The `--namespace` argument.
    pub(crate) namespace: Option<&'a str>,
}

impl<'a> Sources<'a> {
    /// A configuration that stands within a document, such as the `functionConfig` of a function call: the node of a tree
    /// whose text begins at byte `start` of `text`.
    #[must_use]
    pub fn of_node(name: &'a str, text: &'a str, start: usize, tree: &'a Tree<'a>, node: NodeId) -> Self {
        Sources { base: Base::Node { name, text, start, tree, node }, ..Sources::default() }
    }

    /// The text of a configuration: an `AgentInjector` object or a `ConfigMap` with dotted paths in `data`, YAML or JSON.
    /// `name` is what diagnostics and [`Origin`] call it, mostly the file's name.
    #[must_use]
    pub fn of_text(name: &'a str, text: &'a str) -> Self {
        Sources { base: Base::Text { name, text }, ..Sources::default() }
    }

    /// Settings on top, each `path=value` with a dotted path below `spec`, in their order: what `--set` takes. A value is
    /// read by its setting's type; lists and maps are written as in `agent.roles=[shop:web]`.
    #[must_use]
    pub fn with_set(self, set: &'a [String]) -> Self {
        Sources { set, ..self }
    }

    /// The namespace of resources that name none, on top of all: what `--namespace` takes. The empty text: it is unknown.
    #[must_use]
    pub fn with_namespace(self, namespace: &'a str) -> Self {
        Sources { namespace: Some(namespace), ..self }
    }
}

/// The one configuration object; bases are never merged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Base<'a> {
    /// No configuration is given.
    #[default]
    Defaults,
    /// A file's text: an `AgentInjector` object or a `ConfigMap`, YAML or JSON.
    Text {
        /// The file's name.
        name: &'a str,
        /// What it holds.
        text: &'a str,
    },
    /// The same object within a document that is read already, such as a ResourceList's `functionConfig`.
    Node {
        /// Name of the whole text.
        name: &'a str,
        /// The whole text.
        text: &'a str,
        /// Where the tree's text begins in the whole text.
        start: usize,
        /// The document.
        tree: &'a Tree<'a>,
        /// The object. An empty mapping or null: the defaults.
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
/// All that is wrong, in the order of the sources, up to 20 and then their count:
/// - the text is not valid YAML, empty, or an object of another kind or `apiVersion`
/// - a setting that does not exist, with the one that may be meant
/// - a value of another type, or one that the setting cannot have
/// - settings that contradict each other
///
/// Each is a [`Diagnostic`] with its place in the text or the argument.
pub fn load<'a>(sources: &Sources<'a>) -> Result<Config, Vec<Diagnostic<'a>>> {
    let mut config = Config::default();
    let mut diagnostics = read_base(&sources.base, &mut config);
    for (index, argument) in sources.set.iter().enumerate() {
        diagnostics.extend(read_argument(index + 1, argument, &mut config));
    }
    if let Some(namespace) = sources.namespace {
        let mut reading = Reading::new(Door::Namespace, std::mem::take(&mut config.origins), elsewhere);
        let value = Value::Text { text: namespace, places: Places::From(0) };
        config.spec.set_field("namespace", &[], &value, &mut reading);
        diagnostics.extend(finish(reading, &mut config, Place::of_argument("--namespace", namespace.as_bytes(), 0..0)));
    }
    if diagnostics.is_empty() {
        for found in contradictions(&config) {
            diagnostics.push(conflict(&config, sources, &found.paths, found.violation));
        }
    }
    if diagnostics.len() > SHOWN {
        let more = diagnostics.len() - SHOWN;
        diagnostics.truncate(SHOWN);
        diagnostics.push(Diagnostic::error(format!("{more} more errors in the configuration")));
    }
    if diagnostics.is_empty() { Ok(config) } else { Err(diagnostics) }
}

fn read_base<'a>(base: &Base<'a>, config: &mut Config) -> Vec<Diagnostic<'a>> {
    let (name, text) = base.source();
    let door = Door::Configuration { source: name, lines: Lines::new(text.as_bytes()) };
    let mut reading = Reading::new(door, std::mem::take(&mut config.origins), elsewhere);
    match *base {
        Base::Defaults => {}
        Base::Text { .. } => match yaml::read(text) {
            Ok(tree) => match tree.root().filter(|root| !is_nothing(&tree, *root)) {
                Some(root) => read_object(&tree, root, 0, config, &mut reading),
                // Whoever names a file wants something of it: this one was cut off, or is another.
                None => {
                    let help = format!("begin it with `apiVersion: {API_VERSION}` and `kind: {KIND}`, or name no file");
                    reading.problem(0..0, Violation::new("is empty").with_help(help));
                }
            },
            Err(error) => {
                let violation = Violation::new(format!("is not valid YAML: {}", error.message));
                reading.problem(error.offset..error.offset, violation);
            }
        },
        Base::Node { tree, node, .. } if is_nothing(tree, node) => {}
        Base::Node { start, tree, node, .. } => read_object(tree, node, start, config, &mut reading),
    }
    finish(reading, config, Place::of_lines(name, text.as_bytes(), 0..0))
}

/// `null` or `{}`
fn is_nothing(tree: &Tree<'_>, node: NodeId) -> bool {
    let value = Value::Node { tree, id: node, places: Places::From(0) };
    value.is_null() || (tree.kind(node) == yaml::Kind::Mapping && tree.entries(node).next().is_none())
}

/// Reads an `AgentInjector` or a `ConfigMap`.
fn read_object(tree: &Tree<'_>, node: NodeId, start: usize, config: &mut Config, reading: &mut Reading<'_>) {
    let object = Value::Node { tree, id: node, places: Places::From(start) };
    let text_of = |key: &str| tree.get(node, key).and_then(|value| tree.scalar(value)).unwrap_or_default();
    let is_config_map = text_of("kind") == "ConfigMap" && text_of("apiVersion") == "v1";
    let mut is_named = [false; 2];
    object.mapping(reading, |name, value, reading| match name {
        "apiVersion" | "kind" => {
            is_named[usize::from(name == "kind")] = true;
            let wanted = if name == "kind" { KIND } else { API_VERSION };
            reading.within(name, None, |reading| {
                let Some(found) = scalar::read::<String>(value, reading) else { return };
                if !is_config_map && found != wanted {
                    let mut violation = Violation::new(format!("must be `{wanted}`, found `{found}`"));
                    if name == "kind" {
                        violation = violation.with_help("a ConfigMap with dotted paths in `data` works too");
                    }
                    reading.problem(value.range(), violation);
                }
            });
        }
        "metadata" => reading.within(name, None, |reading| read_metadata(value, config, reading)),
        "spec" if !is_config_map => {
            if !value.is_null() {
                config.spec.read(value, reading);
            }
        }
        "data" if is_config_map => {
            if !value.is_null() {
                read_data(value, &mut config.spec, reading);
            }
        }
        "immutable" if is_config_map => {}
        _ if Spec::NAMES.contains(&name) && !is_config_map => {
            let violation = Violation::new(format!("has the setting `{name}` outside of `spec`"));
            reading.problem_at_name(violation.with_help("write the settings below `spec:`, indented"));
        }
        _ => {
            let known: &[&str] = if is_config_map { &["metadata", "data"] } else { &["metadata", "spec"] };
            reading.unknown_field(name, known);
        }
    });
    let is_mapping = tree.kind(node) == yaml::Kind::Mapping;
    for (is_there, name, value) in [(is_named[0], "apiVersion", API_VERSION), (is_named[1], "kind", KIND)] {
        if is_mapping && !is_there && !is_config_map {
            let start = object.range().start;
            let violation = Violation::new(format!("has no `{name}`"));
            reading.problem(start..start, violation.with_help(format!("write `{name}: {value}`")));
        }
    }
}

/// Only the name is ours; the rest belongs to whoever handles the object.
fn read_metadata(value: &Value<'_>, config: &mut Config, reading: &mut Reading<'_>) {
    if value.is_null() {
        return;
    }
    value.mapping(reading, |name, value, reading| {
        if name == "name" {
            reading.within(name, Some(crate::config::rule::Rule::ObjectName), |reading| {
                if let Some(name) = scalar::read::<String>(value, reading) {
                    config.name = name;
                }
            });
        }
    });
}

/// The dotted paths of a ConfigMap.
fn read_data(value: &Value<'_>, spec: &mut Spec, reading: &mut Reading<'_>) {
    value.mapping(reading, |dotted, value, reading| {
        let Value::Node { tree, id, places } = value else { return };
        let Some(text) = tree.scalar(*id) else {
            let violation = Violation::new(format!("must be a string, found {}", value.type_name()));
            return reading.problem_below(&[dotted.to_owned()], value.range(), violation);
        };
        // `"[a, b]"`: the text stands in the source as it is, behind the quote.
        let within = tree.span(*id);
        let verbatim = tree.raw(*id).find(text.as_ref()).map(|at| places.range(within.start + at..within.end).start);
        let places = match verbatim {
            Some(start) => Places::From(start),
            None => Places::Within(places.range(within)),
        };
        spec.set(&path::parts(dotted), &Value::Text { text: &text, places }, reading);
    });
}

fn read_argument<'a>(number: usize, argument: &'a str, config: &mut Config) -> Vec<Diagnostic<'a>> {
    let name = format!("--set #{number}");
    let Some((path, text)) = argument.split_once('=') else {
        let place = Place::of_argument(name, argument.as_bytes(), 0..argument.len());
        let help = "write `path=value`, for example `agent.image=registry.example.com/agent:v1`".to_owned();
        return vec![Diagnostic::error("`--set` needs a path and a value").at(place).with_help(Some(help))];
    };
    let mut reading = Reading::new(Door::Argument { number }, std::mem::take(&mut config.origins), elsewhere);
    reading.name_stands_at(0..path.len());
    let value = Value::Text { text, places: Places::From(path.len() + 1) };
    config.spec.set(&path::parts(path), &value, &mut reading);
    finish(reading, config, Place::of_argument(name, argument.as_bytes(), 0..0))
}

/// Gives the origins back, and the problems their place in the source.
fn finish<'a>(reading: Reading<'_>, config: &mut Config, source: Place<'a>) -> Vec<Diagnostic<'a>> {
    config.origins = reading.origins;
    let diagnostic = |problem: Problem| {
        let message = problem.message();
        let place = Place { range: problem.range, ..source.clone() };
        Diagnostic::error(message).at(place).with_help(problem.violation.help)
    };
    reading.problems.into_iter().map(diagnostic).collect()
}

/// A violation about settings that are good by themselves: it stands where the first of them was set.
fn conflict<'a>(config: &Config, sources: &Sources<'a>, paths: &[String], violation: Violation) -> Diagnostic<'a> {
    let mut diagnostic = Diagnostic::error(violation.what).with_help(violation.help);
    for path in paths {
        let origin = config.origin(path);
        match (place(origin, sources), &diagnostic.place) {
            (Some(place), None) => diagnostic.place = Some(place),
            _ => diagnostic.notes.push(format!("`{path}` comes from: {origin}")),
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
            Some(Place::of_argument(format!("--set #{number}"), argument.as_bytes(), 0..argument.len()))
        }
        Origin::Namespace => {
            let namespace = sources.namespace?;
            Some(Place::of_argument("--namespace", namespace.as_bytes(), 0..namespace.len()))
        }
        Origin::Default | Origin::Annotation { .. } => None,
    }
}
