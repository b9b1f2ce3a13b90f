//! The API key stays secret: no annotation gets the value of a secret into another variable or an argument, and no error shows one.

use crate::kubernetes::injected::templates;
use crate::program::Folder;
use config::{API_VERSION, Config, KIND, Sources, load};
use injector::inject;
use laws::INJECT;
use laws::cases::{self, Case};
use mackerel::annotations::Annotation;
use report::Diagnostic;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use yaml_json_patch::{self as yaml, edit};

/// Variables by name, or arguments by place, with the values that the process gets.
type Environment = BTreeMap<String, String>;

/// The value of everything that comes from a Secret or a ConfigMap begins with this.
const SECRET: &str = "secret of ";

/// The name of a variable that the container has from a Secret by `envFrom`.
const FROM_A_SECRET: &str = "FROM_A_SECRET";

/// A text as the kubelet expands it: `$(A)` is A, unless there is none, `$$` is `$`, and of anything else behind `$` the first byte
/// is taken for a character.
fn expanded(text: &str, known: &Environment) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at + 1..];
        at += 1;
        if *byte != b'$' || rest.is_empty() {
            out.push(*byte);
            continue;
        }
        match (rest[0], rest.iter().position(|byte| *byte == b')')) {
            (b'$', _) => out.push(b'$'),
            (b'(', Some(end)) => {
                let name = std::str::from_utf8(&rest[1..end]).unwrap();
                let reference = format!("$({name})");
                out.extend(known.get(name).unwrap_or(&reference).bytes());
                at += end;
            }
            (other, _) => out.extend(format!("${}", char::from(other)).bytes()),
        }
        at += 1;
    }
    String::from_utf8(out).unwrap()
}

/// The variables and arguments that the kubelet gives the process: first `envFrom`, which a later version may have, and the variables of Services, then `env` in its
/// order; with all of it, the arguments.
fn started(container: &Value, env_from: &Environment) -> Environment {
    let services = [("KUBERNETES_SERVICE_HOST".to_owned(), "10.0.0.1".to_owned())];
    let mut known = env_from.clone();
    known.extend(services);
    let mut given = Environment::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap().to_owned();
        let from = &variable["valueFrom"];
        let value = match variable["value"].as_str() {
            Some(text) => expanded(text, &known),
            None if from["fieldRef"].is_object() => from["fieldRef"]["fieldPath"].to_string(),
            None => format!("{SECRET}{name}"),
        };
        known.insert(name.clone(), value.clone());
        given.insert(name, value);
    }
    for list in ["command", "args"] {
        for (index, argument) in container[list].as_array().into_iter().flatten().enumerate() {
            let argument = expanded(argument.as_str().unwrap(), &known);
            given.insert(format!("{list}[{index}]"), argument);
        }
    }
    given
}

/// The containers that an injection adds to a pod.
fn added(pod: &Value, config: &Config) -> Vec<Value> {
    let text = pod.to_string();
    let injected = edit::apply(&text, &inject(&text, config, INJECT).edits);
    let injected: Value = serde_json::from_str(&injected).unwrap();
    let lists = ["containers", "initContainers"].map(|list| injected["spec"][list].clone());
    let containers = lists.iter().filter_map(Value::as_array).flatten();
    let is_added = |container: &&Value| {
        let name = container["name"].as_str().unwrap_or_default();
        ["mackerel-container-agent", "mackerel-wait-for"].contains(&name)
    };
    containers.filter(is_added).cloned().collect()
}

/// The names of the variables and arguments that show a secret.
fn that_show_secrets(containers: &[Value], env_from: &Environment) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    for container in containers {
        let given = started(container, env_from).into_iter();
        shown.extend(
            given
                .filter(|(_, value)| value.contains(SECRET))
                .map(|(name, _)| name),
        );
    }
    shown
}

/// The containers without the second dollar sign, as kustomize leaves them where a kustomization has `vars`.
fn after_vars(containers: &[Value]) -> Vec<Value> {
    let text = Value::from(containers.to_vec()).to_string();
    serde_json::from_str(&text.replace("$$(", "$(")).unwrap()
}

/// The pods and texts that were tried.
#[derive(Default)]
struct Tried {
    injected: usize,
    texts: usize,
}

