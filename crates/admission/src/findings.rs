//! The warnings of an answer.

use report::{Class, Finding, visible};

/// The API server drops longer warnings.
const MAX_WARNING: usize = 256;

/// The API server drops the warnings that exceed this sum.
const MAX_WARNINGS: usize = 4096;

/// Findings that an answer shows.
const MAX_FINDINGS: usize = 16;

/// The findings of a review: those that the answer shows, and their number.
#[derive(Debug, Default)]
pub struct Findings {
    refusals: Vec<Finding>,
    warnings: Vec<Finding>,
    number: usize,
}

impl Findings {
    /// Returns the first one, a refusal if there is any.
    pub fn first(&self) -> Option<&Finding> {
        self.refusals.first().or(self.warnings.first())
    }

    /// Returns as many warnings as the API server takes. The last one has the number of those left out.
    pub fn shown(&self) -> Vec<String> {
        let mut room = MAX_WARNINGS - "and 18446744073709551615 more findings".len();
        let mut shown = Vec::new();
        for finding in self
            .refusals
            .iter()
            .chain(&self.warnings)
            .take(MAX_FINDINGS)
        {
            let warning = cut(warning(finding));
            let Some(left) = room.checked_sub(warning.len()) else {
                break;
            };
            room = left;
            shown.push(warning);
        }
        match self.number - shown.len() {
            0 => {}
            1 => shown.push("and 1 more finding".to_owned()),
            rest => shown.push(format!("and {rest} more findings")),
        }
        shown
    }
}

impl Extend<Finding> for Findings {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, findings: I) {
        for finding in findings {
            self.number += 1;
            let list = if finding.reason.class() == Class::Refused {
                &mut self.refusals
            } else {
                &mut self.warnings
            };
            if list.len() < MAX_FINDINGS {
                list.push(finding);
            }
        }
    }
}

impl FromIterator<Finding> for Findings {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        let mut all = Self::default();
        all.extend(findings);
        all
    }
}

/// Returns `id: what; what to do`. The API server drops warnings with control characters.
pub fn warning(finding: &Finding) -> String {
    let line = format!("{}: {}", finding.reason.id(), finding.message_with_help());
    visible(&line.replace('\n', " ")).into_owned()
}

fn cut(mut warning: String) -> String {
    const MARK: &str = "...";
    if warning.len() > MAX_WARNING {
        let mut end = MAX_WARNING - MARK.len();
        while !warning.is_char_boundary(end) {
            end -= 1;
        }
        warning.truncate(end);
        warning += MARK;
    }
    warning
}
