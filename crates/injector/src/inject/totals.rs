//! The findings of a run in numbers.

use crate::inject::row::Row;
use crate::options::Tense;
use report::{Reason, Severity};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Returns `3 injected`, `12 without pod template`, `1 immutable-template`, `2 warnings`.
pub fn totals<'r>(
    rows: impl Iterator<Item = impl Borrow<Row<'r>>>,
    without_template: usize,
    tense: Tense,
) -> Vec<String> {
    let mut decisions: BTreeMap<Reason, usize> = BTreeMap::new();
    let mut notes: BTreeMap<Reason, usize> = BTreeMap::new();
    let mut warnings = 0;
    for row in rows {
        let row = row.borrow();
        let reason = row.finding.reason;
        if row.is_in_summary() {
            *decisions.entry(reason).or_default() += 1;
        } else if reason.is_counted_only() && row.severity == Severity::Info && !row.is_acknowledged
        {
            *notes.entry(reason).or_default() += 1;
        }
        warnings += usize::from(row.severity == Severity::Warning);
    }
    let mut parts = tense.decisions(&decisions);
    if without_template > 0 {
        parts.push(format!("{without_template} without pod template"));
    }
    parts.extend(
        notes
            .iter()
            .map(|(reason, count)| format!("{count} {}", reason.id())),
    );
    if warnings > 0 {
        parts.push(plural(warnings, "warning"));
    }
    parts
}

/// Returns `1 warning` or `2 warnings`.
pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
