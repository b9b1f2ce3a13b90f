//! The cause of each decision, as data that [`text`], JSON, [`sarif`] and [`github`] show.

pub(crate) mod github;
mod hosts;
mod permitted;
mod review;
pub(crate) mod sarif;
pub(crate) mod text;

pub(crate) use hosts::HostCount;
pub(crate) use permitted::PermissionView;
pub(crate) use review::{Problem, ReviewFinding};

use crate::agent::prerequisites::{KeyRef, Presence, Requirement};
use crate::agent::wait_for::WaitFor;
use crate::annotations;
use crate::checks::ProcessedText;
use crate::config::{Config, Origin};
use crate::diagnostic::{LineCounter, Severity};
use crate::inject::outcome::ResourceRef;
use crate::inject::{Outcome, ReportedFinding};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::mackerel::names::API_KEY;
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::reconcile::Waiting;
use crate::report::{Cause, Class};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;

/// Explanation of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// One per pod template, in the order of the inputs.
    pub(crate) templates: Vec<TemplateView>,
    /// Findings that belong to no pod template.
    pub(crate) findings: Vec<FindingView>,
    /// Objects that must exist before the pods start.
    pub(crate) needed: Vec<RequirementView>,
    /// Permissions that the agents need.
    pub(crate) permissions: Vec<PermissionView>,
    /// Hosts that the agents make in Mackerel.
    pub(crate) mackerel: HostCount,
    /// Resources without a pod template.
    pub(crate) without_pod_template: usize,
}

impl Explanation {
    /// Every finding, with its pod template where it is about one.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&FindingView, Option<&TemplateView>)> {
        let of_templates = self.templates.iter().flat_map(|template| {
            std::iter::once(&template.decision)
                .chain(&template.warnings)
                .map(move |finding| (finding, Some(template)))
        });
        of_templates.chain(self.findings.iter().map(|finding| (finding, None)))
    }

    /// True where `inject` would fail.
    pub(crate) fn has_errors(&self) -> bool {
        self.findings()
            .any(|(finding, _)| finding.severity == Severity::Error)
    }
}

/// `Deployment/shop/web`
fn full_name(
    Identity {
        kind,
        namespace,
        name,
        ..
    }: &Identity,
) -> String {
    [Some(kind), namespace.as_ref(), Some(name)]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join("/")
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct PlaceView {
    /// The input's name as the user gave it, `<stdin>` for stdin.
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

/// One pod template.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateView {
    /// Kind and name of its resource.
    #[serde(flatten)]
    pub(crate) resource: Identity,
    /// Path of the pod template in the resource; empty for a Pod.
    pub(crate) template: String,
    /// Place of the resource.
    pub(crate) place: PlaceView,
    /// The decision.
    pub(crate) decision: FindingView,
    /// The cause of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<CauseView>,
    /// Warnings and notes.
    pub(crate) warnings: Vec<FindingView>,
    /// Settings of the agent, if the user asked about one resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<ContainerSettings>,
    /// Settings of the init container that waits, if the user asked about one resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_for: Option<ContainerSettings>,
}

/// One finding.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FindingView {
    /// The reason's id.
    pub(crate) id: &'static str,
    /// Severity in this run.
    pub(crate) severity: Severity,
    /// True if `--check` fails for it.
    #[serde(skip)]
    fails_check: bool,
    /// One sentence.
    pub(crate) message: String,
    /// Next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// Its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<PlaceView>,
    /// The resource, where it belongs to no pod template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<Identity>,
    /// Path of the field in the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) field: String,
}

/// The rule that made a decision.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CauseView {
    /// A setting's dotted path below `spec`, or a field of the manifest.
    pub(crate) rule: String,
    /// The setting's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
    /// Origin: `default`, `--set #1`, or a place.
    pub(crate) origin: String,
}

/// Settings of one container.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerSettings {
    /// Path of the list that holds it.
    pub(crate) stands_in: String,
    /// Every setting of it.
    pub(crate) settings: Vec<SettingView>,
}

/// One setting of one container.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SettingView {
    /// Dotted path below `spec`, or the annotation that names the hosts to wait for.
    pub(crate) path: String,
    /// Its value; null where it has none.
    pub(crate) value: Value,
    /// Origin of the value, as of [`CauseView`].
    pub(crate) origin: String,
}

/// An object that must exist.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequirementView {
    /// The pods' namespace; none if neither manifest nor configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// `Secret` or `ConfigMap`.
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) name: String,
    /// The key in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Presence in the input.
    pub(crate) presence: &'static str,
    /// Place of the object, if it has the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<PlaceView>,
}

/// Templates to explain.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Filter<'a> {
    /// All templates, with the agent's settings if there is but one.
    All,
    /// The templates of one resource, with the agent's settings: its name, `Kind/name` or `Kind/namespace/name`.
    Resource(&'a str),
}

