//! Findings as Markdown, for the summary of a CI job. GitHub takes a summary of up to 1 MiB, so the table has an end.

use injector::{Row, errors_first, plural};
use report::visible;
use std::collections::BTreeSet;

/// The most rows of the table.
const MAX_ROWS: usize = 100;

/// Returns a table of the findings, errors first, and below it the command that makes the changes.
pub fn markdown(rows: &[Row<'_>], mend: Option<&str>) -> String {
    let rows = errors_first(rows.iter().filter(|row| row.finding.reason.is_for_review()));
    let mut text = "### Mackerel agent\n\n".to_owned();
    if rows.is_empty() {
        return text + "No findings.\n";
    }
    text += "| | where | resource | finding |\n| --- | --- | --- | --- |\n";
    for row in rows.iter().take(MAX_ROWS) {
        let resource = row
            .subject
            .resource()
            .map(|resource| resource.identity.short_name())
            .unwrap_or_default();
        let id = row.finding.reason.problem().id;
        let cells = [
            row.severity.name(),
            &place(row),
            &resource,
            &format!("{id}: {}", row.finding.message_with_help()),
        ]
        .map(escaped);
        text += &format!("| {} |\n", cells.join(" | "));
    }
    let others = rows.len().saturating_sub(MAX_ROWS);
    if others > 0 {
        text += &format!("\n… and {}\n", plural(others, "more finding"));
    }
    let is_changed = rows.iter().any(|row| row.finding.reason.done().is_some());
    // Four blanks make a code block that no text can end.
    if let (Some(command), true) = (mend, is_changed) {
        text += &format!("\nThis changes the files:\n\n    {}\n", visible(command));
    }
    let ids: BTreeSet<&str> = rows
        .iter()
        .map(|row| row.finding.reason.problem().id)
        .collect();
    text += "\nThese explain the findings:\n\n";
    for id in ids {
        text += &format!("    mackerel-agent-injector explain --reason {id}\n");
    }
    text
}

/// Returns the file and line.
fn place(row: &Row<'_>) -> String {
    match row.review_place() {
        Some(at) => format!("{}:{}", row.file, at.line),
        None => row.file.clone().into_owned(),
    }
}

/// Escapes a text of a table, so that it is no markup, link or mention.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in visible(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '&' | '$' => {
                escaped.extend(['\\', character]);
            }
            _ => escaped.push(character),
        }
    }
    // An empty comment divides a mention, an address or a link; an escaped character would be one of them still.
    escaped
        .replace('@', "@<!-- -->")
        .replace("://", ":<!-- -->//")
        .replace("www.", "www<!-- -->.")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_is_markup_or_ends_its_cell() {
        for (text, expected) in [
            ("a|b`c`\n", "a\\|b\\`c\\`␊"),
            ("<img src=x>", "&lt;img src=x>"),
            (
                "[x](https://a) @team",
                "\\[x\\](https:<!-- -->//a) @<!-- -->team",
            ),
            ("www.a.io", "www<!-- -->.a.io"),
            ("\\|", "\\\\\\|"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
