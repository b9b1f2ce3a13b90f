//! The report as a table.

use crate::cause::Cause;
use crate::container::Restarts;
use crate::next_step::NextStep;
use crate::reporter::{Row, StatusReport, Summary};
use crate::state::State;
use injector::plural;
use report::{columns, visible};

/// Returns the rows, those with a problem first.
pub fn text(report: &StatusReport) -> String {
    let workloads = &report.summary.workloads;
    if workloads.is_empty() && report.summary.pods_with_running_agent == 0 {
        return "no pod of the input has or is to have the agent\n".to_owned();
    }
    let lines: Vec<Line> = report.workloads.iter().map(Line::of).collect();
    let mut widths = [0; COLUMNS];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(&line.cells) {
            *width = columns(cell).min(MAX_WIDTH).max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        for (cell, width) in line.cells.iter().zip(widths) {
            text += &format!("{cell}{:1$}  ", "", width.saturating_sub(columns(cell)));
        }
        text += &line.rest;
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    if !workloads.is_empty() {
        text.push('\n');
    }
    text + &counts(&report.summary)
}

/// Aligned columns: namespace, workload, number of pods, state.
const COLUMNS: usize = 4;
/// Characters of a cause that others than this program have written.
const MAX_CAUSE: usize = 120;
/// Characters of an aligned column, which one long name would make wide for all.
const MAX_WIDTH: usize = 60;

struct Line {
    cells: [String; COLUMNS],
    /// The cause, the restarts and the next step.
    rest: String,
}

impl Line {
    fn of(row: &Row) -> Self {
        let workload = &row.workload;
        let mut rest = cause(row);
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
                plural(row.pods.len(), "pod"),
                row.state.words().to_owned(),
            ],
            rest: shown(&rest),
        }
    }
}

/// Returns the cause of a row's state, and the restarts.
pub fn cause(row: &Row) -> String {
    let mut cause = row.cause.as_ref().map(Cause::text).unwrap_or_default();
    // The message of a kubelet may be an excerpt of a log.
    if row.state == State::NotReady
        && let Some((end, _)) = cause.char_indices().nth(MAX_CAUSE)
    {
        cause.truncate(end);
        cause.push('…');
    }
    if let Some(Restarts { count, reason }) = &row.restarts {
        let separator = if cause.is_empty() { "" } else { "; " };
        cause += &format!("{separator}{}, last: {reason}", plural(*count, "restart"));
    }
    cause
}

/// Returns the line of counts.
pub fn counts(summary: &Summary) -> String {
    let Summary {
        workloads,
        pods_with_running_agent: running,
    } = summary;
    let mut text = String::new();
    if !workloads.is_empty() {
        let states: Vec<String> = workloads
            .iter()
            .map(|(state, count)| format!("{count} {}", state.words()))
            .collect();
        text = format!("workloads: {}; ", states.join(", "));
    }
    text + &format!("pods with a running agent: {running}\n")
}

/// Returns a text that neither breaks the line nor moves the cursor.
fn shown(text: &str) -> String {
    visible(text).into_owned()
}
