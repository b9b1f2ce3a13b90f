//! State of reading one source: the current path, the origins of settings, and errors.

use crate::config::constraint::Constraint;
use crate::config::origin::Origin;
use crate::config::setting::SettingRow;
use crate::config::value::{ConfigValue, SpanMap, no_alias};
use crate::config::violation::Violation;
use crate::diagnostic::LineCounter;
use crate::diagnostic::closest::closest;
use crate::manifest::dotted_path;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

/// A violation with its span in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    pub(crate) range: Range<usize>,
    /// The setting that the message begins with; empty if the violation names it.
    pub(crate) subject: String,
    pub(crate) violation: Violation,
}

impl ConfigError {
    pub(crate) fn message(&self) -> String {
        format!("{} {}", self.subject, self.violation.what)
            .trim_start()
            .to_owned()
    }
}

/// The kind of source that values come from.
#[derive(Debug, Clone)]
pub(crate) enum SourceKind<'a> {
    Configuration {
        source: &'a str,
        lines: LineCounter<'a>,
    },
    Argument {
        number: usize,
    },
    Namespace,
    Annotation {
        key: &'a str,
    },
}

/// State of reading one source.
#[derive(Debug)]
pub(crate) struct ReadContext<'a> {
    source: SourceKind<'a>,
    /// Names of the current fields, and items as `[0]`.
    path: Vec<String>,
    /// The constraint on values of the current field.
    constraint: Option<Constraint>,
    /// Span of the current field's name.
    name: Range<usize>,
    /// Depth of lists: their items have no origin of their own.
    lists: usize,
    pub(crate) origins: BTreeMap<String, Origin>,
    pub(crate) errors: Vec<ConfigError>,
}

impl<'a> ReadContext<'a> {
    pub(crate) fn new(source: SourceKind<'a>, origins: BTreeMap<String, Origin>) -> Self {
        ReadContext {
            source,
            path: Vec::new(),
            constraint: None,
            name: 0..0,
            lists: 0,
            origins,
            errors: Vec::new(),
        }
    }

    /// Enters a field for the call of `read`.
    pub(crate) fn within(
        &mut self,
        name: &str,
        constraint: Option<Constraint>,
        read: impl FnOnce(&mut Self),
    ) {
        self.path.push(dotted_path::escape(name));
        let outer = std::mem::replace(&mut self.constraint, constraint);
        read(self);
        self.constraint = outer;
        self.path.pop();
    }

    /// Enters the groups that a setting is a member of.
    pub(crate) fn within_group_of(&mut self, setting: &SettingRow, read: impl FnOnce(&mut Self)) {
        let mut groups = setting.names();
        groups.pop();
        let depth = self.path.len();
        self.path.extend(groups.into_iter().map(str::to_owned));
        read(self);
        self.path.truncate(depth);
    }

    /// Enters an entry of a map, which has the map's constraint.
    pub(crate) fn within_entry(&mut self, key: &str, read: impl FnOnce(&mut Self)) {
        self.within(key, self.constraint, read);
    }

    /// Enters an item of a list, which has the list's constraint.
    pub(crate) fn within_item(&mut self, index: usize, read: impl FnOnce(&mut Self)) {
        self.path.push(format!("[{index}]"));
        self.lists += 1;
        read(self);
        self.lists -= 1;
        self.path.pop();
    }

