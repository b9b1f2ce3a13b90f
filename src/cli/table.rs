//! The list of a run on a terminal: one row for each workload, behind a mark.
//!
//! ```text
//!   +! Deployment/balancereader  shop  src/balancereader.yaml:15
//!   .  CronJob/report                  src/report.yaml:1           opted-out
//! ```

use injector::Row;
use report::{Class, Colour, Reason, columns, visible};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

/// Rows of a list that is not folded.
const MAX_ROWS: usize = 40;
/// Rows alike that a longer list shows one by one.
const MAX_ALIKE: usize = 5;
/// Folders or namespaces that a folded row names.
const MAX_REGIONS: usize = 4;

/// Columns of a terminal for a list; a narrower one shows lines.
const MIN_COLUMNS: u16 = 60;

/// Returns true if stdout is a terminal that is wide enough for a list.
pub fn fits() -> bool {
    io::stdout().is_terminal()
        && terminal_size::terminal_size().is_none_or(|(width, _)| width.0 >= MIN_COLUMNS)
}

/// A workload of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workload {
    pub mark: char,
    pub has_warning: bool,
    pub name: String,
    pub namespace: String,
    /// The folder, with a `/` at its end, or the namespace by which a folded row counts.
    pub region: String,
    /// The file and line, or the number of pods.
    pub place: String,
    /// In words, if those alike are folded whatever the last column has.
    pub state: &'static str,
    /// The rule or the id, where the mark does not say it.
    pub why: String,
    /// A command on a line of its own.
    pub below: String,
}

impl Workload {
    /// Returns the workload of a decision; none for another row.
    pub fn of(row: &Row<'_>, has_warning: bool, why: String) -> Option<Self> {
        let resource = row.subject.resource().filter(|_| row.is_decision())?;
        let identity = resource.identity;
        let line = row.resource_place.map(|at| format!(":{}", at.line));
        let folder = match row.file.rfind('/') {
            _ if !row.is_in_file() => "",
            Some(end) => &row.file[..=end],
            None => "./",
        };
        Some(Self {
            mark: mark(row.finding.reason),
            has_warning,
            name: format!("{}/{}", identity.kind, identity.name),
            namespace: identity.namespace.clone().unwrap_or_default(),
            region: folder.to_owned(),
            place: row.file.clone().into_owned() + &line.unwrap_or_default(),
            why,
            ..Self::default()
        })
    }

    /// Returns what those that are folded into one row have in common.
    fn kind(&self) -> (char, &str, &str) {
        let why = if self.state.is_empty() {
            &*self.why
        } else {
            ""
        };
        (self.mark, self.state, why)
    }
}

fn mark(reason: Reason) -> char {
    match reason {
        Reason::Injected | Reason::Adopted => '+',
        Reason::Updated => '~',
        Reason::Removed => '-',
        Reason::Unchanged => '=',
        reason if reason.class() == Class::Refused => 'x',
        _ => '.',
    }
}

/// Returns the list with a blank line below it; where it is long, those alike are one row each.
pub fn table(workloads: &[Workload], colour: Colour) -> String {
    let mut alike: BTreeMap<_, Vec<&Workload>> = BTreeMap::new();
    for workload in workloads {
        alike.entry(workload.kind()).or_default().push(workload);
    }
    alike.retain(|(mark, ..), alike| {
        // Each problem is looked at by itself.
        let max = if *mark == 'x' { MAX_ROWS } else { MAX_ALIKE };
        workloads.len() > MAX_ROWS && alike.len() > max
    });
    let rows: Vec<&Workload> = workloads
        .iter()
        .filter(|workload| !alike.contains_key(&workload.kind()))
        .collect();
    let cells = |row: &Workload| {
        let cells = [&*row.name, &row.namespace, &row.place, row.state, &row.why];
        cells.map(|cell| visible(cell).into_owned())
    };
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(cells(row)) {
            *width = columns(&cell).max(*width);
        }
    }
    // The column says nothing where all of its cells are the same; but a living workload is found by its namespace.
    let is_same = |row: &Workload| row.namespace == workloads[0].namespace && row.state.is_empty();
    if workloads.iter().all(is_same) {
        widths[1] = 0;
    }
    let mut lines = String::new();
    for row in workloads {
        if let Some(folded) = alike.get_mut(&row.kind()) {
            // The first of them stands for all.
            let workloads = std::mem::take(folded);
            if !workloads.is_empty() {
                let has_warning = workloads.iter().any(|workload| workload.has_warning);
                let (mark, state, why) = row.kind();
                let row = [&*self::folded(state, &workloads), why].join("  ");
                lines += &line(mark, has_warning, &row, colour);
            }
            continue;
        }
        let cells: Vec<String> = cells(row)
            .iter()
            .zip(widths)
            .filter(|(_, width)| *width > 0)
            .map(|(cell, width)| format!("{cell}{:1$}", "", width - columns(cell)))
            .collect();
        lines += &line(row.mark, row.has_warning, &cells.join("  "), colour);
        if !row.below.is_empty() {
            lines += &format!("     {}\n", visible(&row.below));
        }
    }
    // The messages follow.
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}

