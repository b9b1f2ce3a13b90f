//! One expression for many rendered values: where they are the same it is a literal, and where they differ it chooses.

use crate::cel;
use serde_json::Value;
use std::cmp::Reverse;

/// A value as the engine renders it, in the case in which the conditions of the set bits are true.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rendered<T> {
    pub(super) case: u32,
    pub(super) value: T,
}

/// Writes expressions that choose among rendered values.
#[derive(Debug)]
pub(super) struct Chooser {
    /// The condition of each bit.
    pub(super) conditions: Vec<String>,
}

/// Values on both sides of a condition.
struct Split<'a, T> {
    condition: &'a str,
    yes: Vec<Rendered<T>>,
    no: Vec<Rendered<T>>,
}

/// A member of mappings, or an item of lists.
struct Part {
    /// The condition that it is there.
    presence: String,
    expression: String,
}

impl Chooser {
    /// Returns the expression whose value in each case is the rendered one.
    pub(super) fn expression(&self, values: &[Rendered<&Value>]) -> String {
        if let Some(value) = same(values) {
            return literal(value);
        }
        if values.iter().all(|one| one.value.is_object()) {
            return self.mapping(values);
        }
        if values.iter().all(|one| has_names(one.value)) {
            return self.list(values);
        }
        let Some(Split { condition, yes, no }) = self.split(values) else {
            return "null".to_owned();
        };
        // Both have one type: the shapes of an agent differ in their texts and quantities.
        let [yes, no] = [yes, no].map(|values| self.expression(&values));
        format!("({condition} ? {yes}\n: {no})")
    }

    /// Returns the condition under which rendered booleans are true.
    pub(super) fn condition(&self, values: &[Rendered<bool>]) -> String {
        if let Some(value) = same(values) {
            return value.to_string();
        }
        let Some(Split { condition, yes, no }) = self.split(values) else {
            return "false".to_owned();
        };
        let [yes, no] = [yes, no].map(|values| self.condition(&values));
        match (&*yes, &*no) {
            ("true", "false") => condition.to_owned(),
            ("false", "true") => format!("!({condition})"),
            ("true", no) => format!("({condition} || {no})"),
            ("false", no) => format!("(!({condition}) && {no})"),
            (yes, "true") => format!("(!({condition}) || {yes})"),
            (yes, "false") => format!("({condition} && {yes})"),
            (yes, no) => format!("({condition} ? {yes} : {no})"),
        }
    }

