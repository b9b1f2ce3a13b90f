//! Manifests in any layout, made from a tape of bytes: each choice takes the next byte, and an empty tape takes the
//! plainest way. So proptest shrinks a failure to the one odd choice that matters.

mod configuration;
mod writer;

pub use configuration::{configuration, configuration_text};

use writer::{json, yaml};

/// The choices.
pub struct Tape<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> Tape<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
        }
    }

    /// A number below `count`; 0 is the plainest choice.
    fn pick(&mut self, count: usize) -> usize {
        self.bytes
            .next()
            .map_or(0, |byte| usize::from(*byte) % count)
    }

    /// True once in about `count` times.
    fn seldom(&mut self, count: usize) -> bool {
        self.pick(count) + 1 == count && count > 1
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.pick(choices.len())]
    }
}

/// The value of a node of a generated manifest.
#[derive(Clone)]
enum Yaml {
    Map(Vec<(&'static str, Yaml)>),
    Seq(Vec<Yaml>),
    Text(&'static str),
    /// Text that is written as it is: a number, a quoted string.
    Raw(&'static str),
    /// A literal or folded scalar, header and lines.
    Block(&'static str, &'static [&'static str]),
    Null,
}

const PREFIX: &str = "agent-injector.contrib.mackerel.io";

/// A stream of documents.
pub fn stream(tape: &mut Tape<'_>) -> String {
    let count = 1 + tape.pick(4) / 2;
    let mut out = String::new();
    for number in 0..count {
        if number > 0 || tape.seldom(3) {
            out.push_str(tape.one_of(&[
                "---\n",
                "--- # next\n",
                "---\n---\n",
                "---\n# only a comment\n---\n",
            ]));
        }
        let resource = if tape.seldom(6) {
            list(tape)
        } else {
            resource(tape)
        };
        if tape.seldom(8) {
            let pretty = tape.pick(2) == 0;
            json(&resource, pretty, 0, &mut out);
            out.push('\n');
        } else {
            out.push_str(&yaml(&resource, tape));
        }
        if tape.seldom(9) {
            out.push_str("...\n");
        }
    }
    if tape.seldom(5) {
        out.push_str(tape.one_of(&["# the end\n", "\n\n", "  # indented\n", "---\n"]));
    }
    if tape.seldom(5) && out.ends_with('\n') {
        out.pop();
    }
    match tape.pick(8) {
        6 => out = out.replace('\n', "\r\n"),
        7 => {
            out = out
                .split_inclusive('\n')
                .map(|line| {
                    if tape.pick(2) == 0 {
                        line.to_owned()
                    } else {
                        line.replace('\n', "\r\n")
                    }
                })
                .collect()
        }
        _ => {}
    }
    if tape.seldom(10) {
        format!("\u{feff}{out}")
    } else {
        out
    }
}

fn list(tape: &mut Tape<'_>) -> Yaml {
    let mut items = Vec::new();
    for _ in 0..tape.pick(4) {
        items.push(if tape.seldom(6) {
            Yaml::Null
        } else {
            resource(tape)
        });
    }
    let (version, kind) = tape.one_of(&[
        ("v1", "List"),
        ("config.kubernetes.io/v1", "ResourceList"),
        ("apps/v1", "DeploymentList"),
    ]);
    Yaml::Map(vec![
        ("apiVersion", Yaml::Text(version)),
        ("kind", Yaml::Text(kind)),
        ("items", Yaml::Seq(items)),
    ])
}

fn resource(tape: &mut Tape<'_>) -> Yaml {
    let (version, kind) = tape.one_of(&[
        ("apps/v1", "Deployment"),
        ("v1", "Pod"),
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("apps/v1", "StatefulSet"),
        ("v1", "ConfigMap"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("example.com/v1", "Widget"),
    ]);
    let completes = matches!(kind, "Job" | "CronJob");
    let template = |tape: &mut Tape<'_>| {
        let mut template = Vec::new();
        template.extend(template_metadata(tape).map(|metadata| ("metadata", metadata)));
        template.push(("spec", pod_spec(tape, completes)));
        shuffle(tape, &mut template);
        Yaml::Map(template)
    };
    let mut metadata = vec![("name", Yaml::Text(tape.one_of(&["web", "api", "売り場"])))];
    if tape.seldom(5) {
        metadata.push((
            "namespace",
            Yaml::Text(tape.one_of(&["shop", "kube-system"])),
        ));
    }
    if kind != "Pod" && tape.seldom(4) {
        let wait = Yaml::Map(vec![(
            "com.baeldung/wait-for-it",
            Yaml::Raw("\"www.google.com:80\""),
        )]);
        metadata.push(("annotations", wait));
    }
    let mut parts = vec![
        ("apiVersion", Yaml::Text(version)),
        ("kind", Yaml::Text(kind)),
    ];
    match kind {
        "Pod" => {
            let mut annotations = annotations(tape);
            metadata.append(&mut annotations);
            parts.push(("metadata", Yaml::Map(metadata)));
            let completes = tape.seldom(4);
            parts.push(("spec", pod_spec(tape, completes)));
        }
        "ConfigMap" => {
            parts.push(("metadata", Yaml::Map(metadata)));
            let text: &[&str] = &[
                "apiVersion: v1",
                "kind: Pod",
                "---",
                "spec:",
                "  containers: []",
            ];
            parts.push((
                "data",
                Yaml::Map(vec![("pod.yaml", Yaml::Block("|", text))]),
            ));
        }
        "CronJob" => {
            parts.push(("metadata", Yaml::Map(metadata)));
            let job = Yaml::Map(vec![(
                "spec",
                Yaml::Map(vec![("template", template(tape))]),
            )]);
            parts.push((
                "spec",
                Yaml::Map(vec![
                    ("schedule", Yaml::Raw("\"0 3 * * *\"")),
                    ("jobTemplate", job),
                ]),
            ));
        }
        "LeaderWorkerSet" => {
            parts.push(("metadata", Yaml::Map(metadata)));
            let both = vec![
                ("leaderTemplate", template(tape)),
                ("workerTemplate", template(tape)),
            ];
            parts.push((
                "spec",
                Yaml::Map(vec![("leaderWorkerTemplate", Yaml::Map(both))]),
            ));
        }
        _ => {
            parts.push(("metadata", Yaml::Map(metadata)));
            let mut spec = vec![("template", template(tape))];
            if tape.seldom(3) {
                spec.push(("replicas", Yaml::Raw("0x3")));
            }
            parts.push(("spec", Yaml::Map(spec)));
        }
    }
    shuffle(tape, &mut parts);
    Yaml::Map(parts)
}

fn shuffle<T>(tape: &mut Tape<'_>, items: &mut [T]) {
    if tape.seldom(4) {
        for index in 1..items.len() {
            let other = index - tape.pick(index + 1);
            items.swap(index, other);
        }
    }
}

fn template_metadata(tape: &mut Tape<'_>) -> Option<Yaml> {
    let labels = ("labels", Yaml::Map(vec![("app", Yaml::Text("web"))]));
    Some(match tape.pick(8) {
        5 => return None,
        6 => Yaml::Null,
        7 => Yaml::Map(Vec::new()),
        _ => {
            let mut metadata = vec![labels];
            metadata.append(&mut annotations(tape));
            shuffle(tape, &mut metadata);
            Yaml::Map(metadata)
        }
    })
}

fn annotations(tape: &mut Tape<'_>) -> Vec<(&'static str, Yaml)> {
    let mut entries = Vec::new();
    for _ in 0..tape.pick(3) {
        let (key, value) = tape.one_of(&[
            ("example.com/a", "\"1\""),
            ("example.com/b", "|-\n"),
            ("agent-injector.contrib.mackerel.io/inject", "\"true\""),
            ("agent-injector.contrib.mackerel.io/inject", "'false'"),
            ("agent-injector.contrib.mackerel.io/inject", "maybe"),
            ("agent-injector.contrib.mackerel.io/status", "injected"),
            ("agent-injector.contrib.mackerel.io/roles", "\"shop:web\""),
            ("agent-injector.contrib.mackerel.io/api-key-secret-name", "shop"),
            ("agent-injector.contrib.mackerel.io/agent-config-configmap-name", "shop"),
            ("agent-injector.contrib.mackerel.io/platform", "eks-fargate"),
            ("agent-injector.contrib.mackerel.io/memory-limit", "\"256Mi\""),
            ("agent-injector.contrib.mackerel.io/sidecar", "native"),
            ("agent-injector.contrib.mackerel.io/sidecar", "container"),
            ("agent-injector.contrib.mackerel.io/display-name", "\"1.0\""),
            ("agent-injector.contrib.mackerel.io/ignore-container", "'^a$'"),
            ("agent-injector.contrib.mackerel.io/wait-for", "\"db:5432,cache:6379\""),
            ("agent-injector.contrib.mackerel.io/wait-for", "db:5432"),
            ("agent-injector.contrib.mackerel.io/wait-for", "\"\""),
            ("agent-injector.contrib.mackerel.io/wait-for", "','"),
            ("agent-injector.contrib.mackerel.io/wait-for", "db"),
            ("com.baeldung/wait-for-it", "'[::1]:80'"),
            (
                "example.com/long",
                "\"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\"",
            ),
        ]);
        debug_assert!(!key.starts_with(PREFIX) || key.len() > PREFIX.len());
        let value = if value == "|-\n" {
            Yaml::Block("|-", &["one", "  two", "", "three"])
        } else {
            Yaml::Raw(value)
        };
        if entries.iter().all(|(other, _)| *other != key) {
            entries.push((key, value));
        }
    }
    match tape.pick(6) {
        4 => vec![("annotations", Yaml::Null)],
        _ if entries.is_empty() && tape.pick(2) == 0 => Vec::new(),
        _ => vec![("annotations", Yaml::Map(entries))],
    }
}

fn pod_spec(tape: &mut Tape<'_>, completes: bool) -> Yaml {
    let mut spec = vec![("containers", containers(tape, 1))];
    if completes {
        spec.push((
            "restartPolicy",
            Yaml::Text(tape.one_of(&["Never", "OnFailure"])),
        ));
    }
    match tape.pick(8) {
        4 => spec.push(("initContainers", containers(tape, 0))),
        5 => spec.push(("initContainers", Yaml::Null)),
        6 => spec.push(("initContainers", Yaml::Seq(Vec::new()))),
        _ => {}
    }
    match tape.pick(8) {
        3 | 4 => spec.push(("volumes", volumes())),
        5 => spec.push(("volumes", Yaml::Null)),
        6 => spec.push(("volumes", Yaml::Seq(Vec::new()))),
        _ => {}
    }
    match tape.pick(8) {
        5 => spec.push(("automountServiceAccountToken", Yaml::Raw("false"))),
        6 => spec.push(("hostNetwork", Yaml::Raw("true"))),
        4 => spec.push(("automountServiceAccountToken", Yaml::Raw("true"))),
        7 => spec.push((
            "nodeSelector",
            Yaml::Map(vec![("kubernetes.io/os", Yaml::Text("linux"))]),
        )),
        _ => {}
    }
    match tape.pick(8) {
        4 => spec.push(("imagePullSecrets", pull_secrets(&["other", "team"]))),
        5 => spec.push(("imagePullSecrets", pull_secrets(&["other"]))),
        6 => spec.push(("imagePullSecrets", Yaml::Null)),
        7 => spec.push(("imagePullSecrets", Yaml::Seq(Vec::new()))),
        _ => {}
    }
    if tape.seldom(6) {
        spec.push(("resources", limits(&[("cpu", "2"), ("memory", "2Gi")])));
    }
    if tape.seldom(8) {
        agent_of_others(tape, &mut spec);
    }
    shuffle(tape, &mut spec);
    Yaml::Map(spec)
}

fn pull_secrets(names: &[&'static str]) -> Yaml {
    Yaml::Seq(
        names
            .iter()
            .map(|name| Yaml::Map(vec![("name", Yaml::Text(name))]))
            .collect(),
    )
}

fn limits(amounts: &[(&'static str, &'static str)]) -> Yaml {
    let amounts = amounts
        .iter()
        .map(|(name, amount)| (*name, Yaml::Raw(amount)))
        .collect();
    Yaml::Map(vec![("limits", Yaml::Map(amounts))])
}

fn volumes() -> Yaml {
    let name = ("name", Yaml::Text("cache"));
    Yaml::Seq(vec![Yaml::Map(vec![
        name,
        ("emptyDir", Yaml::Map(Vec::new())),
    ])])
}

fn containers(tape: &mut Tape<'_>, at_least: usize) -> Yaml {
    let names = ["web", "proxy", "metrics"];
    let count = at_least + tape.pick(6) / 2;
    Yaml::Seq(
        (0..count)
            .map(|index| container(tape, names[index % names.len()]))
            .collect(),
    )
}

/// Adds an agent without a record to one of the lists, perhaps with a volume that has one of the injector's names.
fn agent_of_others(tape: &mut Tape<'_>, spec: &mut Vec<(&'static str, Yaml)>) {
    let list = tape.one_of(&["containers", "containers", "initContainers"]);
    let volume = tape.one_of(&["cache", "mackerel-agent-tmp"]);
    let name = tape.one_of(&["mackerel", "mackerel-container-agent"]);
    let mut agent = container(tape, name);
    if let Yaml::Map(parts) = &mut agent {
        parts.retain(|(key, _)| *key != "image");
        parts.push(("image", Yaml::Raw("mackerel/mackerel-container-agent:1")));
        let mount = vec![
            ("name", Yaml::Text(volume)),
            ("mountPath", Yaml::Raw("/var/tmp")),
        ];
        parts.push(("volumeMounts", Yaml::Seq(vec![Yaml::Map(mount)])));
    }
    match spec.iter_mut().find(|(key, _)| *key == list) {
        Some((_, Yaml::Seq(items))) => items.insert(tape.pick(items.len() + 1), agent),
        Some((_, other)) => *other = Yaml::Seq(vec![agent]),
        None => spec.push((list, Yaml::Seq(vec![agent]))),
    }
    if volume != "cache" {
        let volume = Yaml::Map(vec![
            ("name", Yaml::Text(volume)),
            ("emptyDir", Yaml::Map(Vec::new())),
        ]);
        match spec.iter_mut().find(|(key, _)| *key == "volumes") {
            Some((_, Yaml::Seq(items))) => items.insert(tape.pick(items.len() + 1), volume),
            Some((_, other)) => *other = Yaml::Seq(vec![volume]),
            None => spec.push(("volumes", Yaml::Seq(vec![volume]))),
        }
    }
}

fn container(tape: &mut Tape<'_>, name: &'static str) -> Yaml {
    let mut parts = vec![
        ("name", Yaml::Text(name)),
        (
            "image",
            Yaml::Raw(tape.one_of(&["web:1", "\"web:1\"", "'web:1'"])),
        ),
    ];
    for _ in 0..tape.pick(3) {
        let part = match tape.pick(9) {
            0 => (
                "args",
                Yaml::Seq(vec![Yaml::Raw("-v"), Yaml::Raw("\"--port=80\"")]),
            ),
            1 => ("command", Yaml::Null),
            2 => (
                "args",
                Yaml::Seq(vec![Yaml::Block("|", &["one", "", "  two"])]),
            ),
            3 => ("args", Yaml::Seq(vec![Yaml::Block("|+", &["one", ""])])),
            4 => (
                "args",
                Yaml::Seq(vec![Yaml::Block(">", &["folded", "text", "", "end"])]),
            ),
            5 => (
                "env",
                Yaml::Seq(vec![Yaml::Map(vec![
                    ("name", Yaml::Text("A")),
                    ("value", Yaml::Raw("'on'")),
                ])]),
            ),
            6 => (
                "resources",
                limits(tape.one_of(&[&[("cpu", "1")], &[("cpu", "1"), ("memory", "1Gi")]])),
            ),
            7 => (
                "workingDir",
                Yaml::Raw("/a\n                                b"),
            ),
            _ => ("securityContext", Yaml::Map(Vec::new())),
        };
        if parts.iter().all(|(key, _)| *key != part.0) {
            parts.push(part);
        }
    }
    shuffle(tape, &mut parts);
    Yaml::Map(parts)
}
