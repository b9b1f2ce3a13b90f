//! What is said of resources in which no pod template is found, or not all of theirs.

use super::{Direction, Run, shift};
use crate::find::Templates;
use crate::lost_manifest::{lost_items, lost_manifests};
use crate::lost_template::lost_templates;
use crate::misplaced_template::misplaced_template;
use crate::no_such_kind::{self, no_such_kind};
use crate::report::{Finding, Identity, Outcome, Remark, Rule};
use crate::resource::{Resource, file};
use crate::template_form;
use crate::unknown_kind::{self, unknown_kind};
use crate::yaml::{NodeId, Tree};
use json_patch::Patch;

impl Run<'_> {
    /// True where a document that can be passed by may hold something to speak of.
    pub(super) fn may_be_remarked(&self, kind: &str, api_version: Option<&str>, text: &str) -> bool {
        // Nobody misses an agent that is to be taken out.
        self.options.direction == Direction::Inject
            && (self.may_ask(text)
                || (no_such_kind::may_be(kind, api_version) || unknown_kind::may_be(kind, api_version, self.config))
                    && template_form::may_be_in(text))
    }

    fn may_ask(&self, text: &str) -> bool {
        self.search.as_ref().is_some_and(|search| search.may_find(text))
    }

    /// Refuses what a later key hides from Kubernetes. False: there is no such thing, or nobody wants anything of it.
    pub(super) fn refuse_lost(
        &mut self,
        tree: &Tree<'_>,
        resource: &Resource,
        templates: &Templates,
        base: usize,
    ) -> bool {
        let manifests =
            if templates.seen.is_empty() { lost_manifests(tree, resource, &self.table) } else { Vec::new() };
        if !manifests.is_empty() {
            return self.refuse_all(tree, resource.node, manifests, base);
        }
        let lost = lost_templates(tree, resource, &templates.hidden, self.terms(), self.options.direction);
        let is_lost = !lost.is_empty();
        let outcomes = lost.into_iter().map(|lost| refused(tree, resource, lost, base));
        self.injection.outcomes.extend(outcomes);
        is_lost
    }

    /// Refuses a list whose items a later key hides from Kubernetes, unless an edit met both keys and was refused: that
    /// would be one of the outcomes from `from` on.
    pub(super) fn refuse_lost_items(&mut self, tree: &Tree<'_>, document: NodeId, base: usize, from: usize) {
        let Some(lost) = lost_items(tree, document, &self.table) else { return };
        let place = lost.offset.map(|offset| offset + base);
        let mut decisions = self.injection.outcomes.iter().skip(from).map(|outcome| &outcome.decision);
        if !decisions.any(|decision| decision.reason == lost.reason && decision.offset == place) {
            self.refuse_all(tree, document, vec![lost], base);
        }
    }

    /// Refuses what has no template to speak of. False: nobody wants anything of what stands in that node.
    #[cold]
    fn refuse_all(&mut self, tree: &Tree<'_>, node: NodeId, lost: Vec<Finding>, base: usize) -> bool {
        let own = tree.text().get(tree.span(node)).unwrap_or_default();
        if self.wants_nothing_of(own) {
            return false;
        }
        let at_base = |lost: Finding| Finding { offset: lost.offset.map(|offset| offset + base), ..lost };
        self.injection.findings.extend(lost.into_iter().map(at_base));
        true
    }

    /// Says what there is to say about a resource in which no pod template is found.
    pub(super) fn remark(&mut self, tree: &Tree<'_>, resource: &Resource, base: usize) {
        // An alias has been looked at where its anchor stands.
        let Some(text) = tree.text().get(tree.span(resource.node)) else { return };
        if self.options.direction == Direction::Uninject {
            return;
        }
        let (table, terms) = (&self.table, self.terms());
        let Identity { api_version, kind, .. } = &resource.identity;
        let finding = no_such_kind(tree, resource, table, terms).or_else(|| {
            if !template_form::may_be_in(text) {
                return None;
            }
            misplaced_template(tree, resource, table, terms).or_else(|| {
                let may_be = self.may_ask(text) || unknown_kind::may_be(kind, Some(api_version), self.config);
                may_be.then(|| unknown_kind(tree, resource, table, terms)).flatten()
            })
        });
        if let Some(finding) = finding {
            self.tell(tree, resource, finding, base);
        }
    }

    /// Says where the containers are that a resource's pod templates do not have.
    #[cold]
    pub(super) fn remark_misplaced(&mut self, tree: &Tree<'_>, resource: &Resource, base: usize) {
        if let Some(finding) = misplaced_template(tree, resource, &self.table, self.terms()) {
            self.tell(tree, resource, finding, base);
        }
    }

    fn tell(&mut self, tree: &Tree<'_>, resource: &Resource, mut finding: Finding, base: usize) {
        if finding.is_news(&mut self.said) {
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

/// A template of which nothing more is known than why it is refused.
fn refused(tree: &Tree<'_>, resource: &Resource, refusal: Finding, base: usize) -> Outcome {
    let mut outcome = Outcome {
        identity: resource.identity.clone(),
        template: refusal.pointer.clone(),
        offset: tree.span(resource.node).start,
        file: file(tree, resource.node),
        rule: refusal.offset.map(|offset| Rule::Manifest { offset, pointer: refusal.pointer.clone() }),
        decision: refusal,
        about: None,
        warnings: Vec::new(),
        needs: None,
        agent: None,
        wait_for: None,
        token_of: None,
        bearer: None,
        patch: Patch(Vec::new()),
    };
    shift(&mut outcome, base);
    outcome
}
