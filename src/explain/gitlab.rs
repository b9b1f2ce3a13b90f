//! A Code Quality report of GitLab, which a merge request compares with that of its target branch.
//!
//! Source: "Code Quality report format" in GitLab's documentation.

use crate::diagnostic::Severity;
use crate::explain::{Explanation, LocatedFinding, RunError};
use crate::report::Reason;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Returns an entry for each finding, then for each error of the run.
pub(crate) fn gitlab(explanation: &Explanation<'_>) -> Value {
    let mut report = Report::default();
    for located in explanation.review_findings() {
        report.add(Entry::of_finding(located));
    }
    for error in explanation.errors {
        report.add(Entry::of_error(error));
    }
    Value::from(report.entries)
}

/// The place of what is in no file: GitLab ignores an entry without a path.
const REPOSITORY: &str = ".";

/// An entry of the report without its fingerprint.
struct Entry<'e> {
    description: String,
    check_name: &'static str,
    severity: Severity,
    path: &'e str,
    line: usize,
    /// The subject in words that do not change when lines are moved.
    subject: String,
}

impl<'e> Entry<'e> {
    fn of_finding(located: &'e LocatedFinding<'_>) -> Self {
        let reported = located.reported;
        let finding = reported.finding;
        let mut description = finding.message_with_help();
        let mut subject = finding.pointer.clone();
        if let Some(resource) = reported.subject.resource() {
            let name = resource.identity.short_name();
            description = format!("{name}: {description}");
            let (name, template) = (resource.identity.full_name(), resource.template);
            subject = [&name, template, &finding.pointer].join("\0");
        }
        let place = located.review_place;
        Entry {
            description,
            check_name: finding.reason.problem().id,
            severity: reported.severity,
            path: place.map_or(REPOSITORY, |place| place.file),
            line: place.map_or(1, |place| place.line),
            subject,
        }
    }

    fn of_error(error: &RunError) -> Self {
        Entry {
            description: error.message.clone(),
            check_name: error.reason.map_or("error", Reason::id),
            severity: Severity::Error,
            path: REPOSITORY,
            line: 1,
            subject: error.message.clone(),
        }
    }
}

#[derive(Default)]
struct Report {
    entries: Vec<Value>,
    /// Numbers of entries that would have the same fingerprint. GitLab shows one of them only.
    alike: HashMap<String, usize>,
}

impl Report {
    fn add(&mut self, entry: Entry<'_>) {
        let path = entry.path.strip_prefix("./").unwrap_or(entry.path);
        let path = path.replace('\\', "/");
        let identity = [&path, entry.check_name, &entry.subject].join("\0");
        let alike = self.alike.entry(identity.clone()).or_default();
        let fingerprint = fingerprint(&format!("{identity}\0{alike}"));
        *alike += 1;
        let severity = match entry.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        };
        self.entries.push(json!({
            "description": entry.description,
            "check_name": entry.check_name,
            "fingerprint": fingerprint,
            "severity": severity,
            "location": {"path": path, "lines": {"begin": entry.line}},
        }));
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
