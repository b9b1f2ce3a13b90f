//! `warnings`: the warnings that users have acknowledged.

use crate::checked::texts;
use crate::violation::Violation;
use report::{Reason, ReasonSet, closest};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The treatment of warnings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct WarningSettings {
    /// Warnings to ignore, by id. `-v` shows them, and `--strict` does not refuse them. The annotation `ignore-warnings` adds ids for one template. Only the configuration can ignore `annotation-not-allowed`. `still-injected` and `adopt-loses-settings` cannot be ignored. A list, replaced as a whole. Default: none.
    pub ignore: Vec<WarningId>,
}

/// The id of a warning that may be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarningId(pub Reason);

impl WarningSettings {
    pub fn ignored(&self) -> ReasonSet {
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
    pub fn parse_of_template(text: &str) -> Result<Reason, Violation> {
        match Self::from_str(text)?.0 {
            Reason::AnnotationNotAllowed => Err(Violation::new(format!("cannot ignore `{text}`"))
                .with_help("only `warnings.ignore` in the configuration can")),
            reason => Ok(reason),
        }
    }
}

impl fmt::Display for WarningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id())
    }
}

texts! { WarningId: "enum" = Vec::from_iter(ids()); }

/// The advice about a text that resembles no id.
const IDS: &str = "the id is the word in brackets in a message, such as `host-network` in `warning[host-network]`";

impl FromStr for WarningId {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        match Reason::ALL.iter().find(|reason| reason.id() == text) {
            Some(reason) if reason.may_be_ignored() => Ok(WarningId(*reason)),
            Some(_) => Err(Violation::found("a warning that can be ignored", text)),
            None => {
                let help = match closest(text, ids()) {
                    Some(id) => format!("did you mean `{id}`?"),
                    None => IDS.to_owned(),
                };
                Err(Violation::found("the id of a warning", text).with_help(help))
            }
        }
    }
}
