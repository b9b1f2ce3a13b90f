//! Workflow commands of GitHub Actions, which become annotations of a pull request.
//!
//! Source: "Workflow commands for GitHub Actions" in GitHub's documentation; the escapes are those of `@actions/core`.

use crate::diagnostic::{Severity, visible};
use crate::explain::{Explanation, RunError};

/// Returns a line for each finding, then for each error of the run:
/// `::error file=web.yaml,line=1,col=1,title=agent-missing::Deployment/shop/web: the agent would be added`,
/// `::error title=no-resources::deploy: the directory has no resources`.
pub(crate) fn github(explanation: &Explanation<'_>) -> String {
    let mut lines = String::new();
    for located in explanation.review_findings() {
        let reported = located.reported;
        let command = match reported.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        lines += &format!("::{command} ");
        if let Some(place) = located.review_place {
            let file = property(place.file.strip_prefix("./").unwrap_or(place.file));
            lines += &format!("file={file},line={},col={},", place.line, place.column);
        }
        lines += &format!("title={}::", property(reported.finding.reason.problem().id));
        if let Some(resource) = reported.subject.resource() {
            lines += &format!("{}: ", data(&resource.identity.short_name()));
        }
        lines += &data(&reported.finding.message_with_help());
        lines.push('\n');
    }
    for RunError { reason, message } in explanation.errors {
        lines += "::error";
        if let Some(reason) = reason {
            lines += &format!(" title={}", property(reason.id()));
        }
        lines += &format!("::{}\n", data(message));
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