    /// Splits values by the first condition that alone makes a difference.
    fn split<T: PartialEq + Copy>(&self, values: &[Rendered<T>]) -> Option<Split<'_, T>> {
        for (bit, condition) in self.conditions.iter().enumerate() {
            let bit = 1 << bit;
            let differs = |one: &Rendered<T>| {
                values
                    .iter()
                    .any(|other| other.case == one.case ^ bit && other.value != one.value)
            };
            if values.iter().any(differs) {
                let (yes, no) = values.iter().partition(|one| one.case & bit != 0);
                return Some(Split { condition, yes, no });
            }
        }
        None
    }

    fn mapping(&self, values: &[Rendered<&Value>]) -> String {
        let mut members = Vec::new();
        for key in in_order(values, keys) {
            let Part {
                presence,
                expression,
            } = self.part(values, |value| value.get(&key));
            let key = cel::string(&key);
            members.push(match &*presence {
                "true" => format!("{key}: {expression}"),
                _ => format!("?{key}: {presence} ? optional.of({expression}) : optional.none()"),
            });
        }
        cel::collection("{", &members, "}")
    }

    fn list(&self, values: &[Rendered<&Value>]) -> String {
        let mut parts = Vec::new();
        let mut constant = Vec::new();
        for wanted in in_order(values, names) {
            let Part {
                presence,
                expression,
            } = self.part(values, |list| {
                list.as_array()?
                    .iter()
                    .find(|item| name(item) == Some(&wanted))
            });
            if presence == "true" {
                constant.push(expression);
                continue;
            }
            if !constant.is_empty() {
                parts.push(cel::collection("[", &std::mem::take(&mut constant), "]"));
            }
            parts.push(format!("({presence} ? [{expression}] : [])"));
        }
        if !constant.is_empty() {
            parts.push(cel::collection("[", &constant, "]"));
        }
        parts.join("\n+ ")
    }

    fn part<'a>(
        &self,
        values: &[Rendered<&'a Value>],
        find: impl Fn(&'a Value) -> Option<&'a Value>,
    ) -> Part {
        let (mut found, mut presence) = (Vec::new(), Vec::new());
        for &Rendered { case, value } in values {
            let part = find(value);
            let value = part.is_some();
            presence.push(Rendered { case, value });
            found.extend(part.map(|value| Rendered { case, value }));
        }
        Part {
            presence: self.condition(&presence),
            expression: format!("dyn({})", self.expression(&found)),
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => cel::string(text),
        Value::Array(items) => cel::collection("[", &literals(items), "]"),
        Value::Object(members) => {
            let mut texts = literals(members.values());
            for (key, text) in members.keys().zip(&mut texts) {
                *text = format!("{}: {text}", cel::string(key));
            }
            cel::collection("{", &texts, "}")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the literals of one list or mapping, which must have one type: all are strings, or `dyn`.
fn literals<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let values = Vec::from_iter(values);
    let are_strings = values.iter().all(|value| value.is_string());
    let texts = values.into_iter().map(literal);
    if are_strings {
        texts.collect()
    } else {
        texts.map(|text| format!("dyn({text})")).collect()
    }
}

/// Returns the value, if all are the same.
fn same<T: PartialEq + Copy>(values: &[Rendered<T>]) -> Option<T> {
    let first = values.first()?.value;
    values
        .iter()
        .all(|other| other.value == first)
        .then_some(first)
}

fn keys(value: &Value) -> Vec<String> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect()
}

/// Returns the name by which an item of a list is known: two mounts may have one volume.
fn name(item: &Value) -> Option<&str> {
    item.get("mountPath").or_else(|| item.get("name"))?.as_str()
}

fn names(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(name)
        .map(str::to_owned)
        .collect()
}

fn has_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| items.iter().all(|item| name(item).is_some()))
}

/// Returns the names of all values in their order. The longest sequence comes first, since it lacks the fewest.
fn in_order(values: &[Rendered<&Value>], names: fn(&Value) -> Vec<String>) -> Vec<String> {
    let mut sequences: Vec<_> = values.iter().map(|one| names(one.value)).collect();
    sequences.sort_by_key(|sequence| Reverse(sequence.len()));
    let mut all: Vec<String> = Vec::new();
    for sequence in sequences {
        let mut next = all.len();
        for name in sequence.into_iter().rev() {
            match all.iter().position(|known| *known == name) {
                Some(position) => next = position,
                None => all.insert(next, name),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Chooser, Rendered};
    use serde_json::{Value, json};

    fn chosen(values: &[Value]) -> String {
        let chooser = Chooser {
            conditions: vec!["a".to_owned(), "b".to_owned()],
        };
        let mut rendered = Vec::new();
        for (case, value) in (0..).zip(values) {
            rendered.push(Rendered { case, value });
        }
        chooser.expression(&rendered).replace('\n', "")
    }

    /// The values of the cases: neither, `a`, `b`, both.
    #[test]
    fn an_expression_chooses_where_values_differ() {
        for (values, expected) in [
            ([json!(1), json!(1), json!(1), json!(1)], "1"),
            (
                [json!("x"), json!("y"), json!("x"), json!("y")],
                "(a ? 'y': 'x')",
            ),
            (
                [json!(1), json!(2), json!(3), json!(4)],
                "(a ? (b ? 4: 2): (b ? 3: 1))",
            ),
            (
                [
                    json!({"k": "x"}),
                    json!({"k": "x", "l": 1}),
                    json!({"k": "x"}),
                    json!({"k": "x"}),
                ],
                "{'k': dyn('x'), ?'l': (a && !(b)) ? optional.of(dyn(1)) : optional.none()}",
            ),
            (
                [
                    json!([{"name": "x"}, {"name": "z"}]),
                    json!([{"name": "x"}, {"name": "y"}, {"name": "z"}]),
                    json!([]),
                    json!([{"name": "y"}]),
                ],
                "(!(b) ? [dyn({'name': 'x'})] : [])+ (a ? [dyn({'name': 'y'})] : [])+ (!(b) ? [dyn({'name': 'z'})] : [])",
            ),
        ] {
            assert_eq!(chosen(&values), expected);
        }
    }
}
