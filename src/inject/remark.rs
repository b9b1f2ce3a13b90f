//! What is said of resources in which no pod template is found.

use crate::inject::Run;
use crate::inject::outcome::Remark;
use crate::inject::template_form;
use crate::inject::unknown_kind::{self, unknown_kind};
use crate::manifest::identity::Identity;
use crate::manifest::resource::{Resource, file};
use crate::options::Direction;
use crate::report::Finding;
use yaml_json_patch::Tree;

impl Run<'_> {
    /// True where a document that can be passed by may hold something to speak of.
    pub(super) fn may_be_remarked(&self, kind: &str, api_version: Option<&str>, text: &str) -> bool {
        // Nobody misses an agent that is to be taken out.
        self.options.direction == Direction::Inject
            && (self.may_ask(text)
                || unknown_kind::may_be(kind, api_version, self.config) && template_form::may_be_in(text))
    }

    fn may_ask(&self, text: &str) -> bool {
        self.search.as_ref().is_some_and(|search| search.may_find(text))
    }

    /// Says what there is to say about a resource in which no pod template is found.
    pub(super) fn remark(&mut self, tree: &Tree<'_>, resource: &Resource, base: usize) {
        // An alias has been looked at where its anchor stands.
        let Some(text) = tree.text().get(tree.span(resource.node)) else { return };
        if self.options.direction == Direction::Uninject {
            return;
        }
        let Identity { api_version, kind, .. } = &resource.identity;
        let may_be = self.may_ask(text) || unknown_kind::may_be(kind, Some(api_version), self.config);
        if !(may_be && template_form::may_be_in(text)) {
            return;
        }
        if let Some(finding) = unknown_kind(tree, resource, self.context()) {
            self.tell(tree, resource, finding, base);
        }
    }

    fn tell(&mut self, tree: &Tree<'_>, resource: &Resource, mut finding: Finding, base: usize) {
        if finding.first_time(&mut self.said) {
            finding.offset = finding.offset.map(|offset| offset + base);
            self.injection.remarks.push(Remark {
                identity: resource.identity.clone(),
                offset: tree.span(resource.node).start + base,
                file: file(tree, resource.node),
                finding,
            });
        }
    }
}
