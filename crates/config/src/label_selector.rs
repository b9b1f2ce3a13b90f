//! Label selectors as kubectl reads them: `team in (shop, web),tier=front,!legacy`.

use crate::select::{LabelOperator, LabelRequirement, LabelSelector};
use crate::violation::Violation;
use std::str::FromStr;

impl FromStr for LabelSelector {
    type Err = String;

    /// Reads the conditions between commas, as `-l` of kubectl does. All of them must hold; an empty text has none.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut selector = LabelSelector::default();
        for condition in conditions(text) {
            let requirement =
                requirement(condition.trim()).map_err(|Violation { what, help }| {
                    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                    format!("`{}` {what}{help}", condition.trim())
                })?;
            selector.match_expressions.push(requirement);
        }
        Ok(selector)
    }
}

/// Returns the conditions: a comma between parentheses separates values.
fn conditions(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut conditions = Vec::new();
    let mut start = 0;
    let mut is_in_parentheses = false;
    for (index, character) in text.char_indices() {
        match character {
            '(' => is_in_parentheses = true,
            ')' => is_in_parentheses = false,
            ',' if !is_in_parentheses => {
                conditions.extend(text.get(start..index));
                start = index + 1;
            }
            _ => {}
        }
    }
    conditions.extend(text.get(start..));
    conditions
}

/// Reads one condition.
fn requirement(condition: &str) -> Result<LabelRequirement, Violation> {
    if let Some(key) = condition.strip_prefix('!') {
        return checked(key.trim(), LabelOperator::DoesNotExist, &[]);
    }
    let end = condition
        .find(|character: char| {
            character.is_whitespace() || matches!(character, '=' | '!' | '(' | '<' | '>')
        })
        .unwrap_or(condition.len());
    let (key, rest) = condition.split_at(end);
    let rest = rest.trim();
    if rest.is_empty() {
        return checked(key, LabelOperator::Exists, &[]);
    }
    for (sign, operator) in [
        ("!=", LabelOperator::NotIn),
        ("==", LabelOperator::In),
        ("=", LabelOperator::In),
    ] {
        if let Some(value) = rest.strip_prefix(sign) {
            return checked(key, operator, &[value.trim()]);
        }
    }
    for (word, operator) in [("notin", LabelOperator::NotIn), ("in", LabelOperator::In)] {
        let list = rest.strip_prefix(word).map(str::trim_start);
        if let Some(values) = list.and_then(|list| list.strip_prefix('(')?.strip_suffix(')')) {
            let values: Vec<&str> = values.split(',').map(str::trim).collect();
            return checked(key, operator, &values);
        }
    }
    Err(no_condition("is no condition on a label"))
}

fn no_condition(message: &str) -> Violation {
    Violation::new(message).with_help(
        "use `key=value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key` or `!key`",
    )
}

/// Returns the condition if its key and values are those of a label.
fn checked(
    key: &str,
    operator: LabelOperator,
    values: &[&str],
) -> Result<LabelRequirement, Violation> {
    if key.is_empty() {
        return Err(no_condition("has no key"));
    }
    Ok(LabelRequirement {
        key: key.parse()?,
        operator,
        values: values
            .iter()
            .map(|value| value.parse())
            .collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use crate::select::LabelSelector;
    use serde_json::json;

    #[test]
    fn a_selector_reads_as_in_kubectl() {
        for (text, expected) in [
            ("", json!([])),
            (
                "team=shop",
                json!([{"key": "team", "operator": "In", "values": ["shop"]}]),
            ),
            (
                " a.b/team == shop , tier!=",
                json!([
                    {"key": "a.b/team", "operator": "In", "values": ["shop"]},
                    {"key": "tier", "operator": "NotIn", "values": [""]},
                ]),
            ),
            (
                "team in (shop, web),env notin(dev),mackerel,! legacy",
                json!([
                    {"key": "team", "operator": "In", "values": ["shop", "web"]},
                    {"key": "env", "operator": "NotIn", "values": ["dev"]},
                    {"key": "mackerel", "operator": "Exists", "values": []},
                    {"key": "legacy", "operator": "DoesNotExist", "values": []},
                ]),
            ),
        ] {
            let selector: LabelSelector = text.parse().unwrap();
            assert_eq!(json!(selector.match_expressions), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for (text, expected) in [
            ("team,,tier", "`` has no key; use `key=value`"),
            (
                "team > 1",
                "`team > 1` is no condition on a label; use `key=value`",
            ),
            ("team in shop", "`team in shop` is no condition on a label"),
            (
                "team in (shop",
                "`team in (shop` is no condition on a label",
            ),
            ("a b=c", "`a b=c` is no condition on a label"),
            (
                "-a=b",
                "`-a=b` must be the name of a label or annotation, found `-a`",
            ),
            ("a='b'", "`a='b'` must be a label's value, found `'b'`"),
        ] {
            let message = text.parse::<LabelSelector>().unwrap_err();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }
}
