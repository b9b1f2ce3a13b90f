//! Shapes of input that the author of a manifest, an annotation or a configuration can multiply. The work for each must grow no faster
//! than its input and output.

use admission::{Hook, Reviewer};
use config::{API_VERSION, Config, KIND, Sources, load};
use injector::{Direction, ForeignAgents, Options, inject};
use serde_json::{Value, json};
use status::report;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use yaml_json_patch::{Cache, Patch, apply, edit, operations, read, splice, verify};

/// The work that is measured.
pub(crate) type Run = Box<dyn Fn()>;

/// The input of a number.
pub(crate) enum Input {
    /// A text that is injected and uninjected.
    Text(fn(usize) -> String),
    /// Any other, with the work on it.
    Other(fn(usize) -> Run),
}

/// One shape of input.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// The least number to measure.
    pub(crate) least: usize,
    pub(crate) input: Input,
}

impl Shape {
    /// Makes the input, and returns the work on it.
    pub(crate) fn run(&self, n: usize) -> Run {
        match self.input {
            Input::Other(run) => run(n),
            Input::Text(text) => {
                let text = text(n);
                Box::new(move || {
                    for direction in [Direction::Inject, Direction::Uninject] {
                        drop(black_box(inject(
                            &text,
                            &Config::default(),
                            Options::new(direction),
                        )));
                    }
                })
            }
        }
    }
}

const fn text(name: &'static str, least: usize, text: fn(usize) -> String) -> Shape {
    Shape {
        name,
        least,
        input: Input::Text(text),
    }
}

const fn other(name: &'static str, least: usize, run: fn(usize) -> Run) -> Shape {
    Shape {
        name,
        least,
        input: Input::Other(run),
    }
}

const PREFIX: &str = "agent-injector.contrib.mackerel.io/";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n";
const CUSTOM: &str = "apiVersion: example.com/v1\nkind: Foo\n";
const JOB_SET: &str = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n";
const TEMPLATE: &str = "{spec: {containers: [{name: a, image: a:1}]}}";
const JOB: &str = "template: {spec: {template: {spec: {containers: [{name: a, image: a:1}]}}}}";
const POD_ITEM: &str =
    "apiVersion: v1\n  kind: Pod\n  spec:\n    containers:\n    - name: a\n      image: a:1\n";
const POD: &str =
    "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        image: a:1\n";
/// Taken as a whole because of its anchor.
const LIST: &str = "kind: List\nmetadata: &m {}\nother: *m\nitems:\n";
const AGENT: &str = r#""list":"containers","plan":"4fd0bfc1","value":"4fd0bfc1","names":{}"#;

/// A record of an agent with pull secrets, as JSON writes its text; each name but the last is followed by `","`.
fn record_of_pull_secrets(names: &str) -> Value {
    json!(format!(
        r#"v1{{"agent":{{{AGENT}}},"pullSecrets":{{"after":0,"names":["{names}s"]}}}}"#
    ))
}

