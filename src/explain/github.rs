//! Workflow commands of GitHub Actions, which become annotations of a pull request.
//!
//! Source: "Workflow commands for GitHub Actions" in GitHub's documentation; the escapes are those of `@actions/core`.

use injector::{Row, errors_first};
use report::{Severity, visible};

/// Returns a line for each finding:
/// `::error file=web.yaml,line=1,col=1,title=agent-missing::Deployment/shop/web: the agent would be added`,
/// `::error title=no-resources::deploy: the directory has no resources`.
pub fn github(rows: &[Row<'_>]) -> String {
    let rows = rows.iter().filter(|row| row.finding.reason.is_for_review());
    let mut lines = String::new();
    for row in errors_first(rows) {
        let command = match row.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        lines += &format!("::{command} ");
        if let Some(at) = row.place_in_file() {
            let file = property(row.file.strip_prefix("./").unwrap_or(&row.file));
            lines += &format!("file={file},line={},col={},", at.line, at.column);
        }
        let title = property(row.finding.reason.problem().id);
        lines += &format!("title={title}::{}\n", data(&row.sentence_in_file()));
    }
    lines
}

/// Escapes the message of a command.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25")
}

/// Escapes a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn no_text_ends_its_command() {
        assert_eq!(data("50%: a,\r\nb"), "50%25: a,␍␊b");
        assert_eq!(property("a: b, 50%.yaml"), "a%3A b%2C 50%25.yaml");
    }
}
