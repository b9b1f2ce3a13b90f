//! `warnings`: the warnings that users have acknowledged.

use crate::config::scalar::{Scalar, texts};
use crate::config::setting::settings;
use crate::config::violation::Violation;
use crate::diagnostic::closest::closest;
use crate::report::{Reason, ReasonSet};
use serde_json::{Value as Json, json};
use std::fmt;

settings! {
    /// The treatment of warnings.
    pub(crate) group WarningSettings at "warnings." {
        /// Warnings to ignore, by id. `-v` shows them, and `--strict` does not refuse them. The annotation `ignore-warnings` adds ids for one template. Only the configuration can ignore `annotation-not-allowed`. `still-injected` and `adopt-loses-settings` cannot be ignored. A list, replaced as a whole. Default: none.
        "ignore" ignore: Vec<WarningId> = Vec::new();
    }
}

/// The id of a warning that may be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WarningId(pub(crate) Reason);

impl WarningSettings {
    pub(crate) fn ignored(&self) -> ReasonSet {
        self.ignore.iter().map(|id| id.0).collect()
    }
}

fn ids() -> impl Iterator<Item = &'static str> {
    Reason::ALL
        .iter()
        .filter(|reason| reason.may_be_ignored())
        .map(|reason| reason.id())
}

impl WarningId {
    /// Reads an id in an annotation. A template cannot hide that the configuration restricts it.
    pub(crate) fn parse_of_template(text: &str) -> Result<Reason, Violation> {
        match Self::parse(text)?.0 {
            Reason::AnnotationNotAllowed => {
                let violation = Violation::new(format!("cannot ignore `{text}`"));
                let help = format!(
                    "only `{}` in the configuration can",
                    WarningSettings::ignore()
                );
                Err(violation.with_help(help))
            }
            reason => Ok(reason),
        }
    }
}

impl fmt::Display for WarningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id())
    }
}

texts!(WarningId);

/// The advice about a text that resembles no id.
const IDS: &str = "the id is the word in brackets in a message, such as `host-network` in `warning[host-network]`";

impl Scalar for WarningId {
    fn parse(text: &str) -> Result<Self, Violation> {
        match Reason::ALL.iter().find(|reason| reason.id() == text) {
            Some(reason) if reason.may_be_ignored() => Ok(WarningId(*reason)),
            Some(_) => Err(Violation::new(format!(
                "must be a warning that can be ignored, found `{text}`"
            ))),
            None => {
                let help = match closest(text, ids()) {
                    Some(id) => format!("did you mean `{id}`?"),
                    None => IDS.to_owned(),
                };
                let what = format!("must be the id of a warning, found `{text}`");
                Err(Violation::new(what).with_help(help))
            }
        }
    }

    fn schema() -> Json {
        json!({"type": "string", "enum": ids().collect::<Vec<_>>()})
    }
}
