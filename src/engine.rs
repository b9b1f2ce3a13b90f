//! One text or several in, edits and outcomes out. Every front end calls it.

use crate::checks::{self, ProcessedText};
use crate::config::Config;
use crate::inject::{Injection, SharedWork, inject_templates};
use crate::manifest::kustomization::NamedPatch;
use crate::options::{Direction, Options, Permissions};
use crate::rbac;

/// Injects one text: a stream of YAML documents, JSON, a `List`, or a ResourceList. It is not written anywhere:
/// [`Injection::apply`] returns the new text, [`Injection::outcomes`] the decisions with their causes.
#[must_use]
pub fn inject(text: &str, config: &Config, options: Options) -> Injection {
    let mut injection = inject_part(text, None, config, options, &mut SharedWork::default());
    if options.direction == Direction::Inject {
        let around = checks::check_inputs(
            &[ProcessedText {
                name: "",
                text,
                injection: &injection,
            }],
            config,
        );
        injection.requirements = around.requirements;
        injection
            .remarks
            .extend(around.remarks.into_iter().map(|(_, remark)| remark));
    }
    injection
}

/// Injects one text of several that belong together; [`checks::check_inputs`] then reads all of them. `patch` is the entry of a
/// kustomization that names this text.
pub(crate) fn inject_part(
    text: &str,
    patch: Option<&NamedPatch>,
    config: &Config,
    options: Options,
    shared: &mut SharedWork,
) -> Injection {
    let mut injection = inject_templates(text, patch, config, options, shared);
    if options.permissions != Permissions::Leave || options.direction == Direction::Uninject {
        rbac::write(text, config, options, &mut injection, |text| {
            inject_templates(text, patch, config, options, shared)
        });
    }
    injection
}
