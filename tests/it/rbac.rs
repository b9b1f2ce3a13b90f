//! `rbac` and `rbac.generate`: the command, and permissions in a ResourceList. What is permitted, and streams, are cases.

use crate::corpus_laws::as_resource_list;
use crate::generators::{self, Tape};
use crate::independent_reader;
use crate::laws;
use crate::program::{Folder, Ran, WEB};
use proptest::prelude::{any, prop};
use proptest::test_runner::{Config as Runs, TestCaseError, TestRunner};
use serde_json::{Value, json};

const NEW: &str = "--set=kubernetesVersion=1.33";
const GENERATE: [&str; 3] = [NEW, "--set=rbac.generate=true", "--namespace=shop"];

fn objects(text: &str) -> Vec<Value> {
    let documents = independent_reader::documents(text)
        .into_iter()
        .filter_map(independent_reader::read);
    documents.filter(|document| !document.is_null()).collect()
}

fn call(items: &[&str], rest: &str) -> String {
    let mut call = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for item in items {
        let lines = item.lines().enumerate();
        lines.for_each(|(at, line)| {
            call.push_str(&format!("{}{line}\n", if at == 0 { "- " } else { "  " }))
        });
    }
    call + rest
}

/// `rbac.yaml` may be among the input, and it may be of an earlier version of it.
#[test]
fn what_the_input_permits_is_not_required() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let run = |args: &[&str]| folder.run(&[args, &[NEW, "--namespace", "shop"]].concat());
    folder.write("rbac.yaml", &run(&["rbac", "web.yaml"]).stdout);
    let requires = |ran: &Ran| ran.stderr.contains("required: RBAC for the agents");
    assert!(requires(&run(&["inject", "--diff", "web.yaml"])));
    assert!(!requires(&run(&["inject", "--diff", "."])));
    assert!(!requires(&run(&[
        "inject",
        "--check",
        "rbac.yaml",
        "web.yaml"
    ])));
    assert!(
        run(&["explain", "."])
            .stdout
            .contains("\nrequired permissions (the input has them); ")
    );
    assert!(requires(
        &folder.run_with(&["-n", "shop"], call(&[WEB], ""))
    ));
    let objects = folder.read("rbac.yaml");
    let items: Vec<&str> = objects.split("---\n").skip(1).chain([WEB]).collect();
    // People write each object to a file of its own.
    folder.write("split/web.yaml", WEB);
    folder.write("split/role.yaml", items[0]);
    folder.write("split/binding.yaml", items[1]);
    assert!(!requires(&run(&["inject", "--diff", "split"])));
    let list = folder.run_with(&["-n", "shop", NEW], call(&items, ""));
    assert!(list.code == Some(0) && !requires(&list), "{list:?}");
    let name = "  name: mackerel-agent-injector:default:shop:kubelet\n";
    let renamed = "  name: p-mackerel-agent-injector:default:shop:kubelet\n  annotations:\n    \
         internal.config.kubernetes.io/previousNames: mackerel-agent-injector:default:shop:kubelet\n";
    let prefixed: Vec<String> = items
        .iter()
        .map(|item| {
            item.replace(
                &format!("metadata:\n{name}"),
                &format!("metadata:\n{renamed}"),
            )
        })
        .collect();
    let prefixed: Vec<&str> = prefixed.iter().map(|item| &**item).collect();
    assert!(prefixed[0].contains("p-mackerel"), "{prefixed:?}");
    let list = folder.run_with(&["-n", "shop", NEW], call(&prefixed, ""));
    assert!(list.code == Some(0) && !requires(&list), "{list:?}");
    // Those that this run removes are not there afterwards.
    let generated = folder.run_with(
        &["-n", "shop", NEW, "--set=rbac.generate=true"],
        call(&[WEB], ""),
    );
    assert!(!requires(&generated), "{generated:?}");
    let again = folder.run_with(
        &[
            "-n",
            "shop",
            NEW,
            "--set=agent.image=mackerel-container-agent:2",
        ],
        &generated.stdout,
    );
    assert!(
        again.stderr.contains("2 removed") && requires(&again),
        "{again:?}"
    );
    // On older clusters the agent needs more.
    assert!(requires(&folder.run(&[
        "inject",
        "--diff",
        "--namespace",
        "shop",
        "."
    ])));
    let other = WEB.replace("    spec:\n", "    spec:\n      serviceAccountName: web\n");
    folder.write("other.yaml", &other);
    assert!(requires(&run(&["inject", "--diff", "."])), "{other}");
    assert!(
        run(&["explain", "."])
            .stdout
            .contains("\nrequired permissions (`mackerel-agent-injector rbac` prints them)")
    );
}

