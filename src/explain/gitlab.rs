//! A Code Quality report of GitLab, which a merge request compares with that of its target branch.
//!
//! Source: "Code Quality report format" in GitLab's documentation.

use injector::Row;
use report::Severity;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The place of what is in no file: GitLab ignores an entry without a path.
const REPOSITORY: &str = ".";

/// Returns an entry for each finding, errors first.
pub fn gitlab(rows: &[Row<'_>]) -> Value {
    // The numbers of entries that would have the same fingerprint, of which GitLab shows one only. They are given in the order of the
    // text, so that a new error does not change the others.
    let mut alike: HashMap<String, usize> = HashMap::new();
    let mut entries: Vec<(&Row<'_>, Value)> = Vec::new();
    for row in rows.iter().filter(|row| row.finding.reason.is_for_review()) {
        let place = row.place_in_file();
        let path = place.map_or(REPOSITORY, |_| &*row.file);
        let path = path.strip_prefix("./").unwrap_or(path).replace('\\', "/");
        let check_name = row.finding.reason.problem().id;
        let identity = [&path, check_name, &subject(row)].join("\0");
        let number = alike.entry(identity.clone()).or_default();
        let severity = match row.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        };
        let entry = json!({
            "description": row.sentence_in_file(),
            "check_name": check_name,
            "fingerprint": fingerprint(&format!("{identity}\0{number}")),
            "severity": severity,
            "location": {"path": path, "lines": {"begin": place.map_or(1, |at| at.line)}},
        });
        *number += 1;
        entries.push((row, entry));
    }
    entries.sort_by_key(|(row, _)| Reverse(row.severity));
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the subject in words that do not change when lines are moved.
fn subject(row: &Row<'_>) -> String {
    let pointer = &row.finding.pointer;
    match row.subject.resource() {
        Some(resource) => [&resource.identity.full_name(), resource.template, pointer].join("\0"),
        None if row.subject.is_in_text() => pointer.clone(),
        None => row.sentence(),
    }
}

/// Returns a hash that is the same on every machine and in every version: FNV-1a of 64 bits (Fowler, Noll and Vo).
fn fingerprint(text: &str) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    /// Test vectors of the hash's authors.
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, expected) in [
            ("", "cbf29ce484222325"),
            ("a", "af63dc4c8601ec8c"),
            ("foobar", "85944171f73967e8"),
        ] {
            assert_eq!(fingerprint(text), expected, "{text:?}");
        }
    }
}
