//! A finding: one decision, refusal or warning, and its cause.

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::report::reason::Reason;
use std::borrow::Cow;
use std::collections::HashSet;

/// One thing to tell: a decision, a refusal or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Why.
    pub reason: Reason,
    /// This case in one sentence, lower case, without a full stop; begins where the reason's own sentence is too general.
    pub message: String,
    /// What to do next, if there is something to do.
    pub help: Option<String>,
    /// Byte offset into the input that the finding points at.
    pub offset: Option<usize>,
    /// JSON Pointer of the field inside the resource, empty when it is the resource as a whole.
    pub pointer: String,
}

impl Finding {
    /// A finding about a field, or the whole, of a resource; without help.
    pub(crate) fn new(reason: Reason, message: impl Into<String>, offset: usize, pointer: &str) -> Self {
        Self { reason, message: message.into(), help: None, offset: Some(offset), pointer: pointer.to_owned() }
    }

    /// A result that failed its own check.
    pub(crate) fn verify_failed(message: impl Into<String>, offset: usize) -> Self {
        let help = "this is a mistake of this program; please report it with the document";
        Self::new(Reason::VerifyFailed, message, offset, "").with_help(help)
    }

    /// False for what is said once and was: of the same reason, and with the same things to do.
    pub(crate) fn first_time(&self, said: &mut SeenMessages) -> bool {
        let what = || format!("{}; {}", self.message, self.help.as_deref().unwrap_or_default());
        !self.reason.is_said_once() || said.insert((self.reason, what()))
    }

    /// The same with its place in a text in which the piece of the finding begins at `base`.
    pub(crate) fn shifted(self, base: usize) -> Self {
        Self { offset: self.offset.map(|offset| offset + base), ..self }
    }

    /// The same with what to do next.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// What was said of a template and is not said again, word for word, of the next.
pub(crate) type SeenMessages = HashSet<(Reason, String)>;

/// What made a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A setting, by its dotted path below `spec`, explicit or by default.
    Setting(Cow<'static, str>),
    /// Something that stands in the manifest.
    #[non_exhaustive]
    Manifest {
        /// Byte offset into the input.
        offset: usize,
        /// JSON Pointer of the field inside the resource.
        pointer: String,
    },
    /// A kustomization that names the input as a patch. Only files have one beside them.
    #[non_exhaustive]
    Kustomization {
        /// Where it does: file, line and column.
        place: String,
        /// JSON Pointer of the field inside the kustomization.
        pointer: String,
    },
}

/// What became of one ClusterRole or binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PermissionChange {
    /// It was not there.
    Added,
    /// It permits something else, or somebody else.
    Updated,
    /// Nobody needs it any more.
    Removed,
}

impl PermissionChange {
    /// As reports say it.
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        match self {
            PermissionChange::Added => "added",
            PermissionChange::Updated => "brought up to date",
            PermissionChange::Removed => "taken out",
        }
    }
}

impl<'t> Diagnostic<'t> {
    /// A finding in the text that it was made in, which `name` is shown for. How much it matters depends on the run, not on the
    /// finding: [`Injection::severity`](crate::inject::Injection::severity) says.
    #[must_use]
    pub fn of(finding: &Finding, severity: Severity, name: &'t str, text: &'t [u8]) -> Self {
        let range = |offset: usize| offset..offset.saturating_add(1);
        Diagnostic {
            severity,
            id: Some(finding.reason.id()),
            message: finding.message.clone(),
            place: finding.offset.map(|offset| Place::of_lines(name, text, range(offset))),
            notes: Vec::new(),
            help: finding.help.clone(),
        }
    }
}