impl Filter<'_> {
    fn takes(self, identity: &Identity, config: &Config) -> bool {
        let Filter::Resource(wanted) = self else {
            return true;
        };
        let parts: Vec<&str> = wanted.split('/').collect();
        let is = |part: &str, whole: &str| part.eq_ignore_ascii_case(whole);
        match parts.as_slice() {
            [name] => *name == identity.name,
            [kind, name] => is(kind, &identity.kind) && *name == identity.name,
            [kind, namespace, name] => {
                let is_there = identity
                    .namespace_or(config.spec.namespace.as_ref())
                    .is_some_and(|it| it == namespace);
                is(kind, &identity.kind) && is_there && *name == identity.name
            }
            _ => false,
        }
    }
}

/// Explains a run: each text with its name. The injections have to carry their agents (see
/// [`Explanations`](crate::options::Explanations)) for their settings to be shown.
pub(crate) fn explain(
    names: &[String],
    parts: &[ProcessedText<'_>],
    requirements: &[Requirement],
    config: &Config,
    filter: Filter<'_>,
) -> Explanation {
    let mut explanation = Explanation {
        templates: Vec::new(),
        findings: Vec::new(),
        needed: Vec::new(),
        permissions: Vec::new(),
        mackerel: HostCount::of(&[], &[]),
        without_pod_template: 0,
    };
    let taken = |part: &ProcessedText<'_>| {
        part.injection
            .outcomes
            .iter()
            .filter(|o| filter.takes(&o.identity, config))
            .count()
    };
    let in_detail =
        matches!(filter, Filter::Resource(_)) || parts.iter().map(taken).sum::<usize>() == 1;
    for (name, part) in names.iter().zip(parts) {
        let mut builder = ExplanationBuilder {
            name,
            lines: LineCounter::new(part.text.as_bytes()),
            config,
        };
        for reported in part.injection.diagnostics() {
            match (reported.outcome, filter) {
                (Some(outcome), _) if !filter.takes(&outcome.identity, config) => {}
                (Some(outcome), _) if reported.is_decision() => {
                    explanation
                        .templates
                        .push(builder.template(outcome, &reported, in_detail));
                }
                (Some(_), _) => {
                    if let Some(template) = explanation.templates.last_mut() {
                        template.warnings.push(builder.finding_view(&reported));
                    }
                }
                (None, _) => {
                    let is_taken =
                        |resource: ResourceRef<'_>| filter.takes(resource.identity, config);
                    if reported
                        .resource
                        .map_or(matches!(filter, Filter::All), is_taken)
                    {
                        explanation.findings.push(builder.finding_view(&reported));
                    }
                }
            }
        }
        if matches!(filter, Filter::All) {
            explanation.without_pod_template += part.injection.without_template;
        }
    }
    let outcomes = parts.iter().flat_map(|part| &part.injection.outcomes);
    let shown: Vec<&Outcome> = outcomes
        .filter(|outcome| filter.takes(&outcome.identity, config))
        .collect();
    let asked = shown.iter().flat_map(|outcome| {
        let namespace = outcome
            .identity
            .namespace_or(config.spec.namespace.as_ref());
        outcome
            .needs
            .iter()
            .flat_map(|needs| &needs.objects)
            .map(move |need| (namespace, need))
    });
    let asked: HashSet<(Option<&String>, &KeyRef)> = asked.collect();
    let is_of_one = |requirement: &&Requirement| {
        asked.contains(&(requirement.namespace.as_ref(), &requirement.need))
    };
    let mut lines: Vec<LineCounter<'_>> = parts
        .iter()
        .map(|part| LineCounter::new(part.text.as_bytes()))
        .collect();
    explanation.needed = requirements
        .iter()
        .filter(is_of_one)
        .map(|requirement| needed(requirement, names, &mut lines))
        .collect();
    explanation.permissions = permitted::permitted(&shown, parts, config);
    explanation.mackerel = HostCount::of(&shown, parts);
    explanation
}

fn needed(
    requirement: &Requirement,
    names: &[String],
    lines: &mut [LineCounter<'_>],
) -> RequirementView {
    let place = match requirement.presence {
        Presence::Present { part, offset } => {
            names
                .get(part)
                .zip(lines.get_mut(part))
                .map(|(name, lines)| {
                    let at = lines.position(offset);
                    PlaceView {
                        file: name.clone(),
                        line: at.line,
                        column: at.column,
                    }
                })
        }
        Presence::Absent | Presence::WithoutKey => None,
    };
    let need = &requirement.need;
    RequirementView {
        namespace: requirement.namespace.clone(),
        kind: need.source.kind(),
        name: need.name.clone(),
        key: need.key.clone(),
        presence: requirement.presence.words(),
        place,
    }
}

/// Builds the views of one input, in order of the text.
struct ExplanationBuilder<'a> {
    name: &'a str,
    lines: LineCounter<'a>,
    config: &'a Config,
}

