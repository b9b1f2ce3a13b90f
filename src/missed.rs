//! Whether anybody would miss an agent in what Kubernetes does not see: only then is that refused.

use crate::annotations::{self, Annotation};
use crate::config::Injection;
use crate::decide::Terms;
use crate::find::{Table, Templates, containers};
use crate::inject::{Direction, Options};
use crate::judge::judge;
use crate::pod_template::PodTemplate;
use crate::report::{Class, Reason};
use crate::resource::Resource;
use crate::template_form::{self, MOST_LOOKED_AT};
use yaml_json_patch::{NodeId, Tree};

/// Who asks.
#[derive(Clone, Copy)]
pub(crate) struct Missed<'a> {
    pub(crate) table: Table<'a>,
    pub(crate) terms: Terms<'a>,
    pub(crate) options: Options,
}

impl<'a> Missed<'a> {
    /// Tells of templates of one resource, by their pointers, whether they would be missed.
    pub(crate) fn of<'r, 't>(
        self,
        tree: &'r Tree<'t>,
        resource: &'r Resource,
    ) -> impl FnMut(&str, NodeId) -> bool + use<'a, 'r, 't> {
        let mut asked = 0;
        move |pointer, template| {
            asked += 1;
            // What is not asked any more is not silent, either.
            if asked > MOST_LOOKED_AT { !self.is_disabled() } else { self.is(tree, resource, pointer, template) }
        }
    }

    fn is(self, tree: &Tree<'_>, resource: &Resource, pointer: &str, template: NodeId) -> bool {
        let template = PodTemplate::view(tree, template);
        let decision = judge(tree, resource, (pointer, pointer), &template, self.terms, self.options).decision;
        match decision.reason.class() {
            // An agent that nobody wants is none to miss.
            Class::Done => decision.reason != Reason::Removed || self.options.direction == Direction::Uninject,
            Class::Refused => true,
            Class::Skipped | Class::Warning | Class::Note => false,
        }
    }

    /// True where one of them would be.
    pub(crate) fn is_in(self, tree: &Tree<'_>, resource: &Resource) -> bool {
        let Some(gvk) = &resource.gvk else { return false };
        let Templates { seen, hidden } = self.table.templates(tree, resource.node, gvk);
        let mut missed = self.of(tree, resource);
        // A record without containers may be the half of a manifest in which a key stands twice.
        let is_half = |template| self.options.direction == Direction::Uninject && containers(tree, template).is_none();
        let mut is_missed = |pointer: &str, template: NodeId| !is_half(template) && missed(pointer, template);
        seen.iter().any(|(pointer, template)| is_missed(pointer, *template))
            || hidden.iter().any(|hidden| is_missed(&hidden.pointer, hidden.node))
    }

    /// True where one might be in a text that cannot be read.
    pub(crate) fn may_be_in(self, text: &str) -> bool {
        template_form::may_be_in(text) && !self.wants_nothing_of(text)
    }

    /// True under the kill switch, and where there is nothing to take out: what cannot be read in such a text holds nobody
    /// up.
    pub(crate) fn wants_nothing_of(self, text: &str) -> bool {
        match self.options.direction {
            Direction::Inject => self.is_disabled(),
            // JSON may write the slash between the two as `\/`.
            Direction::Uninject => {
                !(text.contains(annotations::PREFIX.trim_end_matches('/')) && text.contains(Annotation::Record.name()))
            }
        }
    }

    /// The kill switch.
    fn is_disabled(self) -> bool {
        self.options.direction == Direction::Inject && self.terms.config.spec.injection == Injection::Disabled
    }
}
