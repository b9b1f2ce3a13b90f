//! What a pod template gets, the agent or an init container that waits or both, and why: a pure function of the template,
//! its resource and the configuration.
//!
//! The order of the rules is the order in which users can turn them off: what nobody asked for is skipped before anything
//! about it can be refused. The rules on which templates are looked at, and which can run anything of ours, hold for both;
//! each is asked for by itself, and where both are wanted, one that is refused holds back the other.

mod conflicts;
pub(crate) mod controller_owned;
mod knative;
mod misplaced_annotations;
mod patches;
mod permissions;
pub(crate) mod plain_api_key;
mod scope;
mod shape;
mod wait_for;

use crate::agent::components::{ComponentSet, Components};
use crate::agent::existing::is_agent;
use crate::agent::plan::Plan;
use crate::agent::{Agent, Agents};
use crate::annotations::{self, Given, InjectRequest, InvalidAnnotation, InvalidAnnotations};
use crate::config::{Config, InjectionMode, KubernetesVersion, SidecarKind};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::Sidecar;
use crate::manifest::kustomization::NamedPatch;
use crate::manifest::pod_template::{self, ContainerList, PodTemplate};
use crate::manifest::resource::Resource;
use crate::report::{Cause, Finding, Reason};
use std::borrow::Cow;
use std::rc::Rc;
use yaml_json_patch::Tree;

/// What is to become of a template. Made on the template without anything of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Put this in.
    Add(Plan),
    /// Leave it as it is; nobody asks for more.
    Skip(Finding),
    /// Somebody asks, but it must not be done.
    Refuse(Finding),
}

/// A decision and what else should be told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecisionReport {
    /// The decision.
    pub(crate) decision: Decision,
    /// Beside it.
    pub(crate) warnings: Vec<Finding>,
    /// What made it.
    pub(crate) cause: Cause,
    /// Why a template that is to wait gets no agent.
    pub(crate) no_agent: Option<Finding>,
    /// What asks for the init container that waits.
    pub(crate) wait_for_cause: Option<Cause>,
}

/// What decisions go by beside the template: the same for all of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecisionContext<'a> {
    /// The configuration.
    pub(crate) config: &'a Config,
    /// The agents that were made before.
    pub(crate) agents: &'a Agents,
    /// What names the text's file as a patch.
    pub(crate) patch: Option<&'a NamedPatch>,
}

/// Decides for one template.
#[must_use]
pub(crate) fn decide(
    tree: &Tree<'_>,
    resource: &Resource,
    at: &str,
    template: &PodTemplate,
    context: DecisionContext<'_>,
) -> DecisionReport {
    let mut case = Evaluation {
        tree,
        resource,
        at,
        template,
        config: context.config,
        agents: context.agents,
        patch: context.patch,
        warnings: Vec::new(),
        cause: None,
        no_agent: None,
        wait_for_cause: None,
    };
    let decision = case.decide();
    if let Decision::Add(plan) = &decision {
        case.warn_of_knative(plan);
    }
    let cause = case.cause.take().unwrap_or_else(|| case.cause_of(&decision));
    let Evaluation { warnings, no_agent, wait_for_cause, .. } = case;
    DecisionReport { decision, warnings, cause, no_agent, wait_for_cause }
}

struct Evaluation<'a, 't> {
    tree: &'a Tree<'t>,
    resource: &'a Resource,
    /// JSON Pointer from the resource to the template.
    at: &'a str,
    template: &'a PodTemplate,
    config: &'a Config,
    agents: &'a Agents,
    patch: Option<&'a NamedPatch>,
    warnings: Vec<Finding>,
    /// What decides, where the decision's finding does not say it.
    cause: Option<Cause>,
    no_agent: Option<Finding>,
    wait_for_cause: Option<Cause>,
}

