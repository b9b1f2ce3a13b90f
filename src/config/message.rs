//! The errors of serde, in the words of the configuration.

use crate::config::schema;
use crate::config::violation::{Violation, listed, shown};
use crate::diagnostic::closest::closest;
use serde_json::Value as Json;

/// Rewrites an error about a value: another type, none of the words, a missing field, or the message of a check. `written` is the
/// value's text in the source.
pub(super) fn violation(
    message: &str,
    schema: Option<&Json>,
    value: &Json,
    written: &str,
) -> Violation {
    if let Some(field) = message.strip_prefix("missing field ") {
        return Violation::new(format!("needs {field}"));
    }
    let is_of_serde = message.starts_with("invalid ") || message.starts_with("unknown variant ");
    let Some(schema) = schema.filter(|_| is_of_serde) else {
        return Violation::of_message(message);
    };
    // Text that a check reads, too, may be one of many words.
    let is_text = schema.get("type").is_some();
    let words = if is_text {
        Vec::new()
    } else {
        schema::words(schema)
    };
    let types = schema::types(schema);
    let must_be = match types[..] {
        _ if !words.is_empty() => format!("one of {}", listed(&words)),
        ["integer"] => whole_number(schema),
        ["boolean"] => "`true` or `false`".to_owned(),
        ["array"] => "a list".to_owned(),
        ["object"] => "a mapping".to_owned(),
        ["string"] => "a string".to_owned(),
        _ => "a quantity".to_owned(),
    };
    let help = match (types.first(), value) {
        _ if !words.is_empty() => value.as_str().and_then(|text| word(text, &words)),
        (Some(&"array"), Json::String(_) | Json::Number(_) | Json::Bool(_))
            if written.len() < 80 =>
        {
            Some(format!("write it as a list: `[{written}]`"))
        }
        (Some(&"string"), Json::Number(_) | Json::Bool(_)) => {
            Some(format!("put it in quotes: `\"{written}\"`"))
        }
        (Some(&"string"), Json::Object(members)) if has_colon(schema) => without_blank(members),
        _ => None,
    };
    let is_unquoted = |text: &str| match types[..] {
        ["integer"] => text.parse::<u32>().is_ok(),
        ["boolean"] => text.parse::<bool>().is_ok(),
        _ => false,
    };
    let found = match value {
        Json::Null => "nothing",
        Json::Array(_) => "a list",
        Json::Object(_) => "a mapping",
        Json::String(text) if is_unquoted(text) && text != written => {
            let what = format!("must be {must_be}, found a string");
            return Violation::new(what).with_help(format!("write it without quotes: `{text}`"));
        }
        Json::String(_) if types == ["object"] => "a string",
        Json::String(text) if text.is_empty() => "an empty string",
        Json::String(text) => &format!("`{}`", shown(text)),
        _ => &format!("`{}`", shown(written)),
    };
    let what = format!("must be {must_be}, found {found}");
    Violation { what, help }
}

fn has_colon(schema: &Json) -> bool {
    schema["pattern"]
        .as_str()
        .is_some_and(|pattern| pattern.contains(':'))
}

fn whole_number(schema: &Json) -> String {
    match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        (Some(least @ 1..), Some(most)) => format!("a whole number from {least} to {most}"),
        (Some(least @ 1..), None) => format!("a whole number of at least {least}"),
        (_, Some(most)) => format!("a whole number up to {most}"),
        _ => "a whole number".to_owned(),
    }
}

/// `{shop: web}`, from `shop: web`, was meant to be text.
fn without_blank(members: &serde_json::Map<String, Json>) -> Option<String> {
    let mut members = members.iter();
    match (members.next()?, members.next()) {
        ((key, Json::String(value)), None) => {
            Some(format!("write it without the blank: `{key}:{value}`"))
        }
        _ => None,
    }
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