impl ExplanationBuilder<'_> {
    fn place(&mut self, offset: usize) -> PlaceView {
        let at = self.lines.position(offset);
        PlaceView {
            file: self.name.to_owned(),
            line: at.line,
            column: at.column,
        }
    }

    /// A template with its decision, without warnings.
    fn template(
        &mut self,
        outcome: &Outcome,
        decision: &ReportedFinding<'_>,
        in_detail: bool,
    ) -> TemplateView {
        TemplateView {
            resource: outcome.identity.clone(),
            template: field_path(&outcome.template),
            place: self.place(outcome.offset),
            decision: self.finding_view(decision),
            because: outcome.cause.as_ref().map(|cause| self.cause(cause)),
            warnings: Vec::new(),
            agent: in_detail.then(|| self.agent(outcome)).flatten(),
            wait_for: in_detail.then(|| self.wait_for(outcome)).flatten(),
        }
    }

    fn finding_view(&mut self, reported: &ReportedFinding<'_>) -> FindingView {
        let ReportedFinding {
            finding,
            severity,
            resource,
            outcome,
            ..
        } = *reported;
        FindingView {
            id: finding.reason.id(),
            severity,
            fails_check: reported.fails_check(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            place: finding.offset.map(|offset| self.place(offset)),
            resource: resource
                .filter(|_| outcome.is_none())
                .map(|resource| resource.identity.clone()),
            field: if finding.reason.class() == Class::Done {
                String::new()
            } else {
                field_path(&finding.pointer)
            },
        }
    }

    fn cause(&mut self, cause: &Cause) -> CauseView {
        match cause {
            Cause::Setting(path) => CauseView {
                rule: path.clone().into_owned(),
                value: self
                    .config
                    .value(path.split('[').next().unwrap_or_default()),
                origin: self.origin(self.config.origin(path)),
            },
            Cause::Manifest { offset, pointer } => CauseView {
                rule: what_stands_at(pointer),
                value: None,
                origin: self.place(*offset).to_string(),
            },
            Cause::Kustomization { place, pointer } => CauseView {
                rule: field_path(pointer),
                value: None,
                origin: place.clone(),
            },
        }
    }

    fn agent(&mut self, outcome: &Outcome) -> Option<ContainerSettings> {
        let agent = outcome.agent.as_ref()?;
        let config = agent.annotated.as_deref().unwrap_or(self.config);
        let settings = config
            .settings()
            .into_iter()
            .filter(|(path, ..)| is_of_the_agent(path));
        let settings = settings.map(|(path, value, origin)| {
            let mut origin = self.origin(origin);
            if let ("agent.env", Some(less)) = (&*path, less_variables(self.config, config)) {
                origin.push_str(&less);
            }
            in_effect(
                SettingView {
                    path,
                    value,
                    origin,
                },
                &agent.container,
                &agent.volume_list,
            )
        });
        let mut settings: Vec<SettingView> = settings.collect();
        let added = amounts_without_a_setting(&agent.container, &settings);
        let behind = settings
            .iter()
            .rposition(|setting| setting.path.starts_with("agent.resources"));
        let at = behind.map_or(settings.len(), |last| last + 1);
        settings.splice(at..at, added);
        Some(ContainerSettings {
            settings,
            stands_in: field_path(&format!(
                "{}/spec/{}",
                outcome.template,
                agent.sidecar.field()
            )),
        })
    }

    fn wait_for(&mut self, outcome: &Outcome) -> Option<ContainerSettings> {
        let Waiting { wait_for, asked } = outcome.wait_for.as_ref()?;
        let hosts: Vec<String> = wait_for.endpoints.iter().map(ToString::to_string).collect();
        let CauseView { rule, origin, .. } = self.cause(asked);
        let mut settings = vec![SettingView {
            path: rule,
            value: hosts.into(),
            origin,
        }];
        // Settings that it shares with an agent are listed there.
        let of_both = |path: &str| OF_BOTH.contains(&of_agent(path)) && outcome.agent.is_none();
        for (path, value, origin) in self.config.settings() {
            if path.starts_with("waitFor.") || of_both(&path) {
                settings.push(SettingView {
                    path,
                    value,
                    origin: self.origin(origin),
                });
            }
        }
        Some(ContainerSettings {
            settings,
            stands_in: field_path(&format!("{}/spec/{}", outcome.template, WaitFor::FIELD)),
        })
    }

    fn origin(&mut self, origin: &Origin) -> String {
        match origin {
            Origin::Annotation { key, offset } => {
                let place = self.place(*offset);
                let name = key.strip_prefix(annotations::PREFIX).unwrap_or(key);
                format!("annotation {name} at {place}")
            }
            other => other.to_string(),
        }
    }
}

