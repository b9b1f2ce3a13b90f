//! The unified diff of a text, made from the edits that are written.

use injector::plural;
use report::visible;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Component, Path};
use yaml_json_patch::edit::Edit;

/// Lines shown around a change, as git does.
const CONTEXT: usize = 3;

/// A replacement of whole lines.
#[derive(Debug)]
struct LineChange {
    /// Bytes of the old text; empty for an insertion, then at the start of a line or the end of the text.
    old: Range<usize>,
    /// Number of lines above it.
    line: usize,
    new: String,
}

/// The lines that diffs change: `+57 -1 lines in 2 files`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedLines {
    added: usize,
    removed: usize,
    files: usize,
}

impl ChangedLines {
    /// Returns them in words; none without a change.
    #[must_use]
    pub fn words(self) -> Option<String> {
        let lines: String = [('+', self.added), ('-', self.removed)]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(sign, count)| format!("{sign}{count} "))
            .collect();
        (self.files > 0).then(|| format!("{lines}lines in {}", plural(self.files, "file")))
    }
}

/// Returns the diff of one file, for `git apply` and `patch -p1`, and counts its lines; empty if nothing changes.
#[must_use]
pub fn unified(path: &Path, text: &str, edits: &[Edit], lines: &mut ChangedLines) -> String {
    let changes = changes(text, edits);
    let mut diff = String::new();
    if !changes.is_empty() {
        lines.files += 1;
        let _ = writeln!(diff, "--- {}", header('a', path));
        let _ = writeln!(diff, "+++ {}", header('b', path));
    }
    for LineChange { old, new, .. } in &changes {
        lines.added += new.lines().count();
        lines.removed += text[old.clone()].lines().count();
    }
    // Number of lines that earlier hunks added.
    let mut growth = 0;
    for hunk in changes.chunk_by(|change, next| share_context(text, change, next)) {
        growth += write_hunk(&mut diff, text, hunk, growth);
    }
    diff
}

/// Returns true if the context of two changes meets, so that they belong to one hunk.
fn share_context(text: &str, change: &LineChange, next: &LineChange) -> bool {
    text[change.old.end..next.old.start]
        .lines()
        .nth(2 * CONTEXT)
        .is_none()
}

/// `a/deploy/web.yaml`, quoted as git does: a tab ends a name with spaces; a name with bytes that a terminal should not get is in
/// quotes, and they are in octal.
fn header(side: char, path: &Path) -> String {
    let mut bytes = side.to_string().into_bytes();
    for part in path.components() {
        if let Component::Normal(_) | Component::ParentDir = part {
            bytes.push(b'/');
            bytes.extend(part.as_os_str().as_encoded_bytes());
        }
    }
    let name = String::from_utf8_lossy(&bytes);
    let is_plain = name.as_bytes() == bytes && visible(&name) == name;
    if is_plain && !name.contains(['"', '\\']) {
        let end = if name.contains(' ') { "\t" } else { "" };
        return name.into_owned() + end;
    }
    let mut quoted = String::from('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => quoted += &format!("\\{byte:03o}"),
        }
    }
    quoted + "\""
}

/// Returns the edits as changes of lines, without lines that stay the same.
fn changes(text: &str, edits: &[Edit]) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = Vec::new();
    let (mut counted, mut line) = (0, 0);
    for block in blocks(text, edits) {
        let ([first, .., last] | [first @ last]) = block else {
            continue;
        };
        let old = line_start(text, first.range.start)..line_end(text, last.range.end);
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..old.start]).count();
        counted = old.start;
        let new = edited(text, &old, block);
        let old_lines: Vec<&str> = text[old.clone()].split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            let start = old.start + length(&old_lines[..op.old_range().start]);
            let end = start + length(&old_lines[op.old_range()]);
            changes.push(LineChange {
                old: start..end,
                line: line + op.old_range().start,
                new: new_lines[op.new_range()].concat(),
            });
        }
    }
    changes
}

/// Returns the number of bytes of lines.
fn length(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len()).sum()
}

/// Groups edits that share a line. Only the text between two edits is searched, since a manifest may be one line of many
/// megabytes.
fn blocks<'e>(text: &'e str, edits: &'e [Edit]) -> impl Iterator<Item = &'e [Edit]> {
    edits.chunk_by(|one, next| !text[one.range.end..next.range.start].contains('\n'))
}

/// Returns a range of the text with the edits in it.
fn edited(text: &str, old: &Range<usize>, edits: &[Edit]) -> String {
    let mut new = String::new();
    let mut offset = old.start;
    for edit in edits {
        new.push_str(&text[offset..edit.range.start]);
        new.push_str(&edit.text);
        offset = edit.range.end;
    }
    new.push_str(&text[offset..old.end]);
    new
}

/// Writes changes that are near to each other with their context; returns the number of added lines.
fn write_hunk(diff: &mut String, text: &str, changes: &[LineChange], growth: isize) -> isize {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return 0;
    };
    let (mut start, mut end) = (first.old.start, last.old.end);
    for _ in 0..CONTEXT {
        start = line_start(text, start.saturating_sub(1));
        end = line_end(text, end);
    }
    let mut body = String::new();
    let (mut old_count, mut new_count) = (0, 0);
    let mut offset = start;
    for change in changes {
        let kept = write_with(&mut body, ' ', &text[offset..change.old.start]);
        let removed = write_with(&mut body, '-', &text[change.old.clone()]);
        let added = write_with(&mut body, '+', &change.new);
        old_count += kept + removed;
        new_count += kept + added;
        offset = change.old.end;
    }
    let kept = write_with(&mut body, ' ', &text[offset..end]);
    (old_count, new_count) = (old_count + kept, new_count + kept);
    let old_start = first.line - text[start..first.old.start].lines().count();
    let new_start = old_start.saturating_add_signed(growth);
    let _ = writeln!(
        diff,
        "@@ -{} +{} @@",
        span(old_start, old_count),
        span(new_start, new_count)
    );
    diff.push_str(&body);
    new_count.cast_signed() - old_count.cast_signed()
}

