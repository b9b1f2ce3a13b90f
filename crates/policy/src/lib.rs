//! `policy`: a MutatingAdmissionPolicy that gives pods the same agent as the webhook, without a server, and a
//! ValidatingAdmissionPolicy that reports the pods that it left alone.
//!
//! The engine renders the agent, and CEL chooses:
//!
//! - `agent`: the agent of each shape of a pod, as the engine renders it
//! - `annotations`: the annotations that the policy reads
//! - `choice`: one expression for all of these agents
//! - `conditions`, `guards`: the rules of `decide` about pods
//! - `mutation`, `report`: the two policies
//! - `manifest`: their YAML
//! - `cel`: CEL as text

mod agent;
mod annotations;
mod cel;
mod choice;
mod conditions;
mod error;
mod guards;
mod manifest;
mod mutation;
mod report;

use agent::RenderedAgents;
use config::{Config, InjectionMode, KubernetesVersion};

pub use self::manifest::PolicyRequest;
pub use error::PolicyError;

/// The policies.
#[derive(Debug)]
pub struct Policies {
    /// The manifests, as a stream of YAML.
    pub text: String,
    /// Messages about settings that have no effect, or not the usual one.
    pub notes: Vec<String>,
}

/// The first version of Kubernetes whose API server has MutatingAdmissionPolicies by default.
const FIRST_VERSION: KubernetesVersion = KubernetesVersion { minor: 36 };

/// Returns the policies for a configuration.
///
/// # Errors
/// If nothing is to be injected, or the API server would refuse the policy.
pub fn policies(config: &Config, request: &PolicyRequest) -> Result<Policies, PolicyError> {
    if config.spec.injection == InjectionMode::Disabled {
        return Err(PolicyError::Disabled);
    }
    let switches = agent::switches(config);
    let agents = RenderedAgents::new(config, &switches);
    let guards = guards::guards(config, &agents);
    let mut variables = conditions::variables();
    variables.extend(guards.iter().map(|guard| guard.condition.clone()));
    let mutation = mutation::policy(config, &guards, variables.clone(), switches, &agents)?;
    let mut policies = vec![mutation];
    policies.extend(report::policies(config, guards, variables)?);
    Ok(Policies {
        text: manifest::stream(config, policies, request)?,
        notes: notes(config),
    })
}

/// Returns what a user should know about the settings.
fn notes(config: &Config) -> Vec<String> {
    let spec = &config.spec;
    let mut notes = Vec::new();
    let version = "kubernetesVersion";
    if config.is_explicit(version) && spec.kubernetes_version < FIRST_VERSION {
        notes.push(format!(
            "warning: `{version}` is {}, but clusters take MutatingAdmissionPolicies from {FIRST_VERSION} on by default; use the webhook for older ones",
            spec.kubernetes_version
        ));
    }
    if config.is_explicit("waitFor.image") {
        notes.push("warning: `waitFor.image` has no effect: pods that request wait-for are left alone and reported".to_owned());
    }
    if config.is_explicit("namespace") {
        notes.push("info: `namespace` has no effect here: the policy is about pods in all namespaces; use `--namespace-selector`, or `select.namespaces`".to_owned());
    }
    if !config.is_explicit("onError") {
        notes.push("info: pods that cannot be injected are created without the agent, with a warning; to refuse them, set `onError: fail`".to_owned());
    }
    notes
}
