//! One source being read: where we are in it, what was set, what is wrong.

use super::origin::Origin;
use super::rule::Rule;
use super::suggestion;
use super::value::Value;
use crate::diagnostic::Lines;
use std::collections::BTreeMap;
use std::ops::Range;

/// What is wrong with a value. The text follows on the setting's path, as in `agent.image` *must be a string*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) what: String,
    pub(crate) help: Option<String>,
}

impl Complaint {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Complaint { what: what.into(), help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A complaint with its place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) range: Range<usize>,
    /// What the complaint is about, in words; empty when the complaint says it itself.
    pub(crate) subject: String,
    pub(crate) complaint: Complaint,
}

impl Problem {
    pub(crate) fn message(&self) -> String {
        format!("{} {}", self.subject, self.complaint.what).trim_start().to_owned()
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
    pub(crate) origins: BTreeMap<String, Origin>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(door: Door<'a>, origins: BTreeMap<String, Origin>) -> Self {
        Reading { door, path: Vec::new(), rule: None, name: 0..0, lists: 0, origins, problems: Vec::new() }
    }

    /// Reads what belongs to a field.
    pub(crate) fn within(&mut self, name: &str, rule: Option<Rule>, read: impl FnOnce(&mut Self)) {
        self.path.push(super::path::escape(name));
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
        self.origins.retain(|set, _| !super::is_at_or_below(set, &path));
        self.origins.insert(path, origin);
    }

    /// Notes that a field is as if nobody had set it.
    pub(crate) fn forget(&mut self, name: &str) {
        let path = self.dotted(Some(name));
        self.origins.retain(|set, _| !super::is_at_or_below(set, &path));
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
    pub(crate) fn problem(&mut self, range: Range<usize>, complaint: Complaint) {
        let path = self.dotted(None);
        let subject = if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
        self.problems.push(Problem { range, subject, complaint });
    }

    /// Complains about the name of the field that is read next.
    pub(crate) fn problem_at_name(&mut self, complaint: Complaint) {
        self.problem(self.name.clone(), complaint);
    }

    /// Complains about a part of the present setting.
    pub(crate) fn problem_below(&mut self, trail: &[String], range: Range<usize>, complaint: Complaint) {
        let depth = self.path.len();
        self.path.extend_from_slice(trail);
        self.problem(range, complaint);
        self.path.truncate(depth);
    }

    pub(crate) fn wrong_type(&mut self, wanted: &str, value: &Value<'_>) {
        let complaint = Complaint::new(format!("must be {wanted}, found {}", value.type_name()));
        let help = match (wanted, value.written()) {
            ("a list", Some(item)) if !item.is_empty() && item.len() < 80 => Some(format!("write `[{item}]`")),
            _ => None,
        };
        self.problem(value.range(), Complaint { help, ..complaint });
    }

    /// Complains about a field that does not exist.
    pub(crate) fn unknown_field(&mut self, name: &str, known: &[&'static str]) {
        let inside = self.dotted(None);
        let help = match suggestion::closest(name, known.iter().copied()) {
            Some(known) => Some(format!("did you mean `{}`?", self.dotted(Some(known)))),
            None if name == "spec" && inside.is_empty() => Some("paths begin below `spec`".to_owned()),
            None if self.lists > 0 => None,
            None => suggestion::elsewhere(name).map(|path| format!("did you mean `{path}`?")),
        };
        let listed = || {
            let place = if inside.is_empty() { "the fields are".to_owned() } else { format!("`{inside}` has") };
            format!("{place} {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        };
        let what = format!("there is no setting `{}`", self.dotted(Some(&super::path::escape(name))));
        let complaint = Complaint::new(what).with_help(help.unwrap_or_else(listed));
        self.problems.push(Problem { range: self.name.clone(), subject: String::new(), complaint });
    }

    /// Complains about a field that a Kubernetes type does not have.
    pub(crate) fn no_field<'k>(&mut self, name: &str, known: impl Iterator<Item = &'k str> + Clone) {
        let help = match suggestion::closest(name, known.clone()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("it has {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        self.problem_at_name(Complaint::new(format!("has no field `{name}`")).with_help(help));
    }

    /// Complains about a path that goes further than the settings do.
    pub(crate) fn no_parts(&mut self, part: &str) {
        let complaint = Complaint::new(format!("is a single setting and has no `{part}`"));
        self.problem_at_name(complaint.with_help("a dot that belongs to a name is written `\\.`"));
    }
}
