//! What the agents of each namespace take, for what counts or bounds it there.

use crate::config::Config;
use crate::needs::Needs;
use crate::report::Outcome;
use crate::surroundings::Part;
use std::collections::HashMap;

/// By namespace, what each kind of agent takes and leaves open, with the first template of such an agent.
pub(super) type Agents<'r> = HashMap<Option<&'r str>, Vec<(&'r Needs, &'r Outcome)>>;

pub(super) fn agents<'r>(parts: &[Part<'r>], config: &'r Config) -> Agents<'r> {
    let mut agents = Agents::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(needs) = &outcome.needs else { continue };
        let known = agents.entry(outcome.identity.namespace_in(config).map(String::as_str)).or_default();
        if !known.iter().any(|(known, _)| known.without == needs.without && known.takes == needs.takes) {
            known.push((needs, outcome));
        }
    }
    agents
}