    /// Calls `read`, and returns its result unless it reported errors.
    pub(crate) fn without_errors<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let before = self.errors.len();
        let result = read(self);
        (self.errors.len() == before).then_some(result)
    }

    pub(crate) fn constraint(&self) -> Option<Constraint> {
        self.constraint
    }

    /// Sets the span of the next field's name.
    pub(crate) fn set_name_span(&mut self, range: Range<usize>) {
        self.name = range;
    }

    /// Records the origin of the current setting.
    pub(crate) fn given(&mut self, value: &ConfigValue<'_>) {
        self.given_below(&[], value.range());
    }

    /// Records the origin of a part of the current setting.
    pub(crate) fn given_below(&mut self, trail: &[String], range: Range<usize>) {
        if self.lists > 0 {
            return;
        }
        let origin = self.origin(range);
        let depth = self.path.len();
        self.path.extend_from_slice(trail);
        let path = self.dotted(None);
        self.path.truncate(depth);
        self.origins
            .retain(|set, _| !dotted_path::is_at_or_below(set, &path));
        self.origins.insert(path, origin);
    }

    /// Records the origins of the items of the current list, for which a configuration alone has places.
    pub(crate) fn given_items(&mut self, ranges: Vec<Range<usize>>) {
        if self.lists > 0 || !matches!(self.source, SourceKind::Configuration { .. }) {
            return;
        }
        let list = self.dotted(None);
        for (index, range) in ranges.into_iter().enumerate() {
            let origin = self.origin(range);
            self.origins.insert(format!("{list}[{index}]"), origin);
        }
    }

    fn origin(&mut self, range: Range<usize>) -> Origin {
        match &mut self.source {
            SourceKind::Configuration { source, lines } => {
                let at = lines.position(range.start);
                Origin::Configuration {
                    source: (*source).to_owned(),
                    range,
                    line: at.line,
                    column: at.column,
                }
            }
            SourceKind::Argument { number } => Origin::Argument { number: *number },
            SourceKind::Namespace => Origin::Namespace,
            SourceKind::Annotation { key } => Origin::Annotation {
                key: (*key).to_owned(),
                offset: range.start,
            },
        }
    }

    /// Forgets the origin of a field that is reset to its default.
    pub(crate) fn forget(&mut self, name: &str) {
        let path = self.dotted(Some(name));
        self.origins
            .retain(|set, _| !dotted_path::is_at_or_below(set, &path));
    }

    /// Returns the dotted path of the current setting, or of its field `name`.
    fn dotted(&self, name: Option<&str>) -> String {
        let mut out = String::new();
        for part in self.path.iter().map(String::as_str).chain(name) {
            if !out.is_empty() && !part.starts_with('[') {
                out.push('.');
            }
            out.push_str(part);
        }
        out
    }

    /// Reports a violation by the current setting.
    pub(crate) fn error(&mut self, range: Range<usize>, violation: Violation) {
        let path = self.dotted(None);
        let subject = if path.is_empty() {
            "the configuration".to_owned()
        } else {
            format!("`{path}`")
        };
        self.errors.push(ConfigError {
            range,
            subject,
            violation,
        });
    }

    /// Reports a violation at the name of the next field.
    pub(crate) fn error_at_name(&mut self, violation: Violation) {
        self.error(self.name.clone(), violation);
    }

    /// Reports a violation by a part of the current setting.
    pub(crate) fn error_below(
        &mut self,
        trail: &[String],
        range: Range<usize>,
        violation: Violation,
    ) {
        let depth = self.path.len();
        self.path.extend_from_slice(trail);
        self.error(range, violation);
        self.path.truncate(depth);
    }

    pub(crate) fn wrong_type(&mut self, wanted: &str, value: &ConfigValue<'_>) {
        let violation = Violation::new(format!("must be {wanted}, found {}", value.type_name()));
        let help = match (wanted, value.written()) {
            ("a list", Some(item)) if !item.is_empty() && item.len() < 80 => {
                Some(format!("write `[{item}]`"))
            }
            _ => None,
        };
        self.error(value.range(), Violation { help, ..violation });
    }

    /// Reports a setting that does not exist.
    pub(crate) fn unknown_field(
        &mut self,
        name: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) {
        let inside = self.dotted(None);
        let help = match closest(name, known.clone()) {
            Some(known) => Some(format!("did you mean `{}`?", self.dotted(Some(known)))),
            None if name == "spec" && inside.is_empty() => {
                Some("omit `spec`: paths begin below it".to_owned())
            }
            None => None,
        };
        let listed = || {
            let place = if inside.is_empty() {
                "the fields are".to_owned()
            } else {
                format!("`{inside}` has")
            };
            format!(
                "{place} {}",
                known
                    .clone()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        let what = format!(
            "unknown setting `{}`",
            self.dotted(Some(&dotted_path::escape(name)))
        );
        let violation = Violation::new(what).with_help(help.unwrap_or_else(listed));
        self.errors.push(ConfigError {
            range: self.name.clone(),
            subject: String::new(),
            violation,
        });
    }

    /// Reports a field that a Kubernetes type does not have.
    pub(crate) fn no_field<'k>(
        &mut self,
        name: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let help = match closest(name, known.clone()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!(
                "it has {}",
                known
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        self.error_at_name(Violation::new(format!("has no field `{name}`")).with_help(help));
    }

    /// Reports a path that continues below a single setting.
    pub(crate) fn no_parts(&mut self, part: &str) {
        let violation = Violation::new(format!("is a single value and has no field `{part}`"));
        self.error_at_name(violation.with_help("write a dot within a name as `\\.`"));
    }
}

impl ConfigValue<'_> {
    /// Calls `visit` with each key and value in order; reports a value that is no mapping.
    pub(crate) fn mapping(
        &self,
        context: &mut ReadContext<'_>,
        mut visit: impl FnMut(&str, &ConfigValue<'_>, &mut ReadContext<'_>),
    ) {
        self.located(context, |tree, id, spans, context| {
            let value = ConfigValue::Node {
                tree,
                id,
                spans: spans.clone(),
            };
            if tree.kind(id) != Kind::Mapping {
                return context.wrong_type("a mapping", &value);
            }
            let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
            for (key, item) in tree.entries(id) {
                let range = spans.range(tree.place(key));
                let Some(name) = tree.scalar(key) else {
                    context.error(
                        range,
                        Violation::new("has a key that is not a string".to_owned()),
                    );
                    continue;
                };
                if seen.contains(&name) {
                    context.error(
                        range,
                        Violation::new(format!("has the duplicate key `{name}`")),
                    );
                    continue;
                }
                context.set_name_span(range);
                visit(
                    &name,
                    &ConfigValue::Node {
                        tree,
                        id: item,
                        spans: spans.clone(),
                    },
                    context,
                );
                seen.insert(name);
            }
        });
    }

    /// Calls `visit` with each item and its index; reports a value that is no list. Scalar text is a list of one item:
    /// `--set agent.roles=shop:web`.
    pub(crate) fn list(
        &self,
        context: &mut ReadContext<'_>,
        mut visit: impl FnMut(usize, &ConfigValue<'_>, &mut ReadContext<'_>),
    ) {
        self.located(context, |tree, id, spans, context| {
            let value = ConfigValue::Node {
                tree,
                id,
                spans: spans.clone(),
            };
            if let (ConfigValue::Text { text, .. }, Kind::Scalar) = (self, tree.kind(id))
                && !text.contains(',')
                && !value.is_null()
            {
                return visit(0, self, context);
            }
            if tree.kind(id) != Kind::Sequence {
                return context.wrong_type("a list", &value);
            }
            for (index, item) in tree.items(id).enumerate() {
                visit(
                    index,
                    &ConfigValue::Node {
                        tree,
                        id: item,
                        spans: spans.clone(),
                    },
                    context,
                );
            }
        });
    }

    /// Calls `visit` with the value as a node; text is parsed as YAML first.
    pub(crate) fn located(
        &self,
        context: &mut ReadContext<'_>,
        visit: impl FnOnce(&Tree<'_>, NodeId, &SpanMap, &mut ReadContext<'_>),
    ) {
        match self {
            ConfigValue::Node { tree, id, spans } => {
                if tree.kind(*id) == Kind::Alias {
                    return context.error(self.range(), no_alias());
                }
                visit(tree, *id, spans, context);
            }
            ConfigValue::Text { text, spans } => match yaml::read(text) {
                Ok(tree) => match tree.root() {
                    Some(root) => visit(&tree, root, spans, context),
                    None => {
                        let violation = Violation::new("has no value".to_owned());
                        context.error(
                            self.range(),
                            violation.with_help("write `null` for the default"),
                        );
                    }
                },
                Err(error) => {
                    let at = spans.range(error.offset..error.offset);
                    context.error(
                        at,
                        Violation::new(format!("is not valid YAML: {}", error.message)),
                    );
                }
            },
        }
    }
}
