//! State of reading one source: the current path, the origins of settings, and errors.

use crate::config::constraint::Constraint;
use crate::config::origin::Origin;
use crate::config::setting::SettingRow;
use crate::config::value::{ConfigValue, Form, Member, no_alias};
use crate::config::violation::{Violation, listed};
use crate::diagnostic::LineCounter;
use crate::diagnostic::closest::closest;
use crate::manifest::dotted_path;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use yaml_json_patch as yaml;

/// A violation with its span in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    pub(crate) span: Range<usize>,
    /// The setting that the message begins with; empty if the violation names it.
    pub(crate) subject: String,
    pub(crate) violation: Violation,
    /// The dotted path of the setting; of one that does not exist, that of its group.
    pub(crate) path: String,
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

/// A step of the path to the current value.
#[derive(Debug)]
enum Step {
    Field {
        name: String,
        /// The constraint on the field's values.
        constraint: Option<Constraint>,
    },
    /// An item of a list, which has the list's constraint.
    Item(usize),
}

/// State of reading one source.
#[derive(Debug)]
pub(crate) struct ReadContext<'a> {
    source: SourceKind<'a>,
    path: Vec<Step>,
    /// Span of the current field's name.
    pub(crate) name_span: Range<usize>,
    pub(crate) origins: BTreeMap<String, Origin>,
    pub(crate) errors: Vec<ConfigError>,
}

impl<'a> ReadContext<'a> {
    pub(crate) fn new(source: SourceKind<'a>, origins: BTreeMap<String, Origin>) -> Self {
        ReadContext {
            source,
            path: Vec::new(),
            name_span: 0..0,
            origins,
            errors: Vec::new(),
        }
    }

    /// Enters a field, until the call of [`leave`](Self::leave).
    pub(crate) fn enter(&mut self, name: &str, constraint: Option<Constraint>) {
        self.path.push(Step::Field {
            name: dotted_path::escape(name),
            constraint,
        });
    }

    /// Enters the groups that a setting is a member of.
    pub(crate) fn enter_groups_of(&mut self, setting: &SettingRow) {
        let mut groups = setting.names();
        groups.pop();
        for group in groups {
            self.enter(group, None);
        }
    }

    /// Enters an item of a list.
    pub(crate) fn enter_item(&mut self, index: usize) {
        self.path.push(Step::Item(index));
    }

    pub(crate) fn leave(&mut self) {
        self.path.pop();
    }

    /// Leaves all fields.
    pub(crate) fn leave_all(&mut self) {
        self.path.clear();
    }

    /// Returns the constraint on values of the current field.
    pub(crate) fn constraint(&self) -> Option<Constraint> {
        self.path.iter().rev().find_map(|step| match step {
            Step::Field { constraint, .. } => Some(*constraint),
            Step::Item(_) => None,
        })?
    }

    /// Records the origin of the current setting. Of the items of lists, those of a configuration alone have places.
    pub(crate) fn given(&mut self, span: Range<usize>) {
        let lists = self
            .path
            .iter()
            .filter(|step| matches!(step, Step::Item(_)));
        let has_origin = match lists.count() {
            0 => true,
            1 => {
                matches!(self.path.last(), Some(Step::Item(_)))
                    && matches!(self.source, SourceKind::Configuration { .. })
            }
            _ => false,
        };
        if has_origin {
            let origin = self.origin(span);
            self.forget();
            self.origins.insert(self.dotted(), origin);
        }
    }

    fn origin(&mut self, span: Range<usize>) -> Origin {
        match &mut self.source {
            SourceKind::Configuration { source, lines } => {
                let position = lines.position(span.start);
                Origin::Configuration {
                    source: (*source).to_owned(),
                    range: span,
                    line: position.line,
                    column: position.column,
                }
            }
            SourceKind::Argument { number } => Origin::Argument { number: *number },
            SourceKind::Namespace => Origin::Namespace,
            SourceKind::Annotation { key } => Origin::Annotation {
                key: (*key).to_owned(),
                offset: span.start,
            },
        }
    }

    /// Forgets the origin of the current setting.
    pub(crate) fn forget(&mut self) {
        let path = self.dotted();
        self.origins
            .retain(|set, _| !dotted_path::is_at_or_below(set, &path));
    }

