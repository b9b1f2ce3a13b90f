//! The rules of `decide` about pods that get no agent and need none, as conditions in CEL.

use crate::cel::{self, Named};
use config::{
    Config, Exclusion, Hooks, InjectionMode, KubernetesVersion, LabelOperator, LabelSelector,
    NamespacePattern, SidecarKind,
};
use mackerel::annotations::Annotation;
use mackerel::names::{IMAGE_NAME, KUBERNETES_VARIABLES, PLATFORM};
use manifest::WINDOWS_NODES;

/// The containers of a pod that is being created.
const CONTAINERS: &str = "object.spec.containers + object.spec.?initContainers.orValue([])";

/// The condition that the pod runs to completion.
pub(super) const COMPLETES: &str = "object.spec.containers.all(c, c.?restartPolicy.orValue(object.spec.?restartPolicy.orValue('Always')) in ['Never', 'OnFailure'])";

/// The condition that the pod has resources of its own for all containers.
pub(super) const POD_RESOURCES: &str =
    "['requests', 'limits'].exists(l, size(object.spec.?resources[?l].orValue({})) > 0)";

/// The condition that all containers have limits for CPU and memory, and equal requests, and the pod has none of its own.
pub(super) const GUARANTEED: &str = "variables.containers.all(c, ['cpu', 'memory'].all(r,
  c.?resources.limits[?r].optMap(l, quantity(string(l)).isGreaterThan(quantity('0'))
  && quantity(string(c.?resources.requests[?r].orValue(l))).compareTo(quantity(string(l))) == 0).orValue(false)))
&& ['requests', 'limits'].all(l, size(object.spec.?resources[?l].orValue({})) == 0)";

/// The terms by which a pod requires nodes.
const NODE_TERMS: &str = "object.spec.?affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.orValue([])";

/// Returns the condition that the pod is for Windows nodes.
fn windows() -> String {
    let nodes = requires_nodes(&WINDOWS_NODES);
    format!(
        "object.spec.?os.name.orValue('') == 'windows'
|| ([object.spec] + variables.containers).exists(h, h.?securityContext.windowsOptions.orValue({{}}).exists(o,
  !(h.securityContext.windowsOptions[o] in [dyn(false), dyn('')])))
|| {nodes}"
    )
}

/// Returns the condition that the pod runs only on nodes that meet one of the requirements.
pub(super) fn requires_nodes(requirements: &[[&str; 3]]) -> String {
    let (mut labels, mut expressions) = (Vec::new(), Vec::new());
    for [key, operator, value] in requirements {
        let (label, values) = match *value {
            "" => ("!= ''".to_owned(), String::new()),
            value => (
                format!("== '{value}'"),
                format!(" && e.?values.orValue([]) == ['{value}']"),
            ),
        };
        if *operator == "In" {
            labels.push(format!(
                "object.spec.?nodeSelector[?'{key}'].orValue('') {label}"
            ));
        }
        expressions.push(format!(
            "e.key == '{key}' && e.operator == '{operator}'{values}"
        ));
    }
    format!(
        "{}
|| size(variables.nodeTerms) > 0 && variables.nodeTerms.all(t, t.?matchExpressions.orValue([]).exists(e,
  {}))",
        labels.join("\n|| "),
        expressions.join("\n  || ")
    )
}

/// The condition that no list of the pod that conditions loop over has more than 1,000 items: the time of a loop grows with the
/// square of their number. All variables together must stay within what the API server lets one expression cost.
pub(super) const FEW_ITEMS: &str = "size(variables.annotations) <= 1000
&& size(object.spec.?volumes.orValue([])) <= 1000
&& size(object.spec.?imagePullSecrets.orValue([])) <= 1000
&& size(variables.containers) <= 1000
&& variables.containers.all(c, size(c.?env.orValue([])) <= 1000 && size(c.?volumeMounts.orValue([])) <= 1000)
&& variables.containers.map(c, size(c.?env.orValue([]))).sum() <= 50000
&& variables.containers.all(c, size(c.?command.orValue([]) + c.?args.orValue([])) <= 1000)
&& size(variables.nodeTerms) <= 1000
&& variables.nodeTerms.map(t, size(t.?matchExpressions.orValue([]))).sum() <= 10000
&& variables.nodeTerms.all(t, size(t.?matchExpressions.orValue([])) <= 1000
  && t.?matchExpressions.orValue([]).all(e, size(e.?values.orValue([])) <= 1000))";

/// The annotations of the pod.
pub(super) const ANNOTATIONS: &str = "object.metadata.?annotations.orValue({})";

/// Returns the condition that the pod requests the agent.
pub(super) fn requested(config: &Config) -> String {
    let key = cel::string(Annotation::Inject.key());
    let default = match config.spec.injection {
        InjectionMode::Always => "true",
        InjectionMode::Annotated | InjectionMode::Disabled => "false",
    };
    format!("object.metadata.?annotations[?{key}].orValue('{default}').lowerAscii() != 'false'")
}

