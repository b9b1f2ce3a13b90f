//! `tests/configs/{valid,invalid}/<rule>.yaml`, one file per rule. Beside each invalid one is the message for the user,
//! beside each valid one its settings that are not the defaults. `UPDATE_EXPECTED=1` writes those files anew.

mod doors;

use config::{API_VERSION, Config, EXAMPLE, KIND, Origin, Sources, load};
use configurations::json_schema::{broken, schema};
use configurations::{configurations, from_arguments};
use report::Diagnostic;
use serde_json::json;
use std::fs;
use std::path::Path;
use support::root;
use yaml_json_patch as yaml;

/// Compares with the file beside the configuration; returns its name when they differ.
fn differs(path: &Path, actual: &str) -> Option<String> {
    let expected = path.with_extension("txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&expected, actual).unwrap();
    }
    let wanted = fs::read_to_string(&expected).unwrap_or_default();
    (wanted != actual).then(|| {
        format!(
            "{}\n--- expected\n{wanted}\n--- actual\n{actual}",
            expected.display()
        )
    })
}

#[test]
fn each_invalid_configuration_says_what_is_wrong_and_where() {
    let mut wrong = Vec::new();
    for (name, path) in configurations("invalid") {
        let text = fs::read_to_string(&path).unwrap();
        let diagnostics = load(&Sources::of_text(&name, &text)).expect_err(&name);
        let shown: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
        wrong.extend(differs(&path, &shown.join("\n")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_valid_configuration_sets_what_it_says() {
    let mut wrong = Vec::new();
    for (name, path) in configurations("valid") {
        let text = fs::read_to_string(&path).unwrap();
        let config = load(&Sources::of_text(&name, &text))
            .unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
        let settings = config.explicit().map(|(path, origin)| {
            format!(
                "{path} = {} ({origin})\n",
                config.value(path).unwrap_or_default()
            )
        });
        let mut shown = format!("name = {}\n", config.name());
        shown.extend(settings);
        wrong.extend(differs(&path, &shown));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn from_yaml(name: &str, text: &str) -> Config {
    load(&Sources::of_text(name, text))
        .unwrap_or_else(|errors| panic!("{name}: {errors:#?}\n{text}"))
}

/// The configuration that a function call brings along.
fn from_call(configuration: &str) -> Config {
    let indented: String = configuration
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    let text = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n{indented}"
    );
    let tree = yaml::read(&text).unwrap();
    let node = tree.get(tree.root().unwrap(), "functionConfig").unwrap();
    load(&Sources::of_node("<stdin>", &text, 0, &tree, node))
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

#[test]
fn an_argument_hides_no_error_of_the_file() {
    let head =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:";
    for (spec, argument, expected) in [
        ("{qos: x}", "qos=keep", "`qos` must be one of"),
        (
            "{agent: {env: [{nme: A}]}}",
            "agent.env=[]",
            "`agent.env[0]` has no field `nme`",
        ),
        (
            "{apiKey: s3cr3t}",
            "apiKey=null",
            "`apiKey` must be a mapping",
        ),
        (
            "{agent: {imag: a}}",
            "agent=null",
            "unknown setting `agent.imag`",
        ),
    ] {
        let (text, set) = (format!("{head} {spec}\n"), [argument.to_owned()]);
        let errors = load(&Sources::of_text("a.yaml", &text).with_set(&set)).unwrap_err();
        assert!(
            errors[0].message.starts_with(expected),
            "{argument}: {errors:?}"
        );
    }
    let set = ["qos=x".to_owned(), "qos=keep".to_owned()];
    assert!(load(&Sources::default().with_set(&set)).is_err());
}

#[test]
fn null_as_an_argument_is_null() {
    for (path, wanted) in [
        ("agent.memo", json!(null)),
        (
            "agent.image",
            Config::default().value("agent.image").unwrap(),
        ),
        ("kubernetesVersion", json!("1.33")),
        ("agent.tmp", json!(null)),
        ("agent.resources.limits.memory", json!(null)),
        ("agent.securityContext.runAsUser", json!(null)),
        ("agent.securityContext.seccompProfile.type", json!(null)),
        ("agent.securityContext.seLinuxOptions.level", json!(null)),
    ] {
        let config = from_arguments(&[&format!("{path}=null")]).unwrap();
        assert_eq!(config.value(path), Some(wanted), "{path}");
    }
}

/// The ports of probes are numbers or names, as in a file.
#[test]
fn a_port_as_an_argument_is_a_number() {
    for (argument, expected) in [
        ("agent.livenessProbe.httpGet.port=8080", json!(8080)),
        ("agent.livenessProbe={httpGet: {port: 8080}}", json!(8080)),
    ] {
        let config = from_arguments(&[argument]).unwrap();
        let probe = config.value("agent.livenessProbe").unwrap();
        assert_eq!(probe["httpGet"]["port"], expected, "{argument}");
    }
}

#[test]
fn a_bad_argument_is_named_with_its_number() {
    for (arguments, expected) in [
        (
            &["agent.image"][..],
            "--set #1: error: `--set` requires a path and a value",
        ),
        (
            &["agent.image="],
            "--set #1: error: `agent.image` must not be empty",
        ),
        (
            &["agent.resources.limits.memory="],
            "--set #1: error: `agent.resources.limits.memory` must not be empty",
        ),
        (
            &["agent.securityContext.runAsUser="],
            "--set #1: error: `agent.securityContext.runAsUser` must be a whole number up to 2147483647, found an empty string",
        ),
        (
            &["select.podSelector.matchLabels.app=null"],
            "--set #1: error: `select.podSelector.matchLabels.app` must be a string, found nothing",
        ),
        (
            &["kubelet.port=+1"],
            "--set #1: error: `kubelet.port` must be a whole number from 1 to 65535, found `+1`",
        ),
        (
            &["injection=always", "agent.imag=a"],
            "--set #2: error: unknown setting `agent.imag`",
        ),
        (&["=a"], "--set #1: error: unknown setting ``"),
        (
            &["agent=a"],
            "--set #1: error: `agent` must be a mapping, found a string",
        ),
        (&["agent="], "--set #1: error: `agent` has no value"),
        (
            &["agent.roles=aa:bb,cc:dd"],
            "--set #1: error: `agent.roles` must be a list, found `aa:bb,cc:dd`",
        ),
        (
            &["agent.roles=[aa:bb, web]"],
            "--set #1: error: `agent.roles[1]` must be a role, found `web`",
        ),
        (
            &["agent.roles=[aa:bb"],
            "--set #1: error: `agent.roles` is not valid YAML: this bracket is never closed",
        ),
        (
            &["annotations.allow="],
            "--set #1: error: `annotations.allow` has no value",
        ),
        (&["agent.tmp="], "--set #1: error: `agent.tmp` has no value"),
        (
            &["annotations.allow=[roles, imgae]"],
            "--set #1: error: `annotations.allow[1]` must be the name of an annotation, found `imgae`",
        ),
        (
            &["kubelet.port=many"],
            "--set #1: error: `kubelet.port` must be a whole number from 1 to 65535, found `many`",
        ),
        (
            &["agent.env=[{name: A, valeu: b}]"],
            "--set #1: error: `agent.env[0]` has no field `valeu`",
        ),
        (
            &["agent.securityContext.runAsUsr=1"],
            "--set #1: error: `agent.securityContext` has no field `runAsUsr`",
        ),
        (
            &["agent.securityContext.runAsUser.a=1"],
            "--set #1: error: `agent.securityContext.runAsUser` is a single value and has no field `a`",
        ),
        (
            &["kubelet.port=1", "kubelet.readOnlyPort=2"],
            "--set #2: error: `kubelet.readOnlyPort` and `kubelet.port` cannot be combined: the read-only port has no TLS",
        ),
        (
            &["waitFor.timeoutSeconds=0"],
            "--set #1: error: `waitFor.timeoutSeconds` must be a whole number of at least 1, found `0`",
        ),
        (
            &[
                "agent.env=[{name: MACKEREL_MEMO, value: a}]",
                "agent.memo=b",
            ],
            "--set #2: error: `agent.memo` has no effect because `agent.env[0]` sets MACKEREL_MEMO",
        ),
        (
            &["waitFor.image=a/mackerel-container-agent:1"],
            "--set #1: error: `waitFor.image` must be an image of mackerel-agent-injector, but `a/mackerel-container-agent:1` is the agent",
        ),
        (
            &["agent.memo=a,agent.displayName=b"],
            "--set #1: error: `agent.memo` has another setting in its value: `agent.displayName`",
        ),
        (
            &["agent.image=r/agent:v1, agent.resources.limits.cpu=1"],
            "--set #1: error: `agent.image` has another setting in its value: `agent.resources.limits.cpu`",
        ),
        (
            &[
                "agent.memo=a,b=c,d",
                "agent.env=[{name: A, value: \"service=a,namespace=shop\"}]",
                "agent.displayName=a,qos=keep",
            ],
            "--set #3: error: `agent.displayName` has another setting in its value: `qos`",
        ),
        (
            &["agent.env=[{name: MACKEREL_APIKEY}]"],
            "--set #1: error: `agent.env[0]` is MACKEREL_APIKEY: it must come by `valueFrom`, not as plain text",
        ),
        (
            &["agent.image=https://r/agent:v1"],
            "--set #1: error: `agent.image` must be a container image, found `https://r/agent:v1`",
        ),
        (
            &["waitFor.image=r/agent:"],
            "--set #1: error: `waitFor.image` must be a container image, found `r/agent:`",
        ),
        (
            &["kubernetesVersion=1.290"],
            "--set #1: error: `kubernetesVersion` must be a Kubernetes version, found `1.290`",
        ),
        (
            &["apiKey=AbC123dEf456GhI"],
            "--set #1: error: `apiKey` must be a mapping, found a string",
        ),
        (
            &["agent.tmp=null", "agent.hostIdStore=file"],
            "--set #2: error: `agent.hostIdStore` needs a folder to write to, but `agent.tmp` is `null`",
        ),
        (
            &["agent.tmp.sizeLimit=64m"],
            "--set #1: error: `agent.tmp.sizeLimit` is not a whole number of bytes: `64m`",
        ),
        (
            &["agent.resources.limits.memroy=1Gi"],
            "--set #1: error: `agent.resources.limits.memroy` is not a resource name of Kubernetes",
        ),
    ] {
        assert_eq!(
            from_arguments(arguments).unwrap_err(),
            [expected],
            "{arguments:?}"
        );
    }
}

#[test]
fn a_path_of_a_hundred_thousand_names_is_refused() {
    for (begin, expected) in [
        ("a", "unknown setting `a`"),
        (
            "agent.image",
            "`agent.image` is a single value and has no field `a`",
        ),
        (
            "select.podSelector.matchLabels.a",
            "`select.podSelector.matchLabels.a` is a single value and has no field `a`",
        ),
    ] {
        let argument = format!("{begin}{}=b", ".a".repeat(100_000));
        assert_eq!(
            from_arguments(&[&argument]).unwrap_err(),
            [format!("--set #1: error: {expected}")]
        );
    }
}

#[test]
fn arguments_come_in_their_order_on_the_one_base_and_the_namespace_last() {
    let file = format!(
        "{{apiVersion: {API_VERSION}, kind: {KIND}, spec: {{namespace: a, agent: {{image: a, roles: [aa:aa]}}}}}}"
    );
    let set = [
        "agent.image=b",
        "namespace=b",
        "agent.image=c",
        "agent.roles=[bb:bb]",
    ]
    .map(str::to_owned);
    let sources = Sources::of_text("c.yaml", &file);
    let config = load(&sources.with_set(&set).with_namespace("c")).unwrap();
    assert_eq!(config.value("agent.image"), Some("c".into()));
    assert_eq!(config.value("namespace"), Some("c".into()));
    assert_eq!(config.value("agent.roles"), Some(json!(["bb:bb"])));
    assert!(matches!(
        config.origin("agent.image"),
        Origin::Argument { number: 3, .. }
    ));
    assert_eq!(*config.origin("namespace"), Origin::Namespace);
    assert_eq!(*config.origin("agent.memo"), Origin::Default);
    assert!(
        config.is_explicit("agent")
            && config.is_explicit("agent.roles")
            && !config.is_explicit("agent.resources")
    );

    let wholes = [
        "select.podSelector",
        "select.kinds",
        "select",
        "agent",
        "sidecar",
        "kubelet.port",
    ];
    for whole in wholes {
        let set = ["select.podSelector.matchLabels.a=b", "agent.image=a"];
        let config = from_arguments(&[&set[..], &[&format!("{whole}=null")]].concat()).unwrap();
        assert!(
            !config.is_explicit(whole),
            "null goes back to the default: {whole}"
        );
    }

    let replaced = ["a=b", "={c: d}", "e=f"].map(|rest| {
        let dot = if rest.starts_with('=') { "" } else { "." };
        format!("select.podSelector.matchLabels{dot}{rest}")
    });
    let replaced = from_arguments(&replaced.each_ref().map(String::as_str)).unwrap();
    let paths: Vec<&str> = replaced.explicit().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "select.podSelector.matchLabels",
            "select.podSelector.matchLabels.e"
        ]
    );

    let unset = load(&sources.with_namespace("")).unwrap();
    assert_eq!(unset.value("namespace"), Some(json!(null)));
    let bad = load(&sources.with_namespace("A")).unwrap_err();
    assert_eq!(
        bad[0].line(),
        "--namespace: error: `namespace` must be the name of a namespace, found `A`"
    );
}

#[test]
fn settings_that_the_webhook_cannot_follow_are_refused_for_it_and_null_resets_them() {
    let text = format!(
        "apiVersion: {API_VERSION}\nkind: {KIND}\nspec:\n  select:\n    kinds: [Deployment]\n    exclude:\n    - kind: Pod\n      name: probe\n    - namespace: lab\n    - kind: Job\n    - name: web\n    - group: ''\n    - group: apps\n"
    );
    let sources = Sources::of_text("shared.yaml", &text);
    assert!(load(&sources).is_ok());
    let lines = |sources: &Sources<'_>| {
        let errors = load(sources).map(|_| ()).unwrap_err();
        errors.iter().map(Diagnostic::line).collect::<Vec<_>>()
    };
    let refused = lines(&sources.for_webhook());
    let places = ["5:12", "10:7", "11:7", "13:7"]
        .map(|at| format!("shared.yaml:{at}: error: the webhook does not support `"));
    assert_eq!(refused.len(), places.len(), "{refused:#?}");
    for (line, place) in refused.iter().zip(places) {
        assert!(line.starts_with(&place), "{line}");
    }
    assert!(
        refused[0].contains("`select.kinds`: a pod does not show the kind of its workload"),
        "{}",
        refused[0]
    );

    let set = ["select.kinds=null", "select.exclude=null"].map(str::to_owned);
    let config = load(&sources.with_set(&set).for_webhook()).unwrap();
    assert_eq!(config.explicit().count(), 0);
    let null = text
        .replace("[Deployment]", "null")
        .split_once("    exclude")
        .unwrap()
        .0
        .to_owned();
    assert!(load(&Sources::of_text("shared.yaml", &null).for_webhook()).is_ok());
    let value = serde_yaml::from_str(&null).unwrap();
    assert_eq!(broken(&schema(), &value, ""), Vec::<String>::new());
    let argument = ["select.kinds=[Job]".to_owned()];
    assert!(
        lines(&Sources::default().with_set(&argument).for_webhook())[0]
            .starts_with("--set #1: error: ")
    );
}

#[test]
fn a_function_config_is_read_where_it_stands() {
    let text = format!(
        "# first\n---\nkind: ResourceList\nfunctionConfig:\n  apiVersion: {API_VERSION}\n  kind: {KIND}\n  spec:\n    injection: never\n    agent: {{roles: [a:b]}}\n"
    );
    let start = text.find("---").unwrap();
    let tree = yaml::read(&text[start..]).unwrap();
    let node = tree.get(tree.root().unwrap(), "functionConfig").unwrap();
    let errors = load(&Sources::of_node("<stdin>", &text, start, &tree, node)).unwrap_err();
    let shown = errors[0].line();
    assert_eq!(
        shown,
        "<stdin>:8:16: error: `injection` must be one of `always`, `annotated`, `disabled`, found `never`"
    );
}

#[test]
fn the_schema_accepts_the_example_and_every_valid_configuration() {
    let schema = schema();
    let accepts = |name: &str, text: &str| {
        let value: serde_json::Value = serde_yaml::from_str(text).unwrap();
        let errors = broken(&schema, &value, "");
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    };
    accepts("the example", EXAMPLE);
    for (name, path) in configurations("valid") {
        let text = fs::read_to_string(path).unwrap();
        // Empty files and ConfigMaps are other doors.
        if text.contains(KIND) && !name.starts_with("null-stands") {
            accepts(&name, &text);
        }
    }
}

/// The schema refuses wrong names, types, choices and patterns, which editors show without the injector.
#[test]
fn the_schema_refuses_what_it_can_describe() {
    let schema = schema();
    for name in [
        "another-kind",
        "another-version",
        "bad-config-url",
        "bad-kind",
        "bad-name",
        "bad-pod-template-path",
        "bad-port",
        "bad-role",
        "empty-name",
        "exclude-that-names-nothing",
        "list-without-brackets",
        "unknown-kubernetes-field",
        "unknown-setting",
        "unknown-top-level-key",
        "value-of-no-choice",
        "wrong-type",
    ] {
        let path = root()
            .join("tests/configs/invalid")
            .join(name)
            .with_extension("yaml");
        let value: serde_json::Value =
            serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert!(!broken(&schema, &value, "").is_empty(), "{name}");
    }
}