impl<'a> Evaluation<'a, '_> {
    fn decide(&mut self) -> Decision {
        if let Some(skip) = self.ineligible().or_else(|| self.not_selected()) {
            return Decision::Skip(skip);
        }
        self.warn_of_misplaced_annotations();
        self.warn_of_unknown_annotations();
        let waits = self.wait_for_request();
        let requested = match self.requested() {
            Err(decision) if waits.is_none() || matches!(decision, Decision::Refuse(_)) => return decision,
            requested => requested,
        };
        // What follows says no for reasons of its own.
        let cause = self.cause.take();
        let wanted = Components::of(requested.is_ok().then_some(()), waits.is_some().then_some(()));
        if let Some(skip) = self.unsupported(wanted.unwrap_or(Components::Agent(()))) {
            return Decision::Skip(skip);
        }
        let agent = requested.and_then(|()| self.agent());
        let Some(asked) = waits else {
            return match agent {
                Ok(agent) => {
                    self.cause = cause;
                    Decision::Add(Components::Agent(agent))
                }
                Err(decision) => decision,
            };
        };
        let agent = match agent {
            Ok(agent) => Some(agent),
            Err(Decision::Skip(skip)) => {
                self.no_agent = Some(skip);
                None
            }
            Err(decision) => return decision,
        };
        let requested = asked.cause();
        self.wait_for_cause = Some(requested.clone());
        match (self.wait_for(asked, agent.as_deref()), agent) {
            (Ok(wait_for), Some(agent)) => {
                self.cause = cause;
                Decision::Add(Components::Both(agent, wait_for))
            }
            (Ok(wait_for), None) => {
                self.cause = Some(requested);
                Decision::Add(Components::WaitFor(wait_for))
            }
            (Err(refusal), _) => {
                self.cause = None;
                Decision::Refuse(refusal)
            }
        }
    }

    /// The agent that fits the pod.
    fn agent(&mut self) -> Result<Rc<Agent>, Decision> {
        if let Some(skip) = self.foreign_agent() {
            return Err(Decision::Skip(skip));
        }
        let config = self.annotated_config().map_err(Decision::Refuse)?;
        let sidecar = self.sidecar(&config)?;
        self.permissions(&config).map_err(Decision::Refuse)?;
        let shape = self.shape(&config, sidecar).map_err(Decision::Refuse)?;
        let agent = self.agents.agent(config, shape);
        match self.name_conflict(&agent) {
            Some(refusal) => Err(Decision::Refuse(refusal)),
            None => Ok(agent),
        }
    }

    /// The `inject` annotation, and what holds where it is absent.
    fn requested(&mut self) -> Result<(), Decision> {
        let inject = self.template.annotation(Annotation::Inject.key());
        if let Some(annotation) = inject.filter(|annotation| annotation.value.is_none()) {
            return Err(Decision::Refuse(self.not_a_string(annotation)));
        }
        match annotations::request(&self.given()) {
            Ok(InjectRequest::Inject) => {
                self.cause = inject.map(|asked| self.cause_at_annotation(asked));
                Ok(())
            }
            Ok(InjectRequest::OptOut) => {
                let finding = self.finding(Reason::OptedOut, "the template's annotation `inject` is \"false\"");
                let offset = inject.map(|annotation| annotation.offset);
                self.cause = inject.map(|asked| self.cause_at_annotation(asked));
                Err(Decision::Skip(Finding { offset, ..finding }))
            }
            Ok(InjectRequest::None) => {
                self.cause = Some(Cause::Setting("injection".into()));
                match self.config.spec.injection {
                    InjectionMode::Always => Ok(()),
                    InjectionMode::Annotated | InjectionMode::Disabled => {
                        if let Some(idle) = self.idle_annotations() {
                            // It would be no help to ask for an agent that cannot run there.
                            if let Some(skip) = self.unsupported(Components::Agent(())) {
                                self.cause = None;
                                return Err(Decision::Skip(skip));
                            }
                            self.warnings.push(idle);
                        }
                        Err(Decision::Skip(self.not_requested()))
                    }
                }
            }
            Err(invalid) => Err(Decision::Refuse(self.invalid(invalid))),
        }
    }

    fn not_requested(&self) -> Finding {
        let finding = self.finding(Reason::NotRequested, Reason::NotRequested.sentence());
        Finding {
            help: Some(format!("annotate the template with `{}: \"true\"`", Annotation::Inject.key())),
            ..finding
        }
    }

    /// The template's annotations that are strings, as our readers of annotations take them.
    fn given(&self) -> Vec<Given<'_>> {
        let annotations = self.template.annotations.iter();
        annotations.filter_map(|given| Some((&*given.key, given.value.as_deref()?, given.value_offset))).collect()
    }

    #[cold]
    fn invalid(&self, invalid: InvalidAnnotation) -> Finding {
        let finding = self.finding(Reason::InvalidAnnotation, invalid.message);
        let pointer = self.annotation_pointer(&invalid.key);
        Finding { help: invalid.help, offset: Some(invalid.offset), pointer, ..finding }
    }

    /// `inject: true` is a boolean, which Kubernetes refuses.
    #[cold]
    fn not_a_string(&self, annotation: &pod_template::Annotation) -> Finding {
        let message = format!("the value of the annotation `{}` is not a string", annotation.key);
        let finding = self.finding(Reason::InvalidAnnotation, message);
        let pointer = self.annotation_pointer(&annotation.key);
        Finding { help: Some("put it in quotes".to_owned()), offset: Some(annotation.value_offset), pointer, ..finding }
    }

    fn unsupported(&self, wanted: ComponentSet) -> Option<Finding> {
        if let Some(patch) = self.named_patch() {
            return Some(patch);
        }
        if let Some(field) = &self.template.windows {
            let message = format!("the pod is for Windows nodes, where {} does not run", wanted.subject());
            let pointer = format!("{}/spec{}", self.at, field.pointer);
            return Some(Finding::new(Reason::Windows, message, self.tree.span(field.node).start, &pointer));
        }
        if self.has_no_containers() {
            return Some(self.finding(Reason::NoContainers, "the template has no containers of its own"));
        }
        self.looks_like_a_patch()
    }

    fn has_no_containers(&self) -> bool {
        let has = self.template.containers.iter().any(|container| container.list == ContainerList::Containers);
        !has && !self.template.hides_containers
    }

    fn foreign_agent(&mut self) -> Option<Finding> {
        // With our record the agent is taken out of the view, so whatever agent is left is somebody else's.
        let template = self.template;
        let present = template.containers.iter().find(|container| is_agent(container))?;
        let name = present.name.as_deref().unwrap_or("without a name");
        let message = format!("container {name} is an agent already and does not carry our record");
        let finding = self.finding(Reason::AgentPresent, message);
        let help = "`inject --adopt` takes it over";
        let pointer = format!("{}/spec/{}/{}", self.at, present.list.field(), present.index);
        let offset = Some(self.tree.span(present.node).start);
        Some(Finding { help: Some(help.to_owned()), offset, pointer, ..finding })
    }

    fn annotated_config(&mut self) -> Result<Cow<'a, Config>, Finding> {
        let ours = |annotation: &&pod_template::Annotation| Annotation::of(&annotation.key).is_some();
        if let Some(annotation) = self.template.annotations.iter().filter(ours).find(|a| a.value.is_none()) {
            return Err(self.not_a_string(annotation));
        }
        annotations::overlay(self.config, &self.given()).map_err(|InvalidAnnotations { first, others }| {
            // Each is a mistake of its own, and whoever mends one wants to see all.
            let others: Vec<Finding> = others.into_iter().map(|other| self.invalid(other)).collect();
            self.warnings.extend(others);
            self.invalid(first)
        })
    }

    /// `auto` looks at the restart policy alone, so that every door and the webhook agree.
    fn sidecar(&mut self, config: &Config) -> Result<Sidecar, Decision> {
        let completes = matches!(self.template.restart_policy.as_deref(), Some("Never" | "OnFailure"));
        let old = config.spec.kubernetes_version < KubernetesVersion::NATIVE_SIDECARS;
        let version = config.spec.kubernetes_version;
        match config.spec.sidecar {
            SidecarKind::Container if completes => {
                let finding = self.finding(
                    Reason::NeverCompletes,
                    "the pod is to complete, but waits for its agent, an ordinary container",
                );
                self.warnings
                    .push(finding.with_help("`sidecar: auto` makes it a native sidecar, which ends with the others"));
                Ok(Sidecar::Container)
            }
            SidecarKind::Container => Ok(Sidecar::Container),
            SidecarKind::Auto if !completes => Ok(Sidecar::Container),
            SidecarKind::Auto | SidecarKind::Native if !old => Ok(Sidecar::Native),
            SidecarKind::Auto => {
                let message =
                    format!("the pod is to complete, which needs a native sidecar; Kubernetes {version} has none");
                Err(Decision::Skip(self.finding(Reason::NativeUnsupported, message)))
            }
            SidecarKind::Native => {
                let message = format!("a native sidecar is asked for, which Kubernetes {version} does not have");
                let finding = self.at_request(self.finding(Reason::NativeRefused, message), Annotation::Sidecar);
                Err(Decision::Refuse(finding.with_help("raise `kubernetesVersion`, or ask for `auto` or `container`")))
            }
        }
    }

    /// The rule of a decision whose finding stands where the rule does, or that a setting brought about.
    fn cause_of(&self, decision: &Decision) -> Cause {
        let at = |offset: Option<usize>, pointer: &str| {
            let offset = offset.unwrap_or_else(|| self.tree.span(self.template.node).start);
            Cause::Manifest { offset, pointer: pointer.to_owned() }
        };
        match (decision, self.patch) {
            (Decision::Skip(Finding { reason: Reason::KustomizePatch, .. }), Some(patch)) => {
                Cause::Kustomization { place: patch.place.clone(), pointer: patch.pointer.clone() }
            }
            (Decision::Add(_), _) => at(None, self.at),
            (Decision::Skip(finding) | Decision::Refuse(finding), _) => match finding.reason {
                Reason::NativeUnsupported => Cause::Setting("kubernetesVersion".into()),
                Reason::NativeRefused if finding.pointer == self.at => Cause::Setting("sidecar".into()),
                Reason::QosRefused => Cause::Setting("qos".into()),
                _ => at(finding.offset, &finding.pointer),
            },
        }
    }

    fn cause_at_annotation(&self, annotation: &pod_template::Annotation) -> Cause {
        Cause::Manifest { offset: annotation.value_offset, pointer: self.annotation_pointer(&annotation.key) }
    }

    /// A finding about what an annotation asks for, at its value; about the template where the configuration asks.
    #[cold]
    fn at_request(&self, finding: Finding, annotation: Annotation) -> Finding {
        match self.template.annotation(annotation.key()) {
            Some(asked) => {
                Finding { offset: Some(asked.value_offset), pointer: self.annotation_pointer(&asked.key), ..finding }
            }
            None => finding,
        }
    }

    fn annotation_pointer(&self, key: &str) -> String {
        format!("{}/metadata/annotations/{}", self.at, yaml_json_patch::pointer::escape(key))
    }

    #[cold]
    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        Finding::new(reason, message, self.tree.span(self.template.node).start, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, DecisionContext, decide};
    use crate::config::{
        Config, Exclusion, Hooks, InjectionMode, KindPattern, KubernetesVersion, NamespacePattern, SidecarKind,
    };
    use crate::manifest::pod_template::PodTemplate;
    use crate::manifest::resource::resources;
    use crate::manifest::workloads::Table;
    use crate::report::Reason;

    fn reason(text: &str, config: &Config) -> (Reason, Vec<Reason>) {
        let tree = yaml_json_patch::read(text).unwrap();
        let resource = &resources(&tree, tree.root().unwrap(), &kube_core::TypeMeta::default())[0];
        let templates = Table::new([]).templates(&tree, resource.node, |group, kind| {
            resource.gvk.as_ref().is_some_and(|gvk| gvk.group == group && gvk.kind == kind)
        });
        let (at, node) = &templates.found[0];
        let agents = super::Agents::default();
        let context = DecisionContext { config, agents: &agents, patch: None };
        let verdict = decide(&tree, resource, at, &PodTemplate::view(&tree, *node), context);
        let reason = match verdict.decision {
            Decision::Add(_) => Reason::Injected,
            Decision::Skip(finding) | Decision::Refuse(finding) => finding.reason,
        };
        (reason, verdict.warnings.iter().map(|warning| warning.reason).collect())
    }

    fn with(change: impl FnOnce(&mut crate::config::Spec)) -> Config {
        let mut config = Config::default();
        change(&mut config.spec);
        config
    }

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {META}}\n\
        spec: {template: {metadata: {labels: {app: web}, annotations: {ANNOTATIONS}}, spec: {POD containers: [{name: web, image: web}]}}}\n";

    fn deployment(meta: &str, annotations: &str, pod: &str) -> String {
        DEPLOYMENT.replace("META", meta).replace("ANNOTATIONS", annotations).replace("POD", pod)
    }

    #[test]
    fn what_the_pod_and_its_owner_say() {
        let inject = |value: &str| format!("agent-injector.contrib.mackerel.io/inject: {value}");
        let annotated = with(|spec| spec.injection = InjectionMode::Annotated);
        let old = with(|spec| spec.kubernetes_version = KubernetesVersion { major: 1, minor: 28 });
        let native = with(|spec| {
            spec.sidecar = SidecarKind::Native;
            spec.kubernetes_version = KubernetesVersion { major: 1, minor: 28 };
        });
        let plain = Config::default();
        for (config, meta, annotations, pod, expected) in [
            (&plain, "", "", "", Reason::Injected),
            (&plain, "", &*inject("\"FALSE\""), "", Reason::OptedOut),
            (&plain, "", &*inject("maybe"), "", Reason::InvalidAnnotation),
            (&plain, "", &*inject("true"), "", Reason::InvalidAnnotation),
            (&annotated, "", "", "", Reason::NotRequested),
            (&annotated, "", &*inject("'True'"), "", Reason::Injected),
            (&plain, "helm.sh/hook: test", "", "", Reason::Hook),
            (&plain, "config.kubernetes.io/local-config: 'true'", "", "", Reason::LocalConfig),
            (&plain, "", "kubernetes.io/config.mirror: abc", "", Reason::MirrorPod),
            (&plain, "", "", "os: {name: windows},", Reason::Windows),
            (&plain, "", "", "nodeSelector: {kubernetes.io/os: windows},", Reason::Windows),
            (&plain, "", "", "initContainers: [{name: a, image: x/mackerel-container-agent:1}],", Reason::AgentPresent),
            (&plain, "", "", "ephemeralContainers: [{name: mackerel-container-agent}],", Reason::ContainerConflict),
            (&plain, "", "", "volumes: [{name: mackerel-agent-tmp}],", Reason::VolumeConflict),
            // A volume of ours that this agent does not bring is no conflict.
            (&plain, "", "", "volumes: [{name: mackerel-agent-token}],", Reason::Injected),
            (&old, "", "", "restartPolicy: Always,", Reason::Injected),
            (&old, "", "", "restartPolicy: OnFailure,", Reason::NativeUnsupported),
            (&native, "", "", "", Reason::NativeRefused),
        ] {
            let text = deployment(meta, annotations, pod);
            assert_eq!(reason(&text, config).0, expected, "{text}");
        }
    }

    fn namespace(pattern: &str) -> NamespacePattern {
        NamespacePattern(pattern.to_owned())
    }

    #[test]
    fn what_the_configuration_selects() {
        let exclusion =
            |name: &str| Exclusion { name: Some(name.into()), kind: Some("Deployment".into()), ..Exclusion::default() };
        let kind = |group: Option<&str>, kind: &str| KindPattern { group: group.map(Into::into), kind: kind.into() };
        let (selected, excluded, not) = (Reason::Injected, Reason::NamespaceExcluded, Reason::NotSelected);
        for (config, expected) in [
            (with(|spec| spec.select.namespaces = vec![namespace("shop")]), selected),
            (with(|spec| spec.select.namespaces = vec![namespace("sho")]), not),
            (with(|spec| spec.select.exclude_namespaces = vec![namespace("sh*")]), excluded),
            (with(|spec| spec.select.kinds = vec![kind(Some("apps"), "Deployment")]), selected),
            (with(|spec| spec.select.kinds = vec![kind(Some("batch"), "Deployment")]), not),
            (with(|spec| spec.select.pod_selector.match_labels = [("app".into(), "web".into())].into()), selected),
            (with(|spec| spec.select.pod_selector.match_labels = [("app".into(), "db".into())].into()), not),
            (with(|spec| spec.select.exclude = vec![exclusion("web")]), not),
            (with(|spec| spec.select.exclude = vec![exclusion("db")]), selected),
            (with(|spec| spec.injection = InjectionMode::Disabled), Reason::Disabled),
        ] {
            assert_eq!(reason(&deployment("", "", ""), &config).0, expected, "{config:?}");
        }
        let hooks = with(|spec| spec.hooks = Hooks::Inject);
        assert_eq!(reason(&deployment("helm.sh/hook: test", "", ""), &hooks).0, selected);
    }

    #[test]
    fn a_resource_that_names_no_namespace_takes_the_configured_one() {
        let text = deployment("", "", "").replace(", namespace: shop", "");
        let selecting = with(|spec| spec.select.namespaces = vec![namespace("shop")]);
        assert_eq!(reason(&text, &selecting), (Reason::NotSelected, vec![Reason::NamespaceUnknown]));
        let given = with(|spec| {
            spec.select.namespaces = vec![namespace("shop")];
            spec.namespace = Some("shop".into());
        });
        assert_eq!(reason(&text, &given), (Reason::Injected, vec![]));
    }

    #[test]
    fn an_annotation_on_the_workload_is_told() {
        let meta = "agent-injector.contrib.mackerel.io/inject: 'true'";
        let annotated = with(|spec| spec.injection = InjectionMode::Annotated);
        let misplaced = (Reason::NotRequested, vec![Reason::MisplacedAnnotation]);
        assert_eq!(reason(&deployment(meta, "", ""), &annotated), misplaced);
    }
}
