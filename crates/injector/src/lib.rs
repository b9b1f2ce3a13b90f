//! From a text to edits: which pod templates get the agent, and how that changes the text. A text, a configuration and options come in;
//! edits and outcomes with their reasons go out, see [`inject()`]. No I/O, no clock, no environment.
//!
//! In order of dependency; a module names only those above it:
//!
//! - `options`: what a caller asks for beside the configuration
//! - `agent`: what goes in: the container, the init container that waits, the record of both; and an existing injection
//! - `decide`: the rules: inject, skip or refuse, one file for each rule or small family
//! - `reconcile`: desired against current: the action for one template, its JSON Patch, and how that becomes edits
//! - `inject`: the pipeline of one text, its outcomes, and its findings as rows
//! - `checks`: Secrets, ConfigMaps and ServiceAccounts of the input: would the injected pods start?
//! - `engine`: one text or several in, edits and outcomes out: what every front end calls

mod options;

mod agent;
mod decide;
mod reconcile;

mod inject;

mod checks;

mod engine;

pub use agent::endpoint::Endpoint;
pub use agent::existing::{EarlierReadings, ExistingInjection};
pub use agent::kubelet_access::{KubeletAccess, LESS, NODES_PROXY, PERMITS, RbacSubject};
pub use agent::plan::Plan;
pub use agent::prerequisites::{KeyRef, Presence, Requirement};
pub use agent::record::{Record, RecordError};
pub use agent::shape::{AgentResources, AgentShape, Token};
pub use agent::{Agents, Component, ComponentKind};
pub use checks::{ProcessedText, Unmatched, check_inputs, idle_selection, unmatched_namespaces};
pub use decide::{Decision, DecisionContext, DecisionReport, decide};
pub use engine::{inject, inject_list};
pub use inject::kind_counts::KindCounts;
pub use inject::outcome::{InjectedComponents, Outcome, Remark};
pub use inject::refusal::{NOT_VALID_YAML, TEMPLATE_HELP};
pub use inject::row::{BUILD, Row, STDIN, Subject, errors_first};
pub use inject::severity::SeverityPolicy;
pub use inject::totals::{plural, totals};
pub use inject::{Injection, Input, SharedWork, asks_for_nothing, inject_templates};
pub use options::{
    Direction, Explanations, ForeignAgents, HandEdits, Options, Patches, Tense, Warnings,
};
pub use reconcile::Waiting;
pub use reconcile::copied_record::copied_record;
pub use reconcile::own_annotations::RecordCache;
pub use reconcile::patch::{AgentPlace, PatchTarget, TemplatePatch, UneditableChange};
