//! The findings of a run in numbers.

use crate::inject::row::Row;
use crate::options::Tense;
use report::{Class, Reason, Severity};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};

/// Returns `3 to add, 37 up to date, 28 left alone, 220 other resources, 40 warnings, 49 errors in 28 files`, and after the changes
/// `3 added`.
pub fn totals<'r>(
    rows: impl Iterator<Item = impl Borrow<Row<'r>>>,
    without_template: usize,
    tense: Tense,
) -> String {
    let mut done: BTreeMap<Reason, usize> = BTreeMap::new();
    let [mut left_alone, mut refused, mut warnings, mut errors] = [0; 4];
    let mut files = HashSet::new();
    for row in rows {
        let row = row.borrow();
        let reason = row.finding.reason;
        match (reason.class(), row.severity) {
            (Class::Done, _) if row.is_decision() => *done.entry(reason).or_default() += 1,
            (Class::Skipped, _) if row.is_decision() => left_alone += 1,
            (_, Severity::Error) => {
                errors += 1;
                if !row.file.is_empty() {
                    files.insert(row.file.to_string());
                }
            }
            (Class::Refused, Severity::Warning) if row.is_in_summary() => refused += 1,
            (_, Severity::Warning) => warnings += 1,
            _ => {}
        }
    }
    let mut parts: Vec<String> = done
        .iter()
        .map(|(reason, count)| format!("{count} {}", words(*reason, tense)))
        .collect();
    let known = done.values().sum::<usize>() + left_alone + refused + errors;
    if known == 0 && without_template > 0 {
        parts.push("no known pod template".to_owned());
    }
    for (count, words) in [(left_alone, "left alone"), (refused, "refused")] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    for (count, noun) in [
        (without_template, "other resource"),
        (warnings, "warning"),
        (errors, "error"),
    ] {
        if count > 0 {
            parts.push(plural(count, noun));
        }
    }
    if parts.is_empty() {
        return "no resources".to_owned();
    }
    let place = match files.len() {
        0 | 1 => String::new(),
        files => format!(" in {files} files"),
    };
    parts.join(", ") + &place
}

fn words(reason: Reason, tense: Tense) -> &'static str {
    match (reason, tense) {
        (Reason::Injected, Tense::Conditional) => "to add",
        (Reason::Updated, Tense::Conditional) => "to update",
        (Reason::Adopted, Tense::Conditional) => "to adopt",
        (Reason::Removed, Tense::Conditional) => "to remove",
        _ => reason.done().unwrap_or("up to date"),
    }
}

/// Returns `1 warning` or `2 warnings`.
pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
