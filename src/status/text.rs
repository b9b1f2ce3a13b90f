//! The report as a table.

use crate::diagnostic::visible;
use crate::status::cause::Cause;
use crate::status::next_step::NextStep;
use crate::status::{Row, State, StatusReport};

/// Returns the rows with a problem, all rows if `is_verbose`, and a line of totals.
pub(crate) fn text(report: &StatusReport, is_verbose: bool) -> String {
    let mut lines = Vec::new();
    for row in &report.workloads {
        if is_verbose || row.state < State::Ready {
            lines.push(Line::of(row));
        }
    }
    let mut widths = [0; COLUMNS];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(&line.cells) {
            *width = cell.chars().count().min(MAX_WIDTH).max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        for (cell, width) in line.cells.iter().zip(widths) {
            text += &format!("{cell:width$}  ");
        }
        text += &line.rest;
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    text + &totals(report) + "\n"
}

/// Aligned columns: namespace, workload, number of pods, state.
const COLUMNS: usize = 4;
/// Characters of a cause that others than this program have written.
const MAX_CAUSE: usize = 120;
/// Characters of an aligned column, which one long name would make wide for all.
const MAX_WIDTH: usize = 60;

struct Line {
    cells: [String; COLUMNS],
    /// The cause and the next step.
    rest: String,
}

impl Line {
    fn of(row: &Row) -> Self {
        let workload = &row.workload;
        let pods = match row.pods.len() {
            1 => "1 pod".to_owned(),
            pods => format!("{pods} pods"),
        };
        let mut rest = row.cause.as_ref().map(Cause::text).unwrap_or_default();
        // The message of a kubelet may be an excerpt of a log.
        if row.state == State::NotReady
            && let Some((end, _)) = rest.char_indices().nth(MAX_CAUSE)
        {
            rest.truncate(end);
            rest.push('…');
        }
        if let Some(next) = &row.next {
            rest += match next {
                _ if rest.is_empty() => "",
                NextStep::Command(_) => "  ",
                NextStep::Advice(_) => "; ",
            };
            rest += next.text();
        }
        Self {
            cells: [
                shown(&workload.namespace),
                shown(&format!("{}/{}", workload.kind, workload.name)),
                pods,
                row.state.words().to_owned(),
            ],
            rest: shown(&rest),
        }
    }
}

/// Returns a text that neither breaks the line nor moves the cursor.
fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// `14 pods: 2 missed, 1 not ready, 11 ready`
fn totals(report: &StatusReport) -> String {
    let total: usize = report.summary.values().sum();
    let mut states = Vec::new();
    for (state, count) in &report.summary {
        if *count > 0 {
            states.push(format!("{count} {}", state.words()));
        }
    }
    let pods = if total == 1 { "pod" } else { "pods" };
    match states.is_empty() {
        true => format!("{total} {pods}"),
        false => format!("{total} {pods}: {}", states.join(", ")),
    }
}