impl Tried {
    fn pod(&mut self, case: &Case, pod: &Value) {
        let mut pod = pod.clone();
        if !pod["metadata"]["annotations"].is_object() {
            pod["metadata"]["annotations"] = json!({});
        }
        let plain = added(&pod, &case.config);
        let has_agent = pod["spec"].to_string().contains("mackerel");
        if has_agent || plain.is_empty() {
            return;
        }
        self.injected += 1;
        let mut secrets = BTreeSet::from([FROM_A_SECRET.to_owned()]);
        let mut names = BTreeSet::from(["NEW".to_owned(), "TMPDIR".to_owned()]);
        for variable in plain.iter().flat_map(|one| one["env"].as_array()).flatten() {
            let name = variable["name"].as_str().unwrap().to_owned();
            names.insert(name.clone());
            secrets.insert(name);
        }
        // The pod's names come from the pod, or from `agent.env`, which is behind all annotations.
        let in_secrets = |name: &&String| !name.starts_with("MACKEREL_KUBERNETES_");
        let env_from = secrets
            .iter()
            .filter(in_secrets)
            .map(|name| (name.clone(), format!("{SECRET}{name}")));
        let env_from: Environment = env_from.collect();
        let references: String = secrets
            .iter()
            .map(|name| format!("$({name})$$({name})"))
            .collect();
        let written = format!("{references}$監$$ $(MACKEREL_KUBERNETES_POD_NAME)");
        let keys = Annotation::ALL
            .iter()
            .map(|annotation| annotation.key().to_owned());
        let variables = names
            .iter()
            .map(|name| Annotation::Env.key().replace("NAME", name));
        let keys: Vec<String> = keys.chain(variables).collect();
        let before = [&env_from, &Environment::new()].map(|from| that_show_secrets(&plain, from));
        for key in keys {
            let mut pod = pod.clone();
            for text in [
                written.clone(),
                format!("https://a.example/?{references}"),
                format!("{references}:80"),
            ] {
                pod["metadata"]["annotations"][&key] = text.clone().into();
                let containers = added(&pod, &case.config);
                let shown = that_show_secrets(&containers, &env_from);
                let more: Vec<_> = shown.difference(&before[0]).collect();
                assert!(more.is_empty(), "{}: {key}: {more:?}", case.name);
                let shown = that_show_secrets(&after_vars(&containers), &Environment::new());
                let more: Vec<_> = shown.difference(&before[1]).collect();
                assert!(
                    more.is_empty(),
                    "{}: {key}, with `vars`: {more:?}",
                    case.name
                );
                self.as_written(case, &key, &text, &containers, &env_from);
            }
        }
    }

    /// The agent gets the text as it is written, but for the pod's name.
    fn as_written(
        &mut self,
        case: &Case,
        key: &str,
        text: &str,
        containers: &[Value],
        env_from: &Environment,
    ) {
        let name = key.rsplit('/').next().unwrap();
        let name = match name {
            "memo" => "MACKEREL_MEMO",
            "display-name" => "MACKEREL_DISPLAY_NAME",
            "agent-config-location" => "MACKEREL_AGENT_CONFIG",
            name => match name.strip_prefix("env.") {
                Some(name) if !name.starts_with("MACKEREL_") => name,
                _ => return,
            },
        };
        let agent = containers
            .iter()
            .find(|one| one["name"] == "mackerel-container-agent");
        let Some(agent) = agent.filter(|_| !case.config.is_explicit("annotations.allow")) else {
            return;
        };
        let given = started(agent, env_from);
        // The pod's namespace and name, and for settings its labels, are variables of the injector, unless the configuration replaces
        // them.
        let mut wanted = text.to_owned();
        for variable in [
            "MACKEREL_KUBERNETES_NAMESPACE",
            "MACKEREL_KUBERNETES_POD_NAME",
        ] {
            let value = given
                .get(variable)
                .filter(|value| !value.starts_with(SECRET));
            let Some(value) = value else { return };
            wanted = wanted.replace(&format!("$({variable})"), value);
        }
        let mut with_labels = wanted.clone();
        for (variable, value) in &given {
            if name.starts_with("MACKEREL_") && variable.starts_with("MACKEREL_POD_LABEL_") {
                with_labels = with_labels.replace(&format!("$({variable})"), value);
            }
        }
        // A display name comes before the settings that may bring a label.
        let is = given.get(name);
        let is_as_written = name == "MACKEREL_DISPLAY_NAME" && is == Some(&wanted);
        assert!(
            is == Some(&with_labels) || is_as_written,
            "{}: {key}: {is:?}, not {with_labels}",
            case.name
        );
        self.texts += 1;
    }
}

