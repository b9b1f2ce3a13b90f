//! The list of a run on a terminal: one row for each workload, behind a mark.
//!
//! ```text
//!   +! Deployment/balancereader  shop  src/balancereader.yaml:15
//!   .  CronJob/report                  src/report.yaml:1           opted-out
//! ```

use injector::Row;
use report::{Class, Colour, Reason, visible};
use std::collections::BTreeMap;

/// Rows of a list that is not folded.
const MAX_ROWS: usize = 40;
/// Rows alike that a longer list shows one by one.
const MAX_ALIKE: usize = 5;
/// Folders that a folded row names.
const MAX_FOLDERS: usize = 4;

/// A workload of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    mark: char,
    has_warning: bool,
    name: String,
    namespace: String,
    file: String,
    place: String,
    /// What is not said by the mark.
    why: String,
}

impl Workload {
    /// Returns the workload of a decision; none for another row.
    pub fn of(row: &Row<'_>, has_warning: bool, why: String) -> Option<Self> {
        let resource = row.subject.resource().filter(|_| row.is_decision())?;
        let identity = resource.identity;
        let line = row.resource_place.map(|at| format!(":{}", at.line));
        Some(Self {
            mark: mark(row.finding.reason),
            has_warning,
            name: visible(&format!("{}/{}", identity.kind, identity.name)).into_owned(),
            namespace: visible(identity.namespace.as_deref().unwrap_or_default()).into_owned(),
            file: row.file.clone().into_owned(),
            place: visible(&row.file).into_owned() + &line.unwrap_or_default(),
            why: visible(&why).into_owned(),
        })
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
    let mut alike: BTreeMap<(char, &str), Vec<&Workload>> = BTreeMap::new();
    for workload in workloads {
        let key = (workload.mark, &*workload.why);
        alike.entry(key).or_default().push(workload);
    }
    alike.retain(|_, alike| workloads.len() > MAX_ROWS && alike.len() > MAX_ALIKE);
    let mut lines = String::new();
    for ((mark, why), workloads) in &alike {
        let has_warning = workloads.iter().any(|workload| workload.has_warning);
        let row = [&*folded(workloads), why].join("  ");
        lines += &line(*mark, has_warning, &row, colour);
    }
    let rows: Vec<&Workload> = workloads
        .iter()
        .filter(|workload| !alike.contains_key(&(workload.mark, &*workload.why)))
        .collect();
    let width = |of: fn(&Workload) -> &str| {
        let widths = rows.iter().map(|row| of(row).chars().count());
        widths.max().unwrap_or_default()
    };
    // A column says nothing where all of its cells are the same.
    let is_same = rows.iter().all(|row| row.namespace == rows[0].namespace);
    let [name, namespace, place] = [
        width(|row| &row.name),
        if is_same {
            0
        } else {
            width(|row| &row.namespace)
        },
        width(|row| &row.place),
    ];
    for row in rows {
        let cells = [
            (&row.name, name),
            (&row.namespace, namespace),
            (&row.place, place),
            (&row.why, row.why.len()),
        ];
        let cells: Vec<String> = cells
            .iter()
            .filter(|(_, width)| *width > 0)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        lines += &line(row.mark, row.has_warning, &cells.join("  "), colour);
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

/// `308 workloads: 166 in pkg/, 78 in samples/, 64 elsewhere`
fn folded(workloads: &[&Workload]) -> String {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    let depth = common_folders(workloads);
    for workload in workloads {
        let mut ends = workload.file.match_indices('/').map(|(at, _)| at + 1);
        let end = ends
            .nth(depth)
            .or_else(|| Some(workload.file.rfind('/')? + 1));
        let folder = end.map_or("./", |end| &workload.file[..end]);
        *folders.entry(folder).or_default() += 1;
    }
    let mut folders: Vec<(&str, usize)> = folders.into_iter().collect();
    folders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = folders
        .iter()
        .skip(MAX_FOLDERS)
        .map(|(_, count)| count)
        .sum();
    let mut parts: Vec<String> = folders
        .iter()
        .take(MAX_FOLDERS)
        .map(|(folder, count)| format!("{count} in {}", visible(folder)))
        .collect();
    if others > 0 {
        parts.push(format!("{others} elsewhere"));
    }
    format!("{} workloads: {}", workloads.len(), parts.join(", "))
}

/// Returns the number of folders that all of the files are in.
fn common_folders(workloads: &[&Workload]) -> usize {
    let folders = |workload: &Workload| -> Vec<String> {
        let folders = workload.file.rsplit_once('/').map(|(folders, _)| folders);
        folders
            .into_iter()
            .flat_map(|all| all.split('/'))
            .map(str::to_owned)
            .collect()
    };
    let mut all = workloads.iter().map(|workload| folders(workload));
    let Some(first) = all.next() else { return 0 };
    all.fold(first, |common, folders| {
        let same = common
            .iter()
            .zip(&folders)
            .take_while(|(one, other)| one == other);
        let same = same.count();
        common.into_iter().take(same).collect()
    })
    .len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(mark: char, file: &str, why: &str) -> Workload {
        Workload {
            mark,
            has_warning: mark == '~',
            name: "Deployment/web".to_owned(),
            namespace: String::new(),
            file: file.to_owned(),
            place: format!("{file}:1"),
            why: why.to_owned(),
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
    fn a_long_list_has_one_row_for_those_alike() {
        let mut rows: Vec<Workload> = (0..35)
            .map(|at| workload('+', &format!("k8s/{}/{at}.yaml", at % 7), ""))
            .collect();
        rows.extend((0..6).map(|_| workload('x', "k8s/web.yaml", "uneditable")));
        rows.push(workload('=', "k8s/web.yaml", ""));
        assert_eq!(
            table(&rows, Colour::Never),
            "  +  35 workloads: 5 in k8s/0/, 5 in k8s/1/, 5 in k8s/2/, 5 in k8s/3/, 15 elsewhere\n  \
               x  6 workloads: 6 in k8s/  uneditable\n  \
               =  Deployment/web  k8s/web.yaml:1\n\n"
        );
    }
}