#[test]
fn rbac_prints_role_and_binding_over_files_and_over_both_kinds_of_stdin() {
    let folder = Folder::with(&[
        ("a/web.yaml", WEB),
        ("a/settings.yaml", "apiVersion: v1\nkind: ConfigMap\n"),
    ]);
    let files = folder.run(&["rbac", NEW, "--namespace", "shop", "a"]);
    assert_eq!(
        (files.code, &*files.stderr),
        (Some(0), "permissions for 1 ServiceAccount\n"),
        "{files:?}"
    );
    let name = "mackerel-agent-injector:default:shop:kubelet";
    let expected = [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["nodes/pods", "nodes/stats"], "verbs": ["get"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "shop"}]}),
    ];
    assert_eq!(objects(&files.stdout), expected);
    let stdin = folder.run_with(&["rbac", NEW, "--namespace", "shop", "-"], WEB);
    assert_eq!(stdin, files);
    let quiet = folder.run(&["rbac", "-q", NEW, "--namespace", "shop", "a"]);
    assert_eq!((&quiet.stdout, &*quiet.stderr), (&files.stdout, ""));
    for (settings, why) in [
        (
            "kubelet.readOnlyPort=10255",
            "1 pod template reads from the read-only port of the kubelet, which needs no RBAC permission",
        ),
        (
            "injection=annotated",
            "no pod template in the input has an agent of this program",
        ),
    ] {
        let nothing = folder.run(&["rbac", "--namespace", "shop", "--set", settings, "a"]);
        assert_eq!(
            (nothing.code, nothing.stderr),
            (Some(0), format!("nothing to apply: {why}\n"))
        );
        assert!(
            objects(&nothing.stdout).is_empty() && nothing.stdout.contains(why),
            "{}",
            nothing.stdout
        );
    }
}

#[test]
fn rbac_wants_the_namespace_and_warns_of_nodes_proxy_once() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", WEB)]);
    let unknown = folder.run(&["rbac", "."]);
    assert_eq!((unknown.code, &*unknown.stdout), (Some(2), ""));
    assert!(
        unknown.stderr.contains("error[namespace-required]")
            && unknown.stderr.contains("--namespace"),
        "{unknown:?}"
    );
    assert!(unknown.stderr.ends_with("2 errors\n"), "{unknown:?}");
    let many = folder
        .run_with(&["rbac", "-"], format!("{WEB}---\n").repeat(9))
        .stderr;
    assert_eq!(
        many.matches("error[namespace-required]").count(),
        9,
        "errors are all shown: {many}"
    );

    // What the configuration says of writing them is for those who write them.
    for settings in [&[][..], &["--set=rbac.generate=true"]] {
        let old = folder.run(&[&["rbac", "--namespace=shop", "."], settings].concat());
        assert_eq!(old.code, Some(0), "{old:?}");
        assert_eq!(
            old.stderr.matches("warning[nodes-proxy]").count(),
            1,
            "{old:?}"
        );
        assert!(
            old.stdout
                .contains("resources: [nodes/proxy, nodes/stats]\n"),
            "{old:?}"
        );
        assert!(
            old.stdout
                .contains("# nodes/proxy: it allows running commands"),
            "{old:?}"
        );
    }
}

#[test]
fn over_files_permissions_are_not_written_but_taken_out() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    for how in [&["inject"][..], &["inject", "-i"], &["inject", "--check"]] {
        let ran = folder.run(&[how, &GENERATE, &["web.yaml"]].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr
                .contains("`mackerel-agent-injector rbac PATH... > rbac.yaml`"),
            "{ran:?}"
        );
    }
    let stream = folder.run_with(&GENERATE, WEB);
    assert!(
        stream
            .stderr
            .starts_with("info: ClusterRoles and bindings: 2 added\n1 injected\n"),
        "{stream:?}"
    );
    folder.write("web.yaml", &stream.stdout);
    let again = folder.run(&["inject", NEW, "web.yaml"]);
    assert_eq!(again.stdout, stream.stdout, "what a stream brought stays");
    assert_eq!(
        folder
            .run(&[&["uninject", "-i"], &GENERATE[..], &["web.yaml"]].concat())
            .code,
        Some(0)
    );
    assert_eq!(folder.read("web.yaml"), WEB);
}

#[test]
fn a_check_of_a_stream_names_what_would_be_written() {
    let folder = Folder::with(&[]);
    let injected = folder.run_with(&["inject", NEW, "-"], WEB).stdout;
    let check = folder.run_with(
        &[&["inject", "--check"], &GENERATE[..], &["-"]].concat(),
        &injected,
    );
    let object = |kind: &str| {
        format!(
            "<stdin>: rbac.authorization.k8s.io/v1/{kind}/mackerel-agent-injector:default:shop:kubelet would be added\n"
        )
    };
    assert_eq!(
        (check.code, check.stdout),
        (
            Some(1),
            object("ClusterRole") + &object("ClusterRoleBinding")
        )
    );
}