#[test]
fn no_annotation_gets_a_secret_into_another_variable() {
    let mut tried = Tried::default();
    for case in cases::all() {
        for pod in templates(&case.text, &case.config) {
            tried.pod(&case, &pod);
        }
    }
    assert!(
        tried.injected > 300 && tried.texts > 3000,
        "{} {}",
        tried.injected,
        tried.texts
    );
}

#[test]
fn the_configuration_refers_to_secrets_as_before() {
    let config = "agent.env=[{name: PASSWORD, valueFrom: {secretKeyRef: {name: a, key: b}}}, {name: DSN, value: 'db://$(PASSWORD)@$(MACKEREL_APIKEY)'}]";
    let config = load(&Sources::default().with_set(&[config.to_owned()])).unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "web"}]}});
    let containers = added(&pod, &config);
    let given = started(&containers[0], &Environment::new());
    assert_eq!(
        given["DSN"],
        "db://secret of PASSWORD@secret of MACKEREL_APIKEY"
    );
    assert_eq!(
        expanded(
            "$$(A) $(A) $(B) $$ $",
            &Environment::from([("A".to_owned(), "b".to_owned())])
        ),
        "$(A) b $(B) $ $"
    );
}

/// A key as Mackerel issues them.
const KEY: &str = "AbC123dEf456GhI789jKl012mNo345pQr";

fn holds_no_key(form: &str, errors: &[Diagnostic<'_>]) {
    for error in errors {
        let shown = [error.to_string(), error.line(), format!("{:?}", error.help)];
        assert!(!shown.concat().contains(KEY), "{form}: {}", shown[0]);
    }
}

/// The ways in which people write the API key itself, as `--set` takes them.
const ARGUMENTS: [&str; 28] = [
    "apiKey=KEY",
    "apiKey: KEY",
    "apiKey=[KEY",
    "apiKey=[KEY]",
    "apiKey={KEY}",
    "apiKey={KEY: 1}",
    "apiKey={value: KEY}",
    "apiKey.KEY=1",
    "apiKey.value=KEY",
    "apiKey.secretKeyRef=KEY",
    "apiKey.secretKeyRef.name=KEY",
    "apiKey.secretKeyRef.name=[KEY]",
    "apiKey.secretKeyRef.key=KEY KEY",
    "apiKey={secretKeyRef: {name: KEY}}",
    "apikey=KEY",
    "api-key=KEY",
    "MACKEREL_APIKEY=KEY",
    "agent.apiKey=KEY",
    "agent.env=KEY",
    "agent.env=MACKEREL_APIKEY=KEY",
    "agent.env={MACKEREL_APIKEY: KEY}",
    "agent.env=[{MACKEREL_APIKEY: KEY}]",
    "agent.env=[{name: MACKEREL_APIKEY=KEY}]",
    "agent.env=[{name: MACKEREL_APIKEY, value: KEY}]",
    "agent.env=[{name: MACKEREL_APIKEY, value: [KEY]}]",
    "agent.env=[{name: MACKEREL_APIKEY, value: KEY",
    "agent.env=[{value: KEY, valueFrom: {}, name: MACKEREL_APIKEY}]",
    "agent={env: [{name: MACKEREL_APIKEY, value: KEY}], imag: a}",
];

/// The same in configurations, below `spec`.
const SPECS: [&str; 25] = [
    "apiKey: KEY",
    "apiKey: 'KEY",
    "apiKey: KEY: KEY",
    "apiKey:\n    KEY: :",
    "apiKey:\n    value: KEY",
    "apiKey:\n  value: KEY",
    "apiKey:\n\tsecretKeyRef: KEY",
    "apiKey:\n    # of Mackerel\n\n    \"KEY",
    "apiKey:\n    secretKeyRef:\n      name: a\n        key: KEY",
    "apiKey: |\nKEY",
    "agent:\n    env:\n      - name: MACKEREL_APIKEY\n\t value: KEY",
    "agent:\n    env:\n      - value: \"KEY\n        name: MACKEREL_APIKEY",
    "apiKey:\n    - KEY",
    "apiKey: {secretKeyRef: KEY}",
    "apiKey: {secretKeyRef: {name: KEY}}",
    "apiKey:\n    secretKeyRef:\n      name: KEY",
    "apiKey:\n    secretKeyRef:\n      key: KEY KEY\n      nam: KEY",
    "apiKey: {secretKeyRef: {name: KEY}}\n  apiKey: KEY",
    "agent:\n    env: {MACKEREL_APIKEY: KEY}",
    "agent:\n    env:\n      MACKEREL_APIKEY: KEY",
    "agent:\n    env:\n    - name: MACKEREL_APIKEY\n      value: KEY",
    "agent:\n    env:\n    - value: KEY\n      valeu: KEY\n      name: MACKEREL_APIKEY",
    "agent:\n    env:\n    - value: {a: KEY}\n      name: MACKEREL_APIKEY",
    "agent:\n    env:\n    - value: KEY\n      name: MACKEREL_APIKEY\n    - value: KEY\n      name: MACKEREL_APIKEY",
    "agent: {imag: a, env: [{name: MACKEREL_APIKEY, value: KEY}]}",
];

#[test]
fn no_error_of_the_configuration_shows_the_key() {
    for argument in ARGUMENTS {
        let set = [argument
            .replace("KEY", KEY)
            .replace(&format!("MACKEREL_API{KEY}"), "MACKEREL_APIKEY")];
        let errors = load(&Sources::default().with_set(&set)).expect_err(argument);
        holds_no_key(argument, &errors);
        let Some((path, value)) = set[0].split_once('=') else {
            continue;
        };
        let data = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {path: value}});
        for text in [data.to_string(), serde_yaml::to_string(&data).unwrap()] {
            let errors = load(&Sources::of_text("c.yaml", &text)).expect_err(argument);
            holds_no_key(&text, &errors);
            let list = format!(
                "kind: ResourceList\nfunctionConfig:\n  {}\n",
                text.trim().replace('\n', "\n  ")
            );
            let tree = yaml::read(&list).unwrap();
            let node = tree.get(tree.root().unwrap(), "functionConfig").unwrap();
            let errors =
                load(&Sources::of_node("<stdin>", &list, 0, &tree, node)).expect_err(argument);
            holds_no_key(&list, &errors);
        }
    }
    for spec in SPECS {
        let spec = spec
            .replace("KEY", KEY)
            .replace(&format!("MACKEREL_API{KEY}"), "MACKEREL_APIKEY");
        let text = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nspec:\n  {spec}\n");
        let errors = load(&Sources::of_text("c.yaml", &text)).expect_err(&spec);
        holds_no_key(&spec, &errors);
    }
}

