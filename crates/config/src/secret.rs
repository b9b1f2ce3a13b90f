//! Settings at which people write the API key itself: errors about them show neither the value nor its line.

use crate::violation::Violation;
use manifest::dotted_path::is_at_or_below;
use report::Place;

/// The help for a value in place of the name of the Secret.
const FORM: &str =
    "write `apiKey: {secretKeyRef: {name: SECRET, key: KEY}}`; the key itself is in that Secret";

/// Returns the violation by null in place of the Secret.
pub fn unset() -> Violation {
    Violation::new("cannot be unset").with_help(
        "remove it, and put the key into the Secret; for a key in the file of `agent.config`, set MACKEREL_APIKEY in `agent.env` by a secretKeyRef with `optional: true`",
    )
}

/// Returns true if the text at a setting may be a secret: the API key, or the value of a variable.
fn may_be_secret(path: &str) -> bool {
    ["apiKey", "agent.env"]
        .iter()
        .any(|setting| is_at_or_below(path, setting))
}

/// Returns the place of a setting as errors show it.
pub fn shown<'t>(path: &str, place: Place<'t>) -> Place<'t> {
    if may_be_secret(path) {
        place.without_text()
    } else {
        place
    }
}

/// Removes a value that may be a secret: `must be a string, found `a`` -> `must be a string`. The subject is empty for a setting
/// that does not exist.
pub fn hidden(path: &str, subject: &str, mut violation: Violation) -> Violation {
    if !may_be_secret(path) {
        return violation;
    }
    if subject.is_empty() {
        violation.what = format!("unknown setting in `{path}`");
    }
    for text in [&mut violation.what].into_iter().chain(&mut violation.help) {
        for value in [", found `", ": `"] {
            text.truncate(text.find(value).unwrap_or(text.len()));
        }
    }
    if is_at_or_below(path, "apiKey") {
        violation.help.get_or_insert_with(|| FORM.to_owned());
    }
    violation
}