fn line(mark: char, has_warning: bool, row: &str, colour: Colour) -> String {
    let code = match mark {
        '+' | '=' => "32",
        '~' => "33",
        'x' | '-' => "31",
        _ => "2",
    };
    let mark = mark.to_string();
    let warning = if has_warning { "!" } else { " " };
    let (mark, warning) = (colour.paint(&mark, code), colour.paint(warning, "33"));
    format!("  {mark}{warning} {}\n", row.trim_end())
}

/// `308 workloads: 166 in pkg/, 78 in samples/, 64 elsewhere`; of a folder within another, `6 workloads in k8s/: 4 in a/, 2 in b/`
fn folded(state: &str, workloads: &[&Workload]) -> String {
    let depth = common_folders(workloads);
    let mut regions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut common = "";
    for Workload { region, .. } in workloads {
        let ends: Vec<usize> = region.match_indices('/').map(|(at, _)| at + 1).collect();
        let start = depth
            .checked_sub(1)
            .and_then(|last| ends.get(last))
            .copied()
            .unwrap_or(0);
        let end = ends.get(depth).copied().unwrap_or(region.len());
        common = &region[..start];
        *regions.entry(&region[start..end]).or_default() += 1;
    }
    let mut regions: Vec<(&str, usize)> = regions.into_iter().collect();
    regions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = regions
        .iter()
        .skip(MAX_REGIONS)
        .map(|(_, count)| count)
        .sum();
    let mut parts: Vec<String> = regions
        .iter()
        .take(MAX_REGIONS)
        .filter(|(region, _)| !region.is_empty())
        .map(|(region, count)| format!("{count} in {}", visible(region)))
        .collect();
    if others > 0 {
        parts.push(format!("{others} elsewhere"));
    }
    let mut row = format!("{} workloads", workloads.len());
    if !state.is_empty() {
        row += &format!(" {state}");
    }
    if !common.is_empty() {
        row += &format!(" in {}", visible(common));
    }
    if !parts.is_empty() {
        row += &format!(": {}", parts.join(", "));
    }
    row + " (`-v` lists them)"
}

/// Returns the number of folders that all of the files are in.
fn common_folders(workloads: &[&Workload]) -> usize {
    let folders = |workload: &'_ Workload| -> Vec<String> {
        let folders = workload.region.strip_suffix('/').into_iter();
        folders
            .flat_map(|all| all.split('/'))
            .map(str::to_owned)
            .collect()
    };
    let mut all = workloads.iter().map(|workload| folders(workload));
    let Some(mut common) = all.next() else {
        return 0;
    };
    for folders in all {
        let same = common
            .iter()
            .zip(&folders)
            .take_while(|(one, other)| one == other);
        common.truncate(same.count());
    }
    common.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(mark: char, file: &str, why: &str) -> Workload {
        Workload {
            mark,
            has_warning: mark == '~',
            name: "Deployment/web".to_owned(),
            region: file.rfind('/').map_or("./", |end| &file[..=end]).to_owned(),
            place: format!("{file}:1"),
            why: why.to_owned(),
            ..Workload::default()
        }
    }

    #[test]
    fn a_column_without_a_cell_is_left_out() {
        let rows = [
            workload('+', "a.yaml", ""),
            workload('~', "long/name.yaml", ""),
            workload('.', "b.yaml", "opted-out"),
        ];
        assert_eq!(
            table(&rows, Colour::Never),
            "  +  Deployment/web  a.yaml:1\n  \
               ~! Deployment/web  long/name.yaml:1\n  \
               .  Deployment/web  b.yaml:1          opted-out\n\n"
        );
        assert_eq!(table(&[], Colour::Never), "");
    }

    #[test]
    fn a_wide_character_has_two_columns() {
        let rows = [
            workload('.', "本番.yaml", "opted-out"),
            workload('.', "b.yaml", "opted-out"),
        ];
        assert_eq!(
            table(&rows, Colour::Never),
            "  .  Deployment/web  本番.yaml:1  opted-out\n  \
               .  Deployment/web  b.yaml:1     opted-out\n\n"
        );
    }

    #[test]
    fn a_long_list_has_one_row_for_those_alike() {
        let mut rows: Vec<Workload> = (0..35)
            .map(|at| workload('+', &format!("k8s/{}/{at}.yaml", at % 7), ""))
            .collect();
        rows.extend((0..6).map(|_| workload('.', "k8s/web.yaml", "opted-out")));
        rows.push(workload('=', "k8s/web.yaml", ""));
        assert_eq!(
            table(&rows, Colour::Never),
            "  +  35 workloads in k8s/: 5 in 0/, 5 in 1/, 5 in 2/, 5 in 3/, 15 elsewhere (`-v` lists them)\n  \
               .  6 workloads in k8s/ (`-v` lists them)  opted-out\n  \
               =  Deployment/web  k8s/web.yaml:1\n\n"
        );
    }
}
