//! `tests/policies/`: what `policy` prints, as a whole for the defaults and as a difference from that for other configurations.
//! `UPDATE_EXPECTED=1 cargo test --test it policy::printed` writes it anew.

use super::documents;
use crate::program::{Folder, Ran};
use serde_json::Value;
use support::root;

/// The arguments for each file.
const PRINTED: &[(&str, &[&str])] = &[
    ("default.yaml", &[]),
    (
        "annotated-native.diff",
        &["--set=injection=annotated", "--set=sidecar=native"],
    ),
    (
        "selection.diff",
        &[
            "--name=shop",
            "--namespace-selector=team in (shop,web),!legacy",
            "--object-selector=agent=on",
            "--set=hooks=inject",
            "--set=select.namespaces=[shop, 'team-*']",
            "--set=select.excludeNamespaces=['team-?']",
            "--set=select.systemNamespaces=true",
            "--set=select.podSelector={matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, values: [batch]}]}",
            "--set=select.exclude=[{namespace: shop, podSelector: {matchExpressions: [{key: a, operator: Exists}]}}, {kind: Pod, name: debug}]",
        ],
    ),
    (
        "shapes.diff",
        &[
            "--set=qos=keep",
            "--set=agent.imagePullSecrets=[team]",
            "--set=agent.volumeMounts=[{name: sockets, mountPath: /sockets}]",
        ],
    ),
    (
        "fargate.diff",
        &["--set=platform=eks-fargate", "--set=onError=skip"],
    ),
    (
        "read-only-port.diff",
        &[
            "--set=kubelet.readOnlyPort=10255",
            "--set=onError=fail",
            "--set=qos=refuse",
        ],
    ),
    (
        "annotations.diff",
        &[
            "--set=annotations.allow=[image, agent-config-location]",
            "--set=waitFor.annotations=[example.com/wait]",
        ],
    ),
    (
        "hostile.diff",
        &[
            "--set=agent.displayName=it's \\ \"$(A)\" ${{ b }} 監視",
            "--set=agent.memo=a\n---\n# \u{2028}\u{85}\u{1f41f}",
            "--set=agent.roles=[shop:web]",
            "--set=agent.env=[{name: MACKEREL_ROLES_, value: \"'+variables.record+'\"}]",
        ],
    ),
];

fn policy(arguments: &[&str]) -> Ran {
    let mut all = vec!["policy"];
    all.extend(arguments);
    Folder::with(&[]).run(&all)
}

#[test]
fn the_policies_of_configurations() {
    let folder = root().join("tests/policies");
    let default = policy(&[]).stdout;
    let mut changed = Vec::new();
    for (file, arguments) in PRINTED {
        let Ran {
            code,
            stdout,
            stderr,
        } = policy(arguments);
        assert_eq!(code, Some(0), "{file}: {stderr}");
        let mut text = stdout.clone();
        if !arguments.is_empty() {
            let difference = similar::TextDiff::from_lines(&default, &stdout);
            text = difference.unified_diff().context_radius(1).to_string();
        }
        let path = folder.join(file);
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            changed.push(file);
        }
    }
    assert!(
        changed.is_empty(),
        "`UPDATE_EXPECTED=1 cargo test --test it policy::printed` writes {changed:?} anew"
    );
}

#[test]
fn each_policy_has_one_mutation_and_its_binding() {
    let components = ["inject", "report", "refuse"];
    for (file, arguments) in PRINTED {
        let printed = documents(&policy(arguments).stdout);
        let mut expected = vec![
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ];
        if arguments.contains(&"--set=onError=fail") {
            expected.extend_from_within(2..);
        }
        let kinds: Vec<&Value> = printed.iter().map(|object| &object["kind"]).collect();
        assert_eq!(kinds, expected, "{file}");
        assert_eq!(printed[0]["spec"]["mutations"].as_array().unwrap().len(), 1);
        for ([policy, binding], component) in printed.as_chunks().0.iter().zip(components) {
            let labels = &policy["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/component"], component);
            assert_eq!(policy["metadata"]["name"], binding["spec"]["policyName"]);
            assert_eq!(policy["metadata"]["labels"], binding["metadata"]["labels"]);
        }
    }
}