/// Every shape, those of one part of the program together.
pub(crate) const SHAPES: &[Shape] = &[
    // The configuration.
    other("pattern: [:", 400, |n| {
        configuration(&format!("agent.ignoreContainer=[{}", "[:".repeat(n)))
    }),
    other("pattern: named groups", 800, |n| {
        configuration(&format!(
            "agent.ignoreContainer={}",
            each(n, |i| format!("(?P<n{i}>a)"))
        ))
    }),
    other("configuration: roles", 400, |n| {
        configuration(&format!(
            "agent.roles=[{}]",
            each(n, |i| format!("shop:r{i}, "))
        ))
    }),
    other("configuration: variables", 400, |n| {
        configuration(&format!(
            "agent.env=[{}]",
            each(n, |i| format!("{{name: V{i}, value: a}}, "))
        ))
    }),
    other("configuration: nulls", 400, |n| {
        let items = each(n, |i| {
            format!("{{group: g.io, kind: K{i}, path: a, completes: null}}, ")
        });
        configuration(&format!("podTemplates=[{items}]"))
    }),
    other("configuration: unknown fields", 400, |n| {
        configuration(&format!(
            "agent.env=[{}]",
            each(n, |i| format!("{{name: V{i}, vaule: a}}, "))
        ))
    }),
    other("configuration: nulls of groups", 400, |n| {
        configuration(&format!(
            "select.exclude=[{}]",
            each(n, |i| format!("{{kind: K{i}, podSelector: null}}, "))
        ))
    }),
    other("configuration: null amounts", 400, |n| {
        configuration(&format!(
            "agent.resources.limits={{{}}}",
            each(n, |i| format!("g.io/{i}: null, "))
        ))
    }),
    other("configuration: empty texts", 400, |n| {
        configuration(&format!(
            "select.exclude=[{}]",
            each(n, |i| format!("{{kind: K{i}, namespace: ''}}, "))
        ))
    }),
    other("configuration: wrong values", 400, |n| {
        configuration(&format!("agent.roles=[{}]", each(n, |i| format!("{i}, "))))
    }),
    other("configuration: wrong labels", 400, |n| {
        configuration(&format!(
            "select.podSelector.matchLabels={{{}}}",
            each(n, |i| format!("a b{i}: c, "))
        ))
    }),
    other("configuration: unknown settings", 400, |n| {
        configured(&format!("{{{}}}", each(n, |i| format!("k{i}: 1, "))))
    }),
    other("configuration: duplicate keys", 400, |n| {
        configured(&format!("{{{}}}", each(n, |_| "qos: keep, ".to_owned())))
    }),
    other("configuration: items in one line", 400, |n| {
        let roles = each(n, |i| format!("'shop:r{i}', "));
        configured(&format!("{{agent: {{roles: [{roles}]}}}}"))
    }),
    other("configuration: dotted paths", 400, |n| {
        config_map(&each(n, |i| format!("  agent.k{i}: a\n")))
    }),
    other("configuration: dotted labels", 400, |n| {
        let label = "select.podSelector.matchLabels.k";
        config_map(&each(n, |i| format!("  {label}{i}: a\n")))
    }),
    // Annotations and labels of a pod.
    other("annotations: unknown", 100, |n| {
        pod(&each(n, |i| format!(r#","{PREFIX}k{i}":"x""#)), "")
    }),
    other("annotations: variables", 400, |n| {
        pod(&each(n, |i| format!(r#","{PREFIX}env.K{i}":"x""#)), "")
    }),
    other("annotations: like inject", 400, |n| {
        pod(&each(n, |i| format!(r#","{}":"x""#, like_inject(i))), "")
    }),
    other("annotations: one key, repeated", 1000, |n| {
        pod(&format!(r#","{PREFIX}inject":"true""#).repeat(n), "")
    }),
    other("annotations: no strings", 1000, |n| {
        pod(&each(n, |i| format!(r#","{}":true"#, like_inject(i))), "")
    }),
    other("annotations: labels with their names", 100, |n| {
        let ours = |name: &str| each(n, |i| format!(r#","{PREFIX}{name}{i}":"x""#));
        pod(
            &format!(r#"{}}},"labels":{{"a":"b"{}"#, ours("k"), ours("l")),
            "",
        )
    }),
    other("annotations: a long value", 4000, |n| {
        pod(
            &format!(r#","{PREFIX}ignore-container":"[{}""#, "[:".repeat(n)),
            "",
        )
    }),
    other("record: pull secrets", 400, |n| {
        let record = record_of_pull_secrets(&each(n, |i| format!("s{i}\",\"")));
        let secrets = each(n, |i| format!(r#"{{"name":"t{i}"}},"#));
        pod(
            &format!(r#","{PREFIX}record":{record}"#),
            &format!(r#""imagePullSecrets":[{secrets}{{}}],"#),
        )
    }),
    other("record: renamed pull secrets", 400, |n| {
        let record = record_of_pull_secrets(&each(n, |i| format!("s{i}-\",\"")));
        let secrets = each(n, |i| format!(r#"{{"name":"a-s{i}-"}},"#));
        pod(
            &format!(r#","{PREFIX}record":{record}"#),
            &format!(r#""imagePullSecrets":[{secrets}{{}}],"#),
        )
    }),
    other("record: volumes", 1000, |n| {
        let record = json!(format!(
            r#"v1{{"agent":{{{AGENT},"volumes":["tmp"{}]}}}}"#,
            r#","tmp""#.repeat(n)
        ));
        let volumes = each(n, |i| format!(r#"{{"name":"v{i}"}},"#));
        pod(
            &format!(r#","{PREFIX}record":{record}"#),
            &format!(r#""volumes":[{volumes}{{}}],"#),
        )
    }),
    // Workloads with many templates.
    other("JobSet: templates and annotations", 40, |n| {
        job_set(&each(n, |i| format!(r#","{PREFIX}k{i}":"x""#)), "", n)
    }),
    other("JobSet: templates and foreign annotations", 100, |n| {
        job_set(&each(n, |i| format!(r#","k{i}":"x""#)), "", n)
    }),
    other("JobSet: templates and owners", 100, |n| {
        job_set(
            "",
            &format!(
                r#","ownerReferences":[{}{{}}]"#,
                r#"{"name":"a"},"#.repeat(n)
            ),
            n,
        )
    }),
    other("JobSet: templates that wait", 40, waiting_job_set),
    text("JobSet: templates", 40, |n| {
        format!(
            "{JOB_SET}metadata: {{name: a}}\nspec:\n  replicatedJobs:\n{}",
            each(n, |_| format!("  - {JOB}\n"))
        )
    }),
    // Streams.
    text("stream: kinds", 400, |n| {
        each(n, |i| {
            format!("---\napiVersion: example.com/v1\nkind: Kind{i}\n")
        })
    }),
    text("stream: lists of kinds", 100, |n| {
        each(n, |i| {
            format!("---\nkind: List\nitems:\n- apiVersion: example.com/v1\n  kind: Kind{i}\n")
        })
    }),
    text("stream: lists that are read again", 20, |n| {
        let item = |i| {
            format!(
                "- kind: Pod\n  metadata: {{labels: {{{PREFIX}k{i}: x}}}}\n  spec: {{containers: [{{name: a}}]}}\n"
            )
        };
        each(n, |i| {
            format!("---\napiVersion: v1\nkind: List\nitems:\n{}- [\n", item(i))
        })
    }),
    text("stream: warnings", 10, |n| {
        each(n, |i| {
            format!("---\n{DEPLOYMENT}  annotations: {{{PREFIX}k{i}: x}}\n{POD}")
        })
    }),
    text("stream: unknown kinds", 10, |n| {
        each(n, |i| {
            format!(
                "---\napiVersion: example.com/v1\nkind: Kind{i}\nspec: {{template: {TEMPLATE}}}\n"
            )
        })
    }),
    text("stream: namespaces and Secrets", 10, |n| {
        each(n, |i| {
            let metadata = format!("metadata: {{name: mackerel-container-agent, namespace: n{i}}}");
            let secret =
                format!("---\napiVersion: v1\nkind: Secret\n{metadata}\nstringData: {{a: b}}\n");
            format!("{secret}---\napiVersion: apps/v1\nkind: Deployment\n{metadata}\n{POD}")
        })
    }),
    // JSON on one line.
    text("one line: `#` in a text", 4000, |n| {
        format!(
            "{DEPLOYMENT}  labels: {{a: \"{}\"}}\n{POD}",
            " #@/".repeat(n)
        )
    }),
    text("one line: errors", 100, |n| {
        let metadata = r#""metadata": {"annotations": ["x"]}"#;
        let template = format!(r#"{{{metadata}, "spec": {{"containers": [{{"name": "a"}}]}}}}"#);
        let item = format!(
            r#"{{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {{"template": {template}}}}}"#
        );
        format!(
            r#"{{"apiVersion": "v1", "kind": "List", "items": [{item}{}]}}"#,
            format!(", {item}").repeat(n)
        )
    }),
    // What is looked at in search of templates.
    text("search: white space", 20_000, |n| {
        format!("{DEPLOYMENT}    {}\n{POD}", "\t".repeat(n))
    }),
    text("search: repeated keys, and others", 1000, |n| {
        format!(
            "{DEPLOYMENT}{}spec:\n{}",
            "spec: 1\n".repeat(n),
            each(n, key)
        )
    }),
    text("search: repeated templates", 200, |n| {
        format!(
            "{DEPLOYMENT}{}spec: 1\n",
            format!("spec: {{template: {TEMPLATE}}}\n").repeat(n)
        )
    }),
    text("search: templates beside the place", 200, |n| {
        format!("{DEPLOYMENT}{}", each(n, |i| format!("k{i}: {TEMPLATE}\n")))
    }),
    text("search: templates of an unknown kind", 200, |n| {
        format!("{CUSTOM}{}", each(n, |i| format!("k{i}: {TEMPLATE}\n")))
    }),
    text("search: items", 200, |n| {
        format!(
            "{LIST}{}",
            each(n, |i| format!("- {{kind: ConfigMap, data: {{k: v{i}}}}}\n"))
        )
    }),
    text("search: items of two kinds", 200, |n| {
        format!(
            "{LIST}{}",
            each(n, |i| format!(
                "- {{kind: Pod, kind: ConfigMap, data: {{k: v{i}}}}}\n"
            ))
        )
    }),
    text("search: aliases of a list", 100, |n| {
        let jobs = format!("- {JOB}\n").repeat(n);
        let aliases = "spec: {replicatedJobs: *x}\n".repeat(n);
        format!("{JOB_SET}x: &x\n{jobs}spec: {{replicatedJobs: *x}}\n{aliases}spec: 1\n")
    }),
    // Kubernetes bounds what aliases may multiply: to 400,000 nodes in a text of this length. Nothing is decided beyond.
    text("decide: annotations of aliased pods", 700, |n| {
        let misspelt = each(n, |i| format!("{PREFIX}x{i}: v, "));
        let pod = "- {apiVersion: v1, kind: Pod, metadata: *m, spec: {containers: [{name: a, image: a}]}}\n";
        format!(
            "apiVersion: v1\nkind: List\nx: &m {{annotations: {{{misspelt}}}}}\nitems:\n{}",
            pod.repeat(n)
        )
    }),
    text("search: aliases of an item", 100, |n| {
        let jobs = format!("    {JOB}\n").repeat(n);
        format!(
            "{JOB_SET}spec:\n  replicatedJobs:\n  - &a\n{jobs}    template: 1\n{}",
            "  - *a\n".repeat(n)
        )
    }),
    text("search: a list that ends in white space", 100, |n| {
        format!(
            "{LIST}{}- {POD_ITEM}    \t\n",
            format!("- {POD_ITEM}").repeat(n)
        )
    }),
    text("search: merges", 200, |n| {
        format!(
            "{CUSTOM}base: &b\n{}list:\n{}# containers\n",
            each(n, key),
            "- {<<: *b}\n".repeat(n)
        )
    }),
    // Manifests in one line of JSON, lists that share their items, and documents that hide a template each.
    text("search: manifests in one line", 200, |n| {
        let service = r#""apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "#;
        format!("{{{}\"kind\": \"Pod\"}}\n", service.repeat(n))
    }),
    text("search: lists that share their items", 200, |n| {
        let pods = "- {apiVersion: v1, kind: Pod}\n".repeat(n);
        format!(
            "kind: List\nx: &x\n{pods}{}items: []\n",
            "items: *x\n".repeat(n)
        )
    }),
    text("search: hidden templates", 100, |n| {
        format!("{DEPLOYMENT}{POD}spec: 1\n---\n").repeat(n)
    }),
    // Foreign agents that are adopted.
    other("adopt: variables", 200, |n| {
        adopted("env", &each(n, |i| format!("{{name: V{i}, value: a}}, ")))
    }),
    other("adopt: mounts", 200, |n| {
        adopted(
            "volumeMounts",
            &each(n, |i| format!("{{name: v{i}, mountPath: /v{i}}}, ")),
        )
    }),
    // Operations of one patch.
    other("editor: replace all keys", 1000, |n| {
        patched(keys(n), n, |i| replaced(&format!("/k{i}")))
    }),
    other("editor: replace all keys of JSON", 1000, |n| {
        patched(json!(of_keys(n)).to_string(), n, |i| {
            replaced(&format!("/k{i}"))
        })
    }),
    other("editor: remove all keys but one", 1000, |n| {
        patched(keys(n + 1), n, |i| removed(&format!("/k{i}")))
    }),
    other("editor: add keys", 1000, |n| {
        patched(keys(1), n, |i| added(&format!("/a{i}")))
    }),
    // The same, carried out as one after the other.
    other("patch: replace all keys", 1000, |n| {
        applied(keys(n), n, |i| replaced(&format!("/k{i}")))
    }),
    other("patch: replace all keys of JSON", 1000, |n| {
        applied(json!(of_keys(n)).to_string(), n, |i| {
            replaced(&format!("/k{i}"))
        })
    }),
    other("patch: replace a key of all mappings", 1000, |n| {
        applied(each(n, |i| format!("k{i}:\n  a: 1\n")), n, |i| {
            replaced(&format!("/k{i}/a"))
        })
    }),
    other("patch: add keys", 1000, |n| {
        applied(keys(n), n, |i| added(&format!("/a{i}")))
    }),
    other("patch: append items", 1000, |n| {
        applied(items(n), n, |_| added("/-"))
    }),
    other("patch: test all keys", 1000, |n| {
        applied(
            keys(n),
            n,
            |i| json!({"op": "test", "path": format!("/k{i}"), "value": i}),
        )
    }),
    other("editor: copy aliases", 1000, |n| {
        let aliases = each(n, |i| format!("- *a{i}\n"));
        let text = format!(
            "{}list:\n{aliases}",
            each(n, |i| format!("k{i}: &a{i} 1\n"))
        );
        patched(text, 1, |_| copied("/list", "/more"))
    }),
    other("editor: insert in front", 1000, |n| {
        patched(items(n), n, |_| added("/0"))
    }),
    other("editor: remove in front", 1000, |n| {
        patched(items(n + 1), n, |_| removed("/0"))
    }),
    other("editor: fill brackets in brackets", 1000, |n| {
        patched(format!("[{}]", each(n, |_| "{}, ".into())), n, |i| {
            added(&format!("/{i}/a"))
        })
    }),
    other("editor: replace lines below anchors", 500, |n| {
        patched(
            each(n, |i| format!("- a: &a{i}\n    b: 1\n")),
            n,
            |i| json!({"op": "replace", "path": format!("/{i}/a"), "value": {"c": 1}}),
        )
    }),
    other("editor: beside lists of many layouts", 1000, |n| {
        // As many layouts as have about as many bytes as the lists that share one.
        let side = (n as f64).cbrt() as usize;
        let list = |i: usize| {
            let (offset, gap) = ((i + 1) % side, 1 + (i + 1) / side);
            format!("k{i}:\n{:offset$}-{:gap$}x\n", "", "")
        };
        patched(
            each(side * side, list) + &each(n, |i| format!("l{i}:\n- x\n")),
            1,
            |_| json!({"op": "add", "path": "/new", "value": {"a": [1]}}),
        )
    }),
    other("editor: escapes in quotes", 10_000, |n| {
        patched(format!("a: \"{}\"\n", "\\t".repeat(n)), 1, |_| {
            moved("/a", "/b")
        })
    }),
    // Manifests whose templates are edited together.
    text("edit: aliased pods", 100, |n| {
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: *spec}, ";
        let spec = "{containers: [{name: a, image: a:1}]}";
        format!(
            "kind: List\nspec: &spec {spec}\nitems: [{}]\n",
            pod.repeat(n)
        )
    }),
    text("edit: every second template uneditable", 100, |n| {
        let uneditable =
            "template: {spec: {template: {spec: {containers: &a [{name: a}], x: *a}}}}";
        let jobs = format!("  - {JOB}\n  - {uneditable}\n").repeat(n);
        format!("{JOB_SET}metadata: {{name: a}}\nspec:\n  replicatedJobs:\n{jobs}")
    }),
    text("edit: lists that are read as a whole", 50, |n| {
        let pod = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: a:1}]}}";
        format!("kind: List\nitems:\n- &a {pod}\n- *a\n---\n").repeat(n)
    }),
    text("edit: tabs below a plain scalar", 1000, |n| {
        let pod = "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: a\n    image: a:1\n";
        format!("{pod}{}", "      \t\n".repeat(n))
    }),
    text("rbac: others in one line", 200, |n| {
        let roles = each(n, |i| {
            format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: r{i}}}}}, "
            )
        });
        format!("{{apiVersion: v1, kind: List, items: [{roles}]}}\n")
    }),
    // Living pods.
    other("status: outdated pods", 20, |n| {
        status(n, "agent.roles=[shop:web]")
    }),
    other("status: pods and owners", 20, |n| status(n, "sidecar=auto")),
];

fn each(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect()
}

fn key(number: usize) -> String {
    format!("  k{number}: 1\n")
}

/// Keys whose prefix is nearly ours.
fn like_inject(number: usize) -> String {
    format!(
        "agent-injector.contrib.mackerel.i{}{:02x}/inject",
        char::from(b'g' + (number / 256 % 20) as u8),
        number % 256
    )
}

fn configuration(set: &str) -> Run {
    let set = [set.to_owned()];
    Box::new(move || drop(black_box(load(&Sources::default().with_set(&set)))))
}

fn configured(spec: &str) -> Run {
    file(format!(
        "{{apiVersion: {API_VERSION}, kind: {KIND}, spec: {spec}}}"
    ))
}

fn config_map(data: &str) -> Run {
    file(format!("apiVersion: v1\nkind: ConfigMap\ndata:\n{data}"))
}

fn file(text: String) -> Run {
    Box::new(move || drop(black_box(load(&Sources::of_text("a.yaml", &text)))))
}

/// A pod with a foreign agent that has such a list. The list is adopted, and lost.
fn adopted(field: &str, items: &str) -> Run {
    let agent = format!("{{name: b, image: mackerel-container-agent, {field}: [{items}]}}");
    let text = format!(
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {{name: a, image: a:1}}\n  - {agent}\n"
    );
    let mut options = Options::new(Direction::Inject);
    options.foreign_agents = ForeignAgents::AdoptLossy;
    Box::new(move || drop(black_box(inject(&text, &Config::default(), options))))
}

/// A pod that is created, with more annotations and more of a PodSpec. As text, since keys may be repeated.
fn pod(annotations: &str, spec: &str) -> Run {
    let metadata = format!(r#"{{"name":"a","annotations":{{"a":"b"{annotations}}}}}"#);
    let spec = format!(r#"{{{spec}"containers":[{{"name":"a","image":"a:1"}}]}}"#);
    let object =
        format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{metadata},"spec":{spec}}}"#);
    review(
        Hook::Mutate,
        &json!({"group": "", "version": "v1", "kind": "Pod"}),
        "pods",
        &object,
    )
}

/// Reports on pods as kubectl prints them, with their ReplicaSets. Every two pods belong to one Deployment, and their agents came with
/// its manifest, injected under the default configuration.
fn status(n: usize, set: &str) -> Run {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}).to_string();
    let injection = inject(&pod, &Config::default(), Options::default());
    let pod: Value = serde_json::from_str(&injection.apply(&pod).unwrap()).unwrap();
    let mut items = Vec::new();
    for i in 0..n {
        let owner = |kind: &str, name: String| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": true}]);
        let mut pod = pod.clone();
        pod["metadata"]["name"] = json!(format!("web-{i}"));
        pod["metadata"]["uid"] = json!(format!("{i}"));
        pod["metadata"]["namespace"] = json!("shop");
        pod["metadata"]["ownerReferences"] = owner("ReplicaSet", format!("web-{}", i / 2));
        pod["status"] =
            json!({"containerStatuses": [{"name": "mackerel-container-agent", "ready": true}]});
        items.push(pod);
        items.push(
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
            "name": format!("web-{}", i / 2), "namespace": "shop",
            "ownerReferences": owner("Deployment", format!("web{}", i / 2))}}),
        );
    }
    let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let config = load(&Sources::default().with_set(&[set.to_owned()])).unwrap();
    Box::new(move || drop(black_box(report(&[&text], &config))))
}

/// A JobSet that is applied, with more annotations, more of its metadata and `n` templates.
fn job_set(annotations: &str, metadata: &str, n: usize) -> Run {
    let metadata = format!(r#"{{"name":"a","annotations":{{"a":"b"{annotations}}}{metadata}}}"#);
    let template = r#"{"spec":{"containers":[{"name":"a","image":"a:1"}]}}"#;
    job_set_of(Hook::Warn, &metadata, &vec![template; n])
}

/// A JobSet whose templates ask for wait-for.
fn waiting_job_set(n: usize) -> Run {
    let wait = format!(r#"{{"annotations":{{"{PREFIX}wait-for":"db:5432"}}}}"#);
    let template =
        format!(r#"{{"metadata":{wait},"spec":{{"containers":[{{"name":"a","image":"a:1"}}]}}}}"#);
    job_set_of(Hook::WaitFor, r#"{"name":"a"}"#, &vec![&*template; n])
}

fn job_set_of(hook: Hook, metadata: &str, templates: &[&str]) -> Run {
    let job = |template: &&str| format!(r#"{{"template":{{"spec":{{"template":{template}}}}}}}"#);
    let jobs = templates.iter().map(job).collect::<Vec<_>>().join(",");
    let kind = json!({"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"});
    let object = format!(
        r#"{{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{metadata},"spec":{{"replicatedJobs":[{jobs}]}}}}"#
    );
    review(hook, &kind, "jobsets", &object)
}

fn items(n: usize) -> String {
    each(n, |i| format!("- {i}\n"))
}

fn keys(n: usize) -> String {
    each(n, |i| format!("k{i}: {i}\n"))
}

fn of_keys(n: usize) -> BTreeMap<String, usize> {
    (0..n).map(|i| (format!("k{i}"), i)).collect()
}

fn added(path: &str) -> Value {
    json!({"op": "add", "path": path, "value": "x"})
}

fn replaced(path: &str) -> Value {
    json!({"op": "replace", "path": path, "value": "x"})
}

fn removed(path: &str) -> Value {
    json!({"op": "remove", "path": path})
}

fn moved(from: &str, path: &str) -> Value {
    json!({"op": "move", "from": from, "path": path})
}

fn copied(from: &str, path: &str) -> Value {
    json!({"op": "copy", "from": from, "path": path})
}

/// The text, with a patch of so many operations applied.
fn applied(text: String, count: usize, one: impl Fn(usize) -> Value) -> Run {
    let patch: Patch = serde_json::from_value((0..count).map(one).collect()).expect("a patch");
    Box::new(move || drop(black_box(apply(&text, &patch).expect("a patch that fits"))))
}

/// The text, patched by so many operations at once. One alone may be any.
fn patched(text: String, count: usize, one: impl Fn(usize) -> Value) -> Run {
    if count == 1 {
        return applied(text, count, one);
    }
    let patch: Patch = serde_json::from_value((0..count).map(one).collect()).expect("a patch");
    Box::new(move || {
        let (tree, cache) = (read(&text).expect("YAML"), Cache::default());
        let spliced = splice(&tree, operations(&patch), &cache).expect("a patch that fits");
        let edited = edit::apply(&text, &spliced.edits);
        let new = cache
            .read_edited(&tree, &spliced.edits, &edited)
            .expect("YAML");
        verify(&tree, &spliced, &new, &cache).expect("the patched document");
        drop(black_box(edited));
    })
}

fn review(hook: Hook, kind: &Value, resource: &str, object: &str) -> Run {
    let resource =
        json!({"group": kind["group"], "version": kind["version"], "resource": resource});
    let body = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"1","operation":"CREATE","namespace":"shop","kind":{kind},"resource":{resource},"object":{object}}}}}"#
    );
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    Box::new(move || {
        drop(black_box(
            reviewer.answer(hook, body.as_bytes()).expect("a review"),
        ))
    })
}