fn items(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    objects(&ran.stdout)[0]["items"].as_array().unwrap().clone()
}

fn kinds(items: &[Value]) -> Vec<&str> {
    items
        .iter()
        .map(|item| item["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn a_call_gets_items_where_kpt_can_write_them_to_a_file() {
    let folder = Folder::with(&[]);
    let plain = items(&folder.run_with(&GENERATE, call(&[WEB], "")));
    assert_eq!(
        kinds(&plain),
        ["ClusterRole", "ClusterRoleBinding", "Deployment"]
    );
    assert_eq!(
        plain[0]["metadata"]["annotations"],
        json!({"agent-injector.contrib.mackerel.io/record": "v1;rbac"}),
        "kustomize has no files"
    );
    let of_kpt = WEB.replace(
        "  name: web\n",
        "  name: web\n  annotations: {config.kubernetes.io/path: web.yaml}\n",
    );
    let listed = items(&folder.run_with(&GENERATE, call(&[&of_kpt], "")));
    for (index, item) in listed.iter().take(2).enumerate() {
        let annotations = &item["metadata"]["annotations"];
        assert_eq!(
            annotations["config.kubernetes.io/path"],
            "mackerel-agent-injector-default-rbac.yaml"
        );
        assert_eq!(annotations["config.kubernetes.io/index"], index.to_string());
    }
    let quiet = folder.run_with(
        &GENERATE,
        call(&[&WEB.replace("apps/v1", "example.com/v1")], ""),
    );
    assert_eq!(kinds(&items(&quiet)), ["Deployment"], "nothing is injected");
}

#[test]
fn permissions_look_the_same_beside_an_agent_and_without_one() {
    let long = "0123456789 ".repeat(8);
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n    name: web\n    annotations:\n      long: \"{long}\"\nspec:\n containers:\n   \
         - name: web\n     image: web:1\n"
    );
    let folder = Folder::with(&[]);
    let items = |text: &str| text.split("results:").next().unwrap().to_owned();
    let at_once = folder.run_with(&GENERATE, call(&[&pod], "")).stdout;
    let agent = folder
        .run_with(&[NEW, "--namespace=shop"], call(&[&pod], ""))
        .stdout;
    assert!(
        at_once.contains("kind: ClusterRole\n") && !agent.contains("kind: ClusterRole\n"),
        "{agent}"
    );
    assert_eq!(
        items(&folder.run_with(&GENERATE, &agent).stdout),
        items(&at_once)
    );
}

/// The items of a ResourceList, in whatever style it is written.
#[test]
fn lists_of_generated_manifests_obey_the_laws_with_permissions() {
    let tape = || prop::collection::vec(any::<u8>(), 0..400);
    let runs = Runs {
        failure_persistence: None,
        max_shrink_iters: 5_000,
        ..Runs::default()
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        runs.cases
    } else {
        400
    };
    let permit = "rbac: {generate: true, allowNodesProxy: true}, namespace: shop";
    let first = laws::of_spec(&format!("{{{permit}}}"));
    let others = [
        laws::of_spec(&format!(
            "{{{permit}, kubernetesVersion: '1.33', sidecar: native}}"
        )),
        laws::of_spec(&format!("{{{permit}, platform: eks-fargate}}")),
        laws::of_spec("{sidecar: native}"),
    ];
    let result = TestRunner::new(Runs { cases, ..runs }).run(
        &(tape(), 0..4_usize, 0..3_usize),
        |(manifest, style, other)| {
            let text = generators::stream(&mut Tape::new(&manifest));
            let Some(list) = as_resource_list("permissions", &text) else {
                return Ok(());
            };
            let Some(value) = independent_reader::read(&list.text) else {
                return Ok(());
            };
            let text = match style {
                0 => list.text,
                1 => list.text.replace('\n', "\r\n"),
                2 => serde_json::to_string_pretty(&value).unwrap() + "\n",
                _ => format!("# in one line\n{value}"),
            };
            let converges = |lawful| {
                let (one, two) = (
                    laws::Made { by: &first, lawful },
                    laws::made(&text, &others[other])?,
                );
                laws::converges(&text, &one, &two).and_then(|()| laws::converges(&text, &two, &one))
            };
            laws::check(&text, &first, laws::INJECT)
                .and_then(converges)
                .map_err(|what| TestCaseError::fail(format!("{what}\n--- the list\n{text}")))
        },
    );
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