/// The expressions are CEL, which the API server reads; here they are what YAML gives back.
#[test]
fn hostile_texts_stay_within_their_literals() {
    let (_, arguments) = PRINTED
        .iter()
        .find(|(file, _)| *file == "hostile.diff")
        .unwrap();
    let printed = documents(&policy(arguments).stdout);
    let variables = printed[0]["spec"]["variables"].as_array().unwrap();
    let container = variables
        .iter()
        .find(|one| one["name"] == "container")
        .unwrap();
    let container = container["expression"].as_str().unwrap();
    for literal in [
        r#"'it\'s \\ "$(A)" ${{ b }} 監視'"#,
        r"'a\u000a---\u000a# \u2028\u0085\U0001f41f'",
        r"'\'+variables.record+\''",
    ] {
        assert!(container.contains(literal), "{literal}: {container}");
    }
}

#[test]
fn some_configurations_have_no_policy() {
    let name = format!("--name={}", "a".repeat(64));
    let long = format!("--set=agent.memo={}", "a".repeat(100_000));
    for (argument, expected) in [
        (
            "--set=injection=disabled",
            "error: `injection` is `disabled`, so the policy would inject nothing; delete it from the cluster, or set `injection`\n",
        ),
        (
            "--set=select.kinds=[Deployment]",
            "error: a policy does not support `select.kinds`: a pod does not show the kind of its workload\n",
        ),
        (
            "--set=select.exclude=[{name: migrate}]",
            "error: a policy does not support `select.exclude[0]`: a pod does not show its workload\n",
        ),
        (
            &long,
            "error: the expression `container` of the policy has 10",
        ),
        (
            "--name=a b",
            "error: `--name` must be the name of a Kubernetes object, found `a b`; lower-case letters",
        ),
        (
            &name,
            "error: `--name` has 64 characters, but it is the value of a label too, which has at most 63\n",
        ),
        (
            "--namespace-selector=a>b",
            "error: invalid value 'a>b' for '--namespace-selector <SELECTOR>': `a>b` is no condition on a label; use",
        ),
    ] {
        let Ran {
            code,
            stdout,
            stderr,
        } = policy(&[argument]);
        assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
        assert!(stderr.starts_with(expected), "{stderr}");
    }
}

#[test]
fn settings_that_have_another_effect_here_are_noted() {
    let ran = policy(&[
        "--set=kubernetesVersion=1.35",
        "--set=waitFor.image=w:1",
        "--namespace=shop",
    ]);
    assert_eq!(
        ran.stderr,
        "\
warning: `kubernetesVersion` is 1.35, but clusters take MutatingAdmissionPolicies from 1.36 on by default; use the webhook for older ones
warning: `waitFor.image` has no effect: pods that request wait-for are left alone and reported
info: `namespace` has no effect here: the policy is about pods in all namespaces; use `--namespace-selector`, or `select.namespaces`
info: pods that cannot be injected are created without the agent, with a warning; to refuse them, set `onError: fail`
"
    );
    assert_eq!(
        policy(&["--set=onError=fail", "--set=kubernetesVersion=1.36"]).stderr,
        ""
    );
}

#[test]
fn the_configuration_is_found_as_for_files() {
    let text = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n  onError: skip\n";
    let folder = Folder::with(&[("agent-injector.yaml", text)]);
    let ran = folder.run(&["policy"]);
    assert_eq!(ran.stderr, "configuration: agent-injector.yaml\n");
    assert!(ran.stdout.contains("#   onError: \"skip\"\n"));
    assert_eq!(
        folder.run(&["policy", "--no-config"]).stdout,
        policy(&[]).stdout
    );
}
