//! The errors of serde, in the words of the configuration.

use crate::kubernetes::whole_number;
use crate::read::Refusal;
use crate::values::Value;
use crate::violation::{Violation, listed, shown};
use report::closest;

/// Rewrites an error about the value at a path: another type, none of the words, a missing field, or the message of a check. `written` is
/// the value's text in the source.
pub(super) fn violation(refusal: Refusal, path: &str, value: &Value, written: &str) -> Violation {
    let (must_be, words) = match refusal {
        Refusal::Missing(field) => return Violation::new(format!("needs `{field}`")),
        Refusal::Check(violation) => return violation,
        Refusal::Word(words) => (format!("one of {}", listed(words)), words),
        Refusal::Type(expected) => (in_words(&expected, path), &[][..]),
    };
    let help = match (&*must_be, value) {
        (_, Value::Text(text)) if !words.is_empty() => word(text, words),
        ("a list", Value::Text(_) | Value::Number(_) | Value::Bool(_)) if written.len() < 80 => {
            Some(format!("write it as a list: `[{written}]`"))
        }
        ("a string" | "a quantity", Value::Number(_) | Value::Bool(_)) => {
            Some(format!("put it in quotes: `\"{written}\"`"))
        }
        // `{shop: web}`, from `shop: web`, was meant to be text.
        ("a string", Value::Mapping(members)) if has_colon(path) && members.len() == 1 => {
            members.first().and_then(|(key, node)| match &node.value {
                Value::Text(text) => Some(format!("write it without the blank: `{key}:{text}`")),
                _ => None,
            })
        }
        _ => None,
    };
    let is_unquoted = |text: &str| match &*must_be {
        "`true` or `false`" => text.parse::<bool>().is_ok(),
        must_be => must_be.starts_with("a whole number") && text.parse::<u32>().is_ok(),
    };
    let found = match value {
        Value::Null | Value::Asked => "nothing",
        Value::List(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Text(text) if is_unquoted(text) && text != written => {
            let what = format!("must be {must_be}, found a string");
            return Violation::new(what).with_help(format!("write it without quotes: `{text}`"));
        }
        Value::Text(_) if must_be == "a mapping" => "a string",
        Value::Text(text) if text.is_empty() => "an empty string",
        Value::Text(text) => &format!("`{}`", shown(text)),
        Value::Bool(_) | Value::Number(_) => &format!("`{}`", shown(written)),
    };
    let what = format!("must be {must_be}, found {found}");
    Violation { what, help }
}

/// Returns the words of serde for a type in those of a user.
fn in_words(expected: &str, path: &str) -> String {
    let words = match expected {
        "a nonzero u16" => "a whole number from 1 to 65535",
        "a nonzero u32" => "a whole number of at least 1",
        // The lifetime of a token.
        "u32" => "a whole number from 600 to 4294967295",
        "i32" | "i64" | "a 32-bit integer" | "IntOrString" => return whole_number(path),
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a string" => expected,
        "Quantity" => "a quantity",
        _ => "a mapping",
    };
    words.to_owned()
}

/// Returns true for a setting whose text has a colon.
fn has_colon(path: &str) -> bool {
    let ends = ["apiBase", "displayName", "image", "location", "memo"];
    ends.iter().any(|end| path.ends_with(end)) || path.starts_with("agent.roles[")
}

/// Returns the help for a word that is none of the choices.
fn word(text: &str, words: &[&str]) -> Option<String> {
    let is_cloud = ["aks", "eks", "gke"]
        .iter()
        .any(|cloud| text.eq_ignore_ascii_case(cloud));
    // `WARN` for `WARNING`
    let is_begun =
        |word: &&&str| text.len() > 2 && word.to_lowercase().starts_with(&text.to_lowercase());
    match closest(text, words.iter().copied()) {
        // Not `eks-fargate`, which `eks` begins.
        None if is_cloud && words.contains(&"eks-fargate") => {
            Some("for nodes of AKS, EKS or GKE, use `kubernetes`".to_owned())
        }
        near => {
            let near = near.or_else(|| words.iter().find(is_begun).copied())?;
            Some(format!("did you mean `{near}`?"))
        }
    }
}
