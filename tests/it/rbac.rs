//! The command `rbac`, and the line about permissions of `inject`.

use crate::program::{Folder, Ran, WEB};
use laws::independent_reader;
use serde_json::{Value, json};

const NEW: &str = "--set=kubernetesVersion=1.33";

fn objects(text: &str) -> Vec<Value> {
    let documents = independent_reader::documents(text)
        .into_iter()
        .filter_map(independent_reader::read);
    documents.filter(|document| !document.is_null()).collect()
}

fn call(items: &[&str]) -> String {
    let mut call = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for item in items {
        let lines = item.lines().enumerate();
        lines.for_each(|(at, line)| {
            call.push_str(&format!("{}{line}\n", if at == 0 { "- " } else { "  " }))
        });
    }
    call
}

/// `rbac.yaml` may be among the input.
#[test]
fn what_the_input_permits_is_not_required() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let run = |args: &[&str]| folder.run(&[args, &[NEW, "--namespace", "shop"]].concat());
    folder.write("rbac.yaml", &run(&["rbac", "web.yaml"]).stdout);
    let requires = |ran: &Ran| ran.stderr.contains("RBAC for the agents: ");
    assert!(requires(&run(&["inject", "--diff", "web.yaml"])));
    assert!(!requires(&run(&["inject", "--diff", "."])));
    assert!(!requires(&run(&[
        "inject",
        "--check",
        "rbac.yaml",
        "web.yaml"
    ])));
    assert!(
        !run(&["explain", "."])
            .stdout
            .contains("RBAC for the agents: ")
    );
    assert!(requires(&folder.run_with(&["-n", "shop"], call(&[WEB]))));
    let objects = folder.read("rbac.yaml");
    let items: Vec<&str> = objects.split("---\n").skip(1).chain([WEB]).collect();
    // People write each object to a file of its own.
    folder.write("split/web.yaml", WEB);
    folder.write("split/role.yaml", items[0]);
    folder.write("split/binding.yaml", items[1]);
    assert!(!requires(&run(&["inject", "--diff", "split"])));
    let list = folder.run_with(&["-n", "shop", NEW], call(&items));
    assert!(list.code == Some(0) && !requires(&list), "{list:?}");
    let prefixed: Vec<String> = items
        .iter()
        .map(|item| item.replace("name: mackerel-agent", "name: p-mackerel-agent"))
        .collect();
    let prefixed: Vec<&str> = prefixed.iter().map(|item| &**item).collect();
    let list = folder.run_with(&["-n", "shop", NEW], call(&prefixed));
    assert!(list.code == Some(0) && !requires(&list), "{list:?}");
    // A role of another tool permits nothing to the agent.
    let foreign = items[0].replace("mackerel-agent-injector:", "other:");
    let list = folder.run_with(&["-n", "shop", NEW], call(&[&foreign, WEB]));
    assert!(list.code == Some(0) && requires(&list), "{list:?}");
    assert!(
        run(&["explain", "web.yaml"])
            .stdout
            .contains("\n  RBAC for the agents: `mackerel-agent-injector rbac ")
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
    assert!(
        unknown
            .stderr
            .ends_with("\n\n1 error; no output was written\n"),
        "{unknown:?}"
    );
    let many = folder
        .run_with(&["rbac", "-"], format!("{WEB}---\n").repeat(9))
        .stderr;
    assert_eq!(many.matches("error[namespace-required]").count(), 1);
    assert!(
        many.contains("9 pod templates without a namespace"),
        "{many}"
    );
    assert!(
        many.contains("`mackerel-agent-injector rbac -k DIR`\n"),
        "{many}"
    );
    let skipped = folder.run(&["rbac", "--set=onError=skip", "."]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    assert!(
        skipped.stderr.contains("warning[namespace-required]")
            && skipped
                .stderr
                .contains("nothing to apply: no pod template has a valid name"),
        "{skipped:?}"
    );

    let version = "--set=kubernetesVersion=1.32";
    let old = folder.run(&["rbac", "--namespace=shop", version, "."]);
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
    let ignored = "--set=warnings.ignore=[nodes-proxy]";
    let ignored = folder.run(&["rbac", "--namespace=shop", version, ignored, "."]);
    assert_eq!(
        (ignored.code, &*ignored.stderr),
        (Some(0), "permissions for 1 ServiceAccount\n"),
        "{ignored:?}"
    );
}

/// Flux, Taskfile and envsubst fill in a name later.
#[test]
fn a_placeholder_is_left_out_of_permissions_and_namespaces() {
    let in_namespace = |name: &str, account: &str| {
        let web = WEB.replace("name: web\n", &format!("name: web\n  namespace: {name}\n"));
        let account = format!("    spec:\n      serviceAccountName: {account}\n");
        web.replacen("    spec:\n", &account, 1)
    };
    let folder = Folder::with(&[
        ("shop.yaml", &in_namespace("shop", "web")),
        ("flux.yaml", &in_namespace("${NAMESPACE}", "web")),
        ("task.yaml", &in_namespace("\"{{.NS}}\"", "web")),
        ("old.yaml", &in_namespace("shop", "$(sa)")),
        ("env.yaml", &in_namespace("shop", "$KSA_NAME")),
    ]);
    let checked = folder.run(&["inject", "--check", "."]);
    assert!(
        checked
            .stderr
            .contains("before you deploy:\n  in shop and the namespace of the other pods: Secret"),
        "{checked:?}"
    );
    assert!(
        checked
            .stderr
            .contains("`mackerel-agent-injector rbac . | kubectl apply -f -`\n")
    );
    let rbac = folder.run(&["rbac", "."]);
    assert_eq!(rbac.code, Some(0), "{rbac:?}");
    let printed = objects(&rbac.stdout);
    let subjects = json!([{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}]);
    assert_eq!((printed.len(), &printed[1]["subjects"]), (2, &subjects));
    let screen = "\
warning[invalid-name]: the namespace or ServiceAccount of the pod has no valid name
 --> env.yaml:13:27
 --> flux.yaml:5:14
 --> old.yaml:13:27 and 1 more
  = help: correct the name; if it is a placeholder, render the manifest first

permissions for 1 ServiceAccount
";
    assert_eq!(rbac.stderr, screen);
    let all = folder.run(&["rbac", "-v", "."]).stderr;
    assert_eq!(all.matches("warning[invalid-name]").count(), 4, "{all}");
    let ignored = folder.run(&["rbac", "--set=warnings.ignore=[invalid-name]", "."]);
    assert_eq!(ignored.stderr, "permissions for 1 ServiceAccount\n");
    let explained = folder.run(&["explain", "."]).stdout;
    assert!(
        explained.contains("in shop and the namespace of the other pods: Secret"),
        "{explained}"
    );
    let nothing = folder.run(&["rbac", "flux.yaml", "env.yaml"]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(objects(&nothing.stdout).is_empty(), "{nothing:?}");
    assert!(
        nothing
            .stderr
            .contains("nothing to apply: no pod template has a valid name")
    );
    let called = folder.run_with(&[], call(&[&in_namespace("${NAMESPACE}", "web")]));
    assert!(
        called
            .stderr
            .contains("before you deploy:\n  in the namespace of the pods: Secret"),
        "{called:?}"
    );

    // What cannot be read is left out as by `inject`.
    folder.write("broken.yaml", "apiVersion: v1\nkind: Pod\nspec: [\n");
    for (command, code) in [("inject", Some(2)), ("rbac", Some(2)), ("explain", Some(2))] {
        assert_eq!(folder.run(&[command, "."]).code, code, "{command}");
        let skipped = folder.run(&[command, "--set=onError=skip", "."]);
        assert_eq!(skipped.code, Some(0), "{skipped:?}");
    }
    let refused = folder.run(&["rbac", "."]).stderr;
    let end = "\n\n4 warnings, 1 error; no output was written\nnext: correct broken.yaml:3:7, or add /broken.yaml to the file .ignore, or leave what fails as it is with `--set onError=skip`\n";
    assert!(refused.ends_with(end), "{refused}");
}
