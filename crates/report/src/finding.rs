//! A finding: one decision, refusal or warning, and its cause.

use crate::diagnostic::with_help;
use crate::reason::Reason;
use std::borrow::Cow;

/// The help for a mistake of this program.
pub const BUG: &str =
    "this is a bug in mackerel-agent-injector; please report it with the document";

/// A decision, refusal or warning about a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its reason.
    pub reason: Reason,
    /// One sentence about this case, lower case, without a full stop.
    pub message: String,
    /// The next step for the user, if there is one.
    pub help: Option<String>,
    /// Byte offset in the input.
    pub offset: Option<usize>,
    /// JSON Pointer of the field within the resource; empty for the whole resource.
    pub pointer: String,
    /// True for a warning that an annotation of the template, or an explicit setting, acknowledges.
    pub acknowledged: bool,
    /// True for a warning that is only information in this case: `--strict` ignores it.
    pub is_note: bool,
    /// True if the help fits every text that cannot be read. The reader of a file may replace it by a better one.
    pub has_general_help: bool,
}

impl Finding {
    /// Returns a finding about a field of a resource, or about the whole, without help.
    pub fn new(reason: Reason, message: impl Into<String>, offset: usize, pointer: &str) -> Self {
        Self {
            reason,
            message: message.into(),
            help: None,
            offset: Some(offset),
            pointer: pointer.to_owned(),
            acknowledged: false,
            is_note: false,
            has_general_help: false,
        }
    }

    /// Returns a finding whose message is the sentence of its reason.
    pub fn without_details(reason: Reason, offset: usize, pointer: &str) -> Self {
        Self::new(reason, reason.sentence(), offset, pointer)
    }

    /// Returns a finding about an input as a whole.
    pub fn about_input(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            offset: None,
            ..Self::new(reason, message, 0, "")
        }
    }

    /// Returns the finding about a result that failed verification.
    pub fn verify_failed(message: impl Into<String>, offset: usize) -> Self {
        Self::new(Reason::VerifyFailed, message, offset, "").with_help(BUG)
    }

    /// Returns `message; help`.
    pub fn message_with_help(&self) -> String {
        with_help(&self.message, self.help.as_deref())
    }

    /// Marks the warning as acknowledged, or not.
    pub fn acknowledged_if(self, acknowledged: bool) -> Self {
        Self {
            acknowledged,
            ..self
        }
    }

    /// Makes the warning information, or not.
    pub fn note_if(self, is_note: bool) -> Self {
        Self { is_note, ..self }
    }

    /// Sets a help that fits every text that cannot be read.
    pub fn with_general_help(self, help: &str) -> Self {
        Self {
            has_general_help: true,
            ..self.with_help(help)
        }
    }

    /// Sets the help.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// The cause of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A setting, by its dotted path below `spec`, explicit or by default.
    Setting(Cow<'static, str>),
    /// A field of the manifest.
    Manifest {
        /// Byte offset in the input.
        offset: usize,
        /// JSON Pointer of the field within the resource.
        pointer: String,
    },
    /// A kustomization that names the input file as a patch.
    Kustomization {
        /// File, line and column.
        place: String,
        /// JSON Pointer of the field within the kustomization.
        pointer: String,
    },
}