/// `, less MACKEREL_ROLES, which an annotation sets`: variables of `agent.env` that annotations of a template replace.
fn less_variables(config: &Config, annotated: &Config) -> Option<String> {
    let stays = |name: &str| {
        annotated
            .spec
            .agent
            .env
            .iter()
            .any(|variable| variable.name == name)
    };
    let env = config.spec.agent.env.iter().map(|variable| &*variable.name);
    let gone: Vec<&str> = env.filter(|name| !stays(name)).collect();
    let who = match gone.len() {
        0 => return None,
        1 => "an annotation sets",
        _ => "annotations set",
    };
    Some(format!(", without {}, which {who}", gone.join(" and ")))
}

/// Settings of the agent that hold for the init container that waits too.
const OF_BOTH: [&str; 3] = ["imagePullPolicy", "imagePullSecrets", "securityContext"];

/// `agent.securityContext.runAsUser` -> `securityContext`; empty for what is not the agent's.
fn of_agent(path: &str) -> &str {
    path.strip_prefix("agent.")
        .and_then(|path| path.split('.').next())
        .unwrap_or_default()
}

/// A field of a resource, for people.
fn what_stands_at(pointer: &str) -> String {
    let field = field_path(pointer);
    match annotation(pointer) {
        Some(name) => format!("annotation {name}"),
        None if field.is_empty() => "the resource".to_owned(),
        None => field,
    }
}

/// The name of this program's annotation at a pointer.
fn annotation(pointer: &str) -> Option<String> {
    let (_, key) = pointer.split_once("/metadata/annotations/")?;
    let key = key.replace("~1", "/");
    Annotation::of(&key)?;
    Some(key.strip_prefix(PREFIX)?.to_owned())
}

/// A setting as the pod has it: names that a user changed since then stay, and the pod's own resources take precedence.
fn in_effect(setting: SettingView, container: &Value, volumes: &Value) -> SettingView {
    let SettingView {
        path,
        value,
        origin,
    } = setting;
    let amount = |list: &str, resource: &str| {
        container["resources"][list][resource.replace("\\.", ".")].clone()
    };
    let resources = path
        .strip_prefix("agent.resources.")
        .and_then(|amount| amount.split_once('.'));
    let volumes = || volumes.as_array().into_iter().flatten();
    let (actual, why) = match (path.as_str(), resources) {
        (_, Some((list, resource))) => {
            let actual = amount(list, resource);
            let why = if actual.is_null() {
                "not added: the pod has `spec.resources`"
            } else {
                "raised: `qos` is `keep`"
            };
            (actual, why)
        }
        ("agent.image", _) => (container["image"].clone(), KEPT),
        ("agent.config.configMapKeyRef.name", _) => {
            let name = volumes()
                .map(|volume| &volume["configMap"]["name"])
                .find(|name| !name.is_null());
            (name.cloned().unwrap_or_default(), KEPT)
        }
        ("apiKey.secretKeyRef.name", _) => {
            let env = container["env"].as_array().into_iter().flatten();
            let key = env.into_iter().find(|variable| variable["name"] == API_KEY);
            (
                key.map(|key| key["valueFrom"]["secretKeyRef"]["name"].clone())
                    .unwrap_or_default(),
                KEPT,
            )
        }
        _ => {
            return SettingView {
                path,
                value,
                origin,
            };
        }
    };
    if actual == value {
        SettingView {
            path,
            value,
            origin,
        }
    } else {
        SettingView {
            path,
            value: actual,
            origin: why.to_owned(),
        }
    }
}

/// Requests and limits that `qos: keep` brought in.
fn amounts_without_a_setting(container: &Value, settings: &[SettingView]) -> Vec<SettingView> {
    let mut added = Vec::new();
    for list in ["limits", "requests"] {
        for (resource, amount) in container["resources"][list]
            .as_object()
            .into_iter()
            .flatten()
        {
            let path = format!("agent.resources.{list}.{}", resource.replace('.', "\\."));
            if !settings.iter().any(|setting| setting.path == path) {
                added.push(SettingView {
                    path,
                    value: amount.clone(),
                    origin: "added: `qos` is `keep`".to_owned(),
                });
            }
        }
    }
    added
}

const KEPT: &str = "kept from the manifest";

/// True for settings of the agent; the others select templates.
fn is_of_the_agent(path: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "annotations",
        "injection",
        "onError",
        "namespace",
        "select",
        "hooks",
        "waitFor",
        "podTemplates",
        "rbac",
    ];
    !OTHERS.contains(&path.split('.').next().unwrap_or_default())
}

impl std::fmt::Display for PlaceView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
