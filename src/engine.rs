//! One text or several in, edits and outcomes out. Every front end calls it.

use crate::checks::{self, ProcessedText};
use crate::config::Config;
use crate::inject::{Injection, Input, SharedWork, inject_templates};
use crate::manifest::list::Cut;
use crate::options::{Direction, Options};

/// Injects one text: a stream of YAML documents, JSON, a `List`, or a ResourceList. It is not written anywhere:
/// [`Injection::apply`] returns the new text, [`Injection::outcomes`] the decisions with their causes.
#[must_use]
pub fn inject(text: &str, config: &Config, options: Options) -> Injection {
    inject_list(text, None, config, options)
}

/// Injects one text. `cut` are the pieces of the list that it is, if they are known.
pub(crate) fn inject_list(
    text: &str,
    cut: Option<&Cut>,
    config: &Config,
    options: Options,
) -> Injection {
    let patch = None;
    let input = Input { text, patch, cut };
    let mut injection = inject_templates(input, config, options, &mut SharedWork::default());
    if options.direction == Direction::Inject {
        let processed = ProcessedText {
            name: "",
            text,
            injection: &injection,
        };
        let around = checks::check_inputs(&[processed], config);
        injection.requirements = around.requirements;
        injection
            .remarks
            .extend(around.remarks.into_iter().map(|(_, remark)| remark));
    }
    injection
}
