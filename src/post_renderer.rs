//! The post-renderer of Helm.
//!
//! Its stream differs from others in one point: Helm 4 treats blank output as a failure, but the input is blank for a chart
//! without objects, and with `helm template --output-dir` of Helm 3.

use config::Config;
use injector::{Injection, Options, inject};
use yaml_json_patch::edit::Edit;

/// The output for a blank stream.
pub const NOTHING: &str = "# mackerel-agent-injector: no manifests\n";

/// Injects a rendered chart.
pub fn render(text: &str, config: &Config, options: Options) -> Injection {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let edits = vec![Edit::replace(0..text.len(), NOTHING)];
        return Injection {
            edits,
            ..Injection::default()
        };
    }
    inject(text, config, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml_json_patch::edit::apply;

    fn rendered(text: &str) -> String {
        apply(
            text,
            &render(text, &Config::default(), Options::default()).edits,
        )
    }

    #[test]
    fn blank_input_is_one_comment_line() {
        for blank in ["", "\n", " \r\n\t\n", "\u{feff}"] {
            assert_eq!(rendered(blank), NOTHING);
        }
    }

    #[test]
    fn comments_are_no_blank_input() {
        let hidden = "---\n# Source: web/templates/secret.yaml\n# HIDDEN: The Secret output has been suppressed\n";
        assert_eq!(rendered(hidden), hidden);
    }
}
