//! Quantities in settings.

use crate::config::violation::Violation;
use crate::manifest::quantity::nanos;

/// Checks that the text is a quantity and not negative.
pub(crate) fn check(text: &str) -> Result<(), Violation> {
    const HELP: &str = "for example `100m`, `0.5`, `64Mi` or `1Gi`";
    match nanos(text) {
        None => Err(Violation::new(format!("must be a quantity, found `{text}`")).with_help(HELP)),
        Some(value) if value < 0 => Err(Violation::new(format!(
            "must not be negative, found `{text}`"
        ))),
        Some(_) => Ok(()),
    }
}
