//! One source being read: where we are in it, what was set, what is wrong.

use crate::config::origin::Origin;
use crate::config::rule::Rule;
use crate::config::value::{Places, Value, no_alias};
use crate::config::violation::Violation;
use crate::diagnostic::Lines;
use crate::diagnostic::closest::closest;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

/// A violation with its place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) range: Range<usize>,
    /// What the violation is about, in words; empty when the violation says it itself.
    pub(crate) subject: String,
    pub(crate) violation: Violation,
}

impl Problem {
    pub(crate) fn message(&self) -> String {
        format!("{} {}", self.subject, self.violation.what).trim_start().to_owned()
    }
}

/// Which door the values come through.
#[derive(Debug, Clone)]
pub(crate) enum Door<'a> {
    Configuration { source: &'a str, lines: Lines<'a> },
    Argument { number: usize },
    Namespace,
    Annotation { key: &'a str },
}

/// One source being read.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    door: Door<'a>,
    /// Names of the fields that we are in, and items as `[0]`.
    path: Vec<String>,
    /// What the values of the present field must obey.
    rule: Option<Rule>,
    /// Where the name of the present field stands.
    name: Range<usize>,
    /// Inside a list, whose items have no origin of their own.
    lists: usize,
    /// Finds a setting of a name in another group: see `suggestion::elsewhere`, which knows all settings.
    elsewhere: fn(&str) -> Option<String>,
    pub(crate) origins: BTreeMap<String, Origin>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        door: Door<'a>,
        origins: BTreeMap<String, Origin>,
        elsewhere: fn(&str) -> Option<String>,
    ) -> Self {
        Reading { door, path: Vec::new(), rule: None, name: 0..0, lists: 0, elsewhere, origins, problems: Vec::new() }
    }

    /// Reads what belongs to a field.
    pub(crate) fn within(&mut self, name: &str, rule: Option<Rule>, read: impl FnOnce(&mut Self)) {
        self.path.push(crate::config::path::escape(name));
        let outer = std::mem::replace(&mut self.rule, rule);
        read(self);
        self.rule = outer;
        self.path.pop();
    }

    /// Reads what belongs to an entry of a map, which obeys the map's rule.
    pub(crate) fn within_entry(&mut self, key: &str, read: impl FnOnce(&mut Self)) {
        self.within(key, self.rule, read);
    }

    /// Reads what belongs to a list's item, which obeys the list's rule.
    pub(crate) fn within_item(&mut self, index: usize, read: impl FnOnce(&mut Self)) {
        self.path.push(format!("[{index}]"));
        self.lists += 1;
        read(self);
        self.lists -= 1;
        self.path.pop();
    }

    pub(crate) fn rule(&self) -> Option<Rule> {
        self.rule
    }

    /// Says where the name of the field stands that is read next.
    pub(crate) fn name_stands_at(&mut self, range: Range<usize>) {
        self.name = range;
    }

    /// Notes that the present setting was given.
    pub(crate) fn given(&mut self, value: &Value<'_>) {
        self.given_below(&[], value.range());
    }

    /// Notes that a part of the present setting was given.
    pub(crate) fn given_below(&mut self, trail: &[String], range: Range<usize>) {
        if self.lists > 0 {
            return;
        }
        let origin = match &mut self.door {
            Door::Configuration { source, lines } => {
                let at = lines.position(range.start);
                Origin::Configuration { source: (*source).to_owned(), range, line: at.line, column: at.column }
            }
            Door::Argument { number } => Origin::Argument { number: *number },
            Door::Namespace => Origin::Namespace,
            Door::Annotation { key } => Origin::Annotation { key: (*key).to_owned(), offset: range.start },
        };
        let depth = self.path.len();
        self.path.extend_from_slice(trail);
        let path = self.dotted(None);
        self.path.truncate(depth);
        // What was set of it before is gone.
        self.origins.retain(|set, _| !crate::config::path::is_at_or_below(set, &path));
        self.origins.insert(path, origin);
    }

    /// Notes that a field is as if nobody had set it.
    pub(crate) fn forget(&mut self, name: &str) {
        let path = self.dotted(Some(name));
        self.origins.retain(|set, _| !crate::config::path::is_at_or_below(set, &path));
    }

    /// The dotted path of the present setting, or of its field `name`.
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

    /// Complains about the present setting.
    pub(crate) fn problem(&mut self, range: Range<usize>, violation: Violation) {
        let path = self.dotted(None);
        let subject = if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
        self.problems.push(Problem { range, subject, violation });
    }

    /// Complains about the name of the field that is read next.
    pub(crate) fn problem_at_name(&mut self, violation: Violation) {
        self.problem(self.name.clone(), violation);
    }

    /// Complains about a part of the present setting.
    pub(crate) fn problem_below(&mut self, trail: &[String], range: Range<usize>, violation: Violation) {
        let depth = self.path.len();
        self.path.extend_from_slice(trail);
        self.problem(range, violation);
        self.path.truncate(depth);
    }

    pub(crate) fn wrong_type(&mut self, wanted: &str, value: &Value<'_>) {
        let violation = Violation::new(format!("must be {wanted}, found {}", value.type_name()));
        let help = match (wanted, value.written()) {
            ("a list", Some(item)) if !item.is_empty() && item.len() < 80 => Some(format!("write `[{item}]`")),
            _ => None,
        };
        self.problem(value.range(), Violation { help, ..violation });
    }

    /// Complains about a field that does not exist.
    pub(crate) fn unknown_field(&mut self, name: &str, known: &[&'static str]) {
        let inside = self.dotted(None);
        let help = match closest(name, known.iter().copied()) {
            Some(known) => Some(format!("did you mean `{}`?", self.dotted(Some(known)))),
            None if name == "spec" && inside.is_empty() => Some("paths begin below `spec`".to_owned()),
            None if self.lists > 0 => None,
            None => (self.elsewhere)(name).map(|path| format!("did you mean `{path}`?")),
        };
        let listed = || {
            let place = if inside.is_empty() { "the fields are".to_owned() } else { format!("`{inside}` has") };
            format!("{place} {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        };
        let what = format!("there is no setting `{}`", self.dotted(Some(&crate::config::path::escape(name))));
        let violation = Violation::new(what).with_help(help.unwrap_or_else(listed));
        self.problems.push(Problem { range: self.name.clone(), subject: String::new(), violation });
    }

    /// Complains about a field that a Kubernetes type does not have.
    pub(crate) fn no_field<'k>(&mut self, name: &str, known: impl Iterator<Item = &'k str> + Clone) {
        let help = match closest(name, known.clone()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("it has {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        self.problem_at_name(Violation::new(format!("has no field `{name}`")).with_help(help));
    }

    /// Complains about a path that goes further than the settings do.
    pub(crate) fn no_parts(&mut self, part: &str) {
        let violation = Violation::new(format!("is a single setting and has no `{part}`"));
        self.problem_at_name(violation.with_help("a dot that belongs to a name is written `\\.`"));
    }
}

impl Value<'_> {
    /// Calls `visit` with each key and value, in order. Says so when this is no mapping.
    pub(crate) fn mapping(&self, reading: &mut Reading<'_>, mut visit: impl FnMut(&str, &Value<'_>, &mut Reading<'_>)) {
        self.located(reading, |tree, id, places, reading| {
            let value = Value::Node { tree, id, places: places.clone() };
            if tree.kind(id) != Kind::Mapping {
                return reading.wrong_type("a mapping", &value);
            }
            let mut seen: Vec<Cow<'_, str>> = Vec::new();
            for (key, item) in tree.entries(id) {
                let range = places.range(tree.span(key));
                let Some(name) = tree.scalar(key) else {
                    reading.problem(range, Violation::new("has a key that is not a string".to_owned()));
                    continue;
                };
                if seen.contains(&name) {
                    reading.problem(range, Violation::new(format!("has the key `{name}` twice")));
                    continue;
                }
                reading.name_stands_at(range);
                visit(&name, &Value::Node { tree, id: item, places: places.clone() }, reading);
                seen.push(name);
            }
        });
    }

    /// Calls `visit` with each item's number, from 0, and value. Says so when this is no list. Text that is a single value
    /// is a list of one: `--set agent.roles=shop:web`.
    pub(crate) fn list(&self, reading: &mut Reading<'_>, mut visit: impl FnMut(usize, &Value<'_>, &mut Reading<'_>)) {
        self.located(reading, |tree, id, places, reading| {
            let value = Value::Node { tree, id, places: places.clone() };
            if let (Value::Text { text, .. }, Kind::Scalar) = (self, tree.kind(id))
                && !text.contains(',')
                && !value.is_null()
            {
                return visit(0, self, reading);
            }
            if tree.kind(id) != Kind::Sequence {
                return reading.wrong_type("a list", &value);
            }
            for (index, item) in tree.items(id).enumerate() {
                visit(index, &Value::Node { tree, id: item, places: places.clone() }, reading);
            }
        });
    }

    /// Calls `visit` with the value as a node; text is read as YAML first.
    pub(crate) fn located(
        &self,
        reading: &mut Reading<'_>,
        visit: impl FnOnce(&Tree<'_>, NodeId, &Places, &mut Reading<'_>),
    ) {
        match self {
            Value::Node { tree, id, places } => {
                if tree.kind(*id) == Kind::Alias {
                    return reading.problem(self.range(), no_alias());
                }
                visit(tree, *id, places, reading);
            }
            Value::Text { text, places } => match yaml::read(text) {
                Ok(tree) => match tree.root() {
                    Some(root) => visit(&tree, root, places, reading),
                    None => {
                        let violation = Violation::new("has no value".to_owned());
                        reading.problem(self.range(), violation.with_help("write `null` for the default"));
                    }
                },
                Err(error) => {
                    let at = places.range(error.offset..error.offset);
                    reading.problem(at, Violation::new(format!("is not valid YAML: {}", error.message)));
                }
            },
        }
    }
}