/// `7,3`; `7` for a single line, and `6,0` for no line after line 6.
fn span(lines_above: usize, count: usize) -> String {
    match count {
        0 => format!("{lines_above},0"),
        1 => format!("{}", lines_above + 1),
        _ => format!("{},{count}", lines_above + 1),
    }
}

/// Writes lines with a mark before each; returns their number.
fn write_with(body: &mut String, mark: char, lines: &str) -> usize {
    let mut count = 0;
    for line in lines.split_inclusive('\n') {
        body.push(mark);
        body.push_str(line);
        if !line.ends_with('\n') {
            body.push_str("\n\\ No newline at end of file\n");
        }
        count += 1;
    }
    count
}

/// Returns the start of the line of an offset.
fn line_start(text: &str, offset: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..offset]).map_or(0, |newline| newline + 1)
}

/// Returns the end of the line of an offset, with its line break.
fn line_end(text: &str, offset: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[offset..])
        .map_or(text.len(), |newline| offset + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn diff(text: &str, edits: &[(usize, usize, &str)]) -> String {
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(start, end, text)| Edit::replace(*start..*end, *text))
            .collect();
        unified(
            Path::new("w.yaml"),
            text,
            &edits,
            &mut ChangedLines::default(),
        )
    }

    #[test]
    fn changed_lines_are_counted() {
        let inserted = [Edit::insert(4, "\n++ x: 9\ny: 8")];
        let replaced = [Edit::replace(4..5, "7")];
        let texts: [(&str, &[Edit]); 3] = [
            ("c: 3\n", &[]),
            ("a: 1\nb: 2\n", &inserted),
            ("a: [1, 2]\n", &replaced),
        ];
        let mut lines = ChangedLines::default();
        let counted = texts.map(|(text, edits)| {
            let _ = unified(Path::new("w.yaml"), text, edits, &mut lines);
            lines.words()
        });
        let [none, two, all] = [
            None,
            Some("+2 lines in 1 file"),
            Some("+3 -1 lines in 2 files"),
        ];
        assert_eq!(counted.each_ref().map(Option::as_deref), [none, two, all]);
    }

    #[test]
    fn an_insertion_at_a_lines_end_shows_only_its_own_lines() {
        insta::assert_snapshot!(diff("a: 1\nb: 2\n", &[(4, 4, "\nx: 9")]), @r"
        --- a/w.yaml
        +++ b/w.yaml
        @@ -1,2 +1,3 @@
         a: 1
        +x: 9
         b: 2
        ");
    }

    #[test]
    fn two_edits_of_one_line_are_one_change() {
        insta::assert_snapshot!(diff("a: [1, 2]\n", &[(4, 5, "7"), (7, 8, "8")]), @r"
        --- a/w.yaml
        +++ b/w.yaml
        @@ -1 +1 @@
        -a: [1, 2]
        +a: [7, 8]
        ");
    }

    #[test]
    fn near_changes_share_a_hunk_and_far_ones_have_their_own() {
        let text: String = (1..=20).map(|n| format!("l{n}\n")).collect();
        let at = |line: usize| text.find(&format!("l{line}\n")).unwrap();
        insta::assert_snapshot!(
            diff(&text, &[(at(2), at(2), "x\n"), (at(9), at(9), "y\n"), (at(17), at(18), "")]), @r"
        --- a/w.yaml
        +++ b/w.yaml
        @@ -1,4 +1,5 @@
         l1
        +x
         l2
         l3
         l4
        @@ -6,6 +7,7 @@
         l6
         l7
         l8
        +y
         l9
         l10
         l11
        @@ -14,7 +16,6 @@
         l14
         l15
         l16
        -l17
         l18
         l19
         l20
        ");
    }

    #[test]
    fn a_missing_final_newline_and_crlf_are_kept() {
        assert_eq!(
            diff("a: 1\r\nb: 2", &[(4, 4, "\r\nx: 9"), (10, 10, "\ny: 8")]),
            "--- a/w.yaml\n+++ b/w.yaml\n@@ -1,2 +1,4 @@\n a: 1\r\n+x: 9\r\n-b: 2\n\\ No newline at end of file\n\
             +b: 2\n+y: 8\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn an_empty_text_can_grow() {
        assert_eq!(
            diff("", &[(0, 0, "a: 1\n")]),
            "--- a/w.yaml\n+++ b/w.yaml\n@@ -0,0 +1 @@\n+a: 1\n"
        );
    }

    #[test]
    fn nothing_to_change_is_no_diff() {
        assert_eq!(diff("a: 1\n", &[]), "");
        assert_eq!(diff("a: 1\n", &[(3, 4, "1")]), "");
    }

    #[test]
    fn names_are_those_that_git_apply_reads() {
        let cases = [
            ("./deploy/web.yaml", "a/deploy/web.yaml"),
            ("/srv/web.yaml", "a/srv/web.yaml"),
            ("../web.yaml", "a/../web.yaml"),
            ("my app/web.yaml", "a/my app/web.yaml\t"),
            ("日本.yaml", "a/日本.yaml"),
            ("a\"b\n.yaml", r#""a/a\"b\012.yaml""#),
            ("日\u{202e}.yaml", r#""a/\346\227\245\342\200\256.yaml""#),
        ];
        for (path, expected) in cases {
            assert_eq!(header('a', &PathBuf::from(path)), expected);
        }
    }
}
