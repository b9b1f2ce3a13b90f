//! Reports decisions, warnings and errors: as data for tools, and as text for people.
//!
//! - A [`Finding`] says what was decided or noticed, and where in a manifest. The id of its [`Reason`] is stable.
//! - A [`Diagnostic`] is an error, a warning or a note at a [`Place`] in a text, written with an excerpt of it.
//! - [`visible()`], [`visible_json()`] and [`shell_word()`] write text of the input without what a terminal, a shell or a forge would
//!   execute.
//! - [`closest()`] finds the name that was meant.

mod diagnostic;
mod finding;
mod reason;

pub use diagnostic::closest::{closest, is_one_edit, normalize};
pub use diagnostic::{
    BOLD, Colour, Diagnostic, LineCounter, Medium, Place, Position, Severity, columns, enumeration,
    shell_argument, shell_word, visible, visible_json,
};
pub use finding::{BUG, Cause, Finding};
pub use reason::{Class, Reason, ReasonSet};