/// Returns the conditions on pods that are requested, and should have the agent.
pub(super) fn scope(config: &Config, requested: String) -> Vec<Named> {
    let spec = &config.spec;
    let mut conditions = vec![
        Named::new("requested", requested),
        Named::new(
            "notAMirrorPod",
            format!("!('kubernetes.io/config.mirror' in {ANNOTATIONS})"),
        ),
        Named::new(
            "notLocalConfig",
            format!("{ANNOTATIONS}[?'config.kubernetes.io/local-config'].orValue('') != 'true'"),
        ),
    ];
    if spec.hooks == Hooks::Skip {
        let hooks =
            format!("!['helm.sh/hook', 'argocd.argoproj.io/hook'].exists(k, k in {ANNOTATIONS})");
        conditions.push(Named::new("notAHook", hooks));
    }
    let has_native = spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
    if spec.sidecar == SidecarKind::Auto && !has_native {
        conditions.push(Named::new(
            "needsNoNativeSidecar",
            format!("!({COMPLETES})"),
        ));
    }
    let select = &spec.select;
    if !select.namespaces.is_empty() {
        conditions.push(Named::new("selectedNamespace", is_in(&select.namespaces)));
    }
    if !select.exclude_namespaces.is_empty() {
        let excluded = format!("!{}", is_in(&select.exclude_namespaces));
        conditions.push(Named::new("notAnExcludedNamespace", excluded));
    }
    let labels = labels(&select.pod_selector);
    if !labels.is_empty() {
        conditions.push(Named::new("selectedLabels", labels.join("\n&& ")));
    }
    if !select.exclude.is_empty() {
        let excluded = Vec::from_iter(select.exclude.iter().map(is_excluded)).join("\n|| ");
        conditions.push(Named::new("notExcluded", format!("!({excluded})")));
    }
    conditions
}

/// Returns the condition that the pod is in a namespace of these names and globs.
fn is_in(patterns: &[NamespacePattern]) -> String {
    let pattern = patterns
        .iter()
        .map(|pattern| pattern.to_string().replace('*', ".*").replace('?', "."))
        .collect::<Vec<_>>()
        .join("|");
    let pattern = cel::string(&format!("^({pattern})$"));
    format!("request.namespace.matches({pattern})")
}

/// Returns the condition that an item of `select.exclude` matches the pod. One by kind is about pods without a controller.
fn is_excluded(exclusion: &Exclusion) -> String {
    let mut conditions = Vec::new();
    if exclusion.kind.is_some() || exclusion.group.is_some() {
        let owned = "!(true in object.metadata.?ownerReferences.orValue([]).map(o, o.?controller.orValue(false)))";
        conditions.push(owned.to_owned());
    }
    if let Some(namespace) = &exclusion.namespace {
        conditions.push(is_in(std::slice::from_ref(namespace)));
    }
    if let Some(name) = &exclusion.name {
        conditions.push(format!(
            "object.metadata.?name.orValue('') == {}",
            cel::string(name)
        ));
    }
    conditions.extend(labels(&exclusion.pod_selector));
    format!("({})", conditions.join(" && "))
}

/// Returns the conditions of a label selector on the pod.
fn labels(selector: &LabelSelector) -> Vec<String> {
    const LABELS: &str = "object.metadata.?labels.orValue({})";
    let mut conditions = Vec::new();
    for (key, value) in &selector.match_labels {
        let (key, value) = (cel::string(key), cel::string(value));
        conditions.push(format!("{LABELS}[?{key}] == optional.of({value})"));
    }
    for requirement in &selector.match_expressions {
        let key = cel::string(&requirement.key);
        let values = cel::strings(&requirement.values);
        let is_present = format!("{key} in {LABELS}");
        let is_among = format!("({is_present} && {LABELS}[{key}] in {values})");
        conditions.push(match requirement.operator {
            LabelOperator::In => is_among,
            LabelOperator::NotIn => format!("!{is_among}"),
            LabelOperator::Exists => is_present,
            LabelOperator::DoesNotExist => format!("!({is_present})"),
        });
    }
    conditions
}

/// Returns variables about the pod. Those of large lists come after [`FEW_ITEMS`].
pub(super) fn variables() -> Vec<Named> {
    let words = "(c.?command.orValue([]) + c.?args.orValue([]))";
    let has_agent = format!(
        "variables.containers.exists(c, c.?image.orValue('').matches('^([^@]*/)?{IMAGE_NAME}(:[^/@]*)?(@.*)?$')
  && (size({words}) == 0 || size(c.?envFrom.orValue([])) > 0 && !{words}.exists(w, w.contains('mkr')))
  || c.?env.orValue([]).exists(e, e.name == '{PLATFORM}' || e.name.startsWith('{KUBERNETES_VARIABLES}')))"
    );
    vec![
        Named::new("annotations", ANNOTATIONS),
        Named::new("containers", CONTAINERS),
        Named::new("nodeTerms", NODE_TERMS),
        Named::new("isForWindows", windows()),
        Named::new("hasAgent", has_agent),
    ]
}