    /// Returns the dotted path of the current setting.
    pub(crate) fn dotted(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Item(index) => path += &format!("[{index}]"),
                Step::Field { name, .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path += name;
                }
            }
        }
        path
    }

    /// Returns the dotted path of a field of the current setting.
    fn dotted_field(&self, name: &str) -> String {
        let name = dotted_path::escape(name);
        match self.dotted() {
            path if path.is_empty() => name,
            path => format!("{path}.{name}"),
        }
    }

    /// Reports a violation by the current setting.
    pub(crate) fn error(&mut self, span: Range<usize>, violation: Violation) {
        self.error_at(&self.dotted(), span, violation);
    }

    /// Reports a violation by the setting at a dotted path.
    pub(crate) fn error_at(&mut self, path: &str, span: Range<usize>, violation: Violation) {
        let subject = match path {
            "" => "the configuration".to_owned(),
            path => format!("`{path}`"),
        };
        self.errors.push(ConfigError {
            span,
            subject,
            violation,
            path: path.to_owned(),
        });
    }

    /// Reports a violation at the name of the current field.
    pub(crate) fn error_at_name(&mut self, violation: Violation) {
        self.error(self.name_span.clone(), violation);
    }

    fn wrong_type(&mut self, wanted: &str, value: &ConfigValue<'_>) {
        let violation = Violation::new(format!("must be {wanted}, found {}", value.type_name()));
        let help = match (wanted, value.written()) {
            ("a list", Some(item)) if !item.is_empty() && item.len() < 80 => {
                Some(format!("write it as a list: `[{item}]`"))
            }
            _ => None,
        };
        self.error(value.span.clone(), Violation { help, ..violation });
    }

    /// Reports a setting that does not exist.
    pub(crate) fn unknown_field(&mut self, name: &str, known: &[&str]) {
        let group = self.dotted();
        let help = match closest(name, known.iter().copied()) {
            Some(known) => format!("did you mean `{}`?", self.dotted_field(known)),
            None if name == "spec" && group.is_empty() => {
                "omit `spec`: paths begin below it".to_owned()
            }
            None if group.is_empty() => format!("the fields are {}", listed(known)),
            None => format!("`{group}` has {}", listed(known)),
        };
        self.no_setting(name, help);
    }

    /// Reports a setting whose name other places have.
    pub(crate) fn misplaced_field(&mut self, name: &str, places: &[&str]) {
        self.no_setting(name, format!("did you mean `{}`?", places.join("` or `")));
    }

    fn no_setting(&mut self, name: &str, help: String) {
        let what = format!("unknown setting `{}`", self.dotted_field(name));
        self.errors.push(ConfigError {
            span: self.name_span.clone(),
            subject: String::new(),
            violation: Violation::new(what).with_help(help),
            path: self.dotted(),
        });
    }

    /// Reports a field that a Kubernetes type does not have.
    pub(crate) fn no_field(&mut self, name: &str, known: &[&str]) {
        let help = match closest(name, known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("it has {}", listed(known)),
        };
        self.error_at_name(Violation::new(format!("has no field `{name}`")).with_help(help));
    }

    /// Reports a path that continues below a single setting.
    pub(crate) fn no_parts(&mut self, part: &str) {
        let violation = Violation::new(format!("is a single value and has no field `{part}`"));
        self.error_at_name(violation.with_help("write a dot within a name as `\\.`"));
    }
}

impl<'v> ConfigValue<'v> {
    /// Returns the members of a mapping in order; reports a value that is no mapping, and keys that name no member.
    pub(crate) fn members(self, context: &mut ReadContext<'_>) -> Vec<Member<'v>> {
        let Some(value) = self.typed(context) else {
            return Vec::new();
        };
        let Form::Mapping(entries) = value.form else {
            context.wrong_type("a mapping", &value);
            return Vec::new();
        };
        let mut names = HashSet::new();
        let mut members = Vec::new();
        for (key, value) in entries {
            let Some(name) = key.characters() else {
                context.error(key.span, Violation::new("has a key that is not a string"));
                continue;
            };
            if !names.insert(name.clone()) {
                let what = format!("has the duplicate key `{name}`");
                context.error(key.span, Violation::new(what));
                continue;
            }
            members.push(Member {
                name,
                name_span: key.span,
                value,
            });
        }
        members
    }

    /// Returns the items of a list; reports a value that is no list. Scalar text is a list of one item:
    /// `--set agent.roles=shop:web`.
    pub(crate) fn items(self, context: &mut ReadContext<'_>) -> Vec<ConfigValue<'v>> {
        let single = match self.form {
            Form::Untyped { text, .. } if !text.contains(',') => Some(self.clone()),
            _ => None,
        };
        let Some(value) = self.typed(context) else {
            return Vec::new();
        };
        if let (Form::Scalar { .. }, Some(single)) = (&value.form, single)
            && !value.is_null()
        {
            return vec![single];
        }
        let Form::List(items) = value.form else {
            context.wrong_type("a list", &value);
            return Vec::new();
        };
        items
    }

    /// Parses text as YAML; returns other values as they are.
    fn typed(self, context: &mut ReadContext<'_>) -> Option<Self> {
        let (text, spans) = match self.form {
            Form::Untyped { text, ref spans } => (text, spans),
            Form::Alias => {
                context.error(self.span, no_alias());
                return None;
            }
            _ => return Some(self),
        };
        let (span, violation) = match yaml::read(text) {
            Ok(tree) => match tree.root() {
                Some(root) => return Some(ConfigValue::of_node(&tree, root, spans)),
                None => (
                    self.span.clone(),
                    Violation::new("has no value").with_help("leave it out for the default"),
                ),
            },
            Err(error) => (
                spans.range(error.offset..error.offset),
                Violation::new(format!("is not valid YAML: {}", error.message)),
            ),
        };
        context.error(span, violation);
        None
    }
}
