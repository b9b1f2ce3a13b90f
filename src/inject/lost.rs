//! What keys that stand twice hide from Kubernetes: refused, and told once.

use super::{Run, shift};
use crate::find::Hidden;
use crate::lost_manifest::{Parting, lost_items, lost_manifests};
use crate::lost_template::lost_templates;
use crate::report::{Finding, Outcome, Reason, Rule};
use crate::resource::{Resource, file};
use json_patch::Patch;
use kube_core::GroupVersionKind;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use yaml_json_patch::{NodeId, Tree};

/// What was found of it in one piece.
#[derive(Default)]
pub(super) struct Lost {
    /// Manifests and lists, each with the mapping that it stands in.
    findings: Vec<(Finding, Range<usize>)>,
    /// Which of the outcomes tell of a hidden template.
    templates: Vec<usize>,
}

impl Run<'_> {
    /// Looks for manifests and items that are not seen in a mapping. False: there are none, or nobody would miss them.
    pub(super) fn look_for_lost(
        &mut self,
        tree: &Tree<'_>,
        mapping: NodeId,
        gvk: Option<&GroupVersionKind>,
        parting: Parting,
        base: usize,
    ) -> bool {
        let mut lost = lost_manifests(tree, mapping, gvk, parting, self.missed());
        if lost.is_empty() {
            lost.extend(lost_items(tree, mapping, self.missed()));
        }
        let is_lost = !lost.is_empty();
        let span = tree.span(tree.resolve(mapping));
        for mut finding in lost {
            finding.offset = finding.offset.map(|offset| offset + base);
            self.lost.findings.push((finding, span.start + base..span.end + base));
        }
        is_lost
    }

    /// Refuses the templates of a resource that a key hides. False: there are none, or nobody would miss them.
    pub(super) fn refuse_hidden(
        &mut self,
        tree: &Tree<'_>,
        resource: &Resource,
        hidden: &[Hidden],
        base: usize,
    ) -> bool {
        let lost = lost_templates(tree, resource, hidden, self.missed());
        let is_lost = !lost.is_empty();
        for finding in lost {
            self.lost.templates.push(self.injection.outcomes.len());
            self.injection.outcomes.push(refused(tree, resource, finding, base));
        }
        is_lost
    }

    /// Tells what is lost in the piece whose outcomes begin at `from`. Where an edit met the same keys it was refused for
    /// them: then that has been told.
    pub(super) fn tell_lost(&mut self, from: usize) {
        let Lost { findings, templates } = std::mem::take(&mut self.lost);
        if findings.is_empty() && templates.is_empty() {
            return;
        }
        let templates: HashSet<usize> = templates.into_iter().collect();
        let outcomes: Vec<(usize, Outcome)> = (from..).zip(self.injection.outcomes.drain(from..)).collect();
        let edits = outcomes.iter().filter(|(at, _)| !templates.contains(at));
        let refused = edits.filter(|(_, outcome)| outcome.decision.reason == Reason::Uneditable);
        let told: BTreeMap<usize, Option<String>> = refused
            .filter_map(|(_, outcome)| Some((outcome.decision.offset?, outcome.decision.help.clone())))
            .collect();
        let is_news = |(at, outcome): &(usize, Outcome)| {
            !(templates.contains(at) && outcome.decision.offset.is_some_and(|offset| told.contains_key(&offset)))
        };
        self.injection.outcomes.extend(outcomes.into_iter().filter(is_news).map(|(_, outcome)| outcome));
        let is_told = |finding: &Finding, mapping: &Range<usize>| {
            let same_place = finding.offset.is_some_and(|offset| told.contains_key(&offset));
            same_place || told.range(mapping.clone()).any(|(_, help)| *help == finding.help)
        };
        let lost = findings.into_iter().filter(|(finding, mapping)| !is_told(finding, mapping));
        self.injection.findings.extend(lost.map(|(finding, _)| finding));
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