/// stderr, the results of a function call and warnings about manifests.
#[test]
fn no_message_of_the_program_shows_the_key() {
    let folder = Folder::with(&[(
        "web.yaml",
        &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  template:\n    metadata:\n      annotations:\n        agent-injector.contrib.mackerel.io/env.MACKEREL_APIKEY: {KEY}\n    spec:\n      containers:\n      - name: web\n        image: web\n      - name: agent\n        image: mackerel/mackerel-container-agent:v0.13.2\n        env:\n        - value: {KEY}\n          name: MACKEREL_APIKEY\n"
        ),
    )]);
    let call = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{apiKey: {KEY}}}}}\n"
    );
    let set = format!("--set=apiKey={KEY}");
    let name = format!("--set=apiKey.secretKeyRef.name={KEY}");
    for (args, stdin) in [
        (&["inject", "--check", "web.yaml"][..], ""),
        (&["inject", "--check", "-v", "web.yaml"], ""),
        (&["inject", "--check", "--adopt", "web.yaml"], ""),
        (&["explain", "web.yaml"], ""),
        (&["explain", "--output", "sarif", "web.yaml"], ""),
        (&["explain", "--output", "github", "web.yaml"], ""),
        (&["inject", "--check", &set, "web.yaml"], ""),
        (&["policy", &name], ""),
        (&[], &call),
    ] {
        let ran = folder.run_with(args, stdin);
        let shown = match stdin {
            "" => ran.stderr.clone() + &ran.stdout,
            // The call itself comes back.
            _ => ran.stderr.clone() + ran.stdout.split("results:").nth(1).unwrap_or_default(),
        };
        assert!(
            !shown.is_empty() && !shown.contains(KEY),
            "{args:?}: {ran:?}"
        );
    }
}
