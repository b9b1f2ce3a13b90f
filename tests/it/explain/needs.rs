//! Objects and permissions that the agents need.

use super::SHOP;
use crate::program::{Folder, WEB};
use serde_json::{Value, json};

/// The Secret may be in another file than the pods.
#[test]
fn what_surrounds_the_pods_is_looked_for_in_every_file() {
    let web = SHOP.split("---").next().unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: mackerel-container-agent, namespace: shop}\ndata: {x: eA==}\n";
    let folder = Folder::with(&[("a/secret.yaml", secret), ("b/web.yaml", web)]);
    let ran = folder.run(&["inject", "--diff", "."]);
    assert!(
        ran.stderr.starts_with("warning[missing-key]: ")
            && ran.stderr.contains("\n --> a/secret.yaml:1:1\n  = help: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("(in the input, without that key)\n"),
        "{}",
        ran.stderr
    );
    let strict = folder.run(&["inject", "--strict", "-i", "."]);
    assert_eq!(
        (strict.code, folder.read("b/web.yaml").as_str()),
        (Some(1), web),
        "{}",
        strict.stderr
    );
}

#[test]
fn an_external_or_sealed_secret_of_the_input_counts_as_the_secret() {
    for (source, is_there) in [
        (
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: mackerel-container-agent}\n",
            true,
        ),
        (
            "apiVersion: external-secrets.io/v1beta1\nkind: ExternalSecret\nmetadata: {name: key}\nspec:\n  target: {name: mackerel-container-agent}\n",
            true,
        ),
        (
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: mackerel-container-agent}\nspec: {target: {name: another}}\n",
            false,
        ),
        (
            "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: mackerel-container-agent}\n",
            true,
        ),
        (
            "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: key}\nspec: {template: {metadata: {name: mackerel-container-agent}}}\n",
            true,
        ),
        (
            "apiVersion: example.com/v1\nkind: SealedSecret\nmetadata: {name: mackerel-container-agent}\n",
            false,
        ),
    ] {
        let folder = Folder::with(&[("key.yaml", source), ("web.yaml", WEB)]);
        let ran = folder.run(&["inject", "--check", "."]);
        assert_eq!(
            !ran.stderr.contains("(not in the input)"),
            is_there,
            "{source}{}",
            ran.stderr
        );
        assert!(
            !ran.stderr.contains("missing-key"),
            "{source}{}",
            ran.stderr
        );
    }
}

#[test]
fn permissions_are_listed_by_namespace() {
    let pod = |name: &str, namespace: &str, account: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{namespace}}}\nspec: {{serviceAccountName: {account}, containers: [{{name: a, image: a}}]}}\n"
        )
    };
    let pods = [
        pod("a", ", namespace: shop", "web"),
        pod("b", ", namespace: shop", "db"),
        pod("c", "", "web"),
    ];
    let folder = Folder::with(&[("pods.yaml", &pods.join("---\n"))]);
    let permitted = |set: &[&str]| -> Value {
        let ran = folder.run(&[&["explain", "-o", "json", "pods.yaml"], set].concat());
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        told["permissions"].clone()
    };
    let in_each = |get: &[&str]| {
        json!([
            {"serviceAccounts": ["web"], "get": get},
            {"namespace": "shop", "serviceAccounts": ["db", "web"], "get": get},
        ])
    };
    for (set, get) in [
        (
            &["--set", "kubernetesVersion=1.32"][..],
            &["nodes/proxy", "nodes/stats"][..],
        ),
        (&[], &["nodes/pods", "nodes/stats"]),
        (&["--set", "platform=eks-fargate"], &["nodes/proxy"]),
    ] {
        assert_eq!(permitted(set), in_each(get), "{set:?}");
    }
    assert_eq!(
        permitted(&["--set", "kubelet.readOnlyPort=10255"]),
        json!([])
    );
    let ran = folder.run(&["explain", "pods.yaml"]);
    let needed = "  in shop and the namespace of the other pods: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)\n";
    assert!(ran.stdout.contains(needed), "{}", ran.stdout);
    let ran = folder.run(&[
        "explain",
        "pods.yaml",
        "--output",
        "json",
        "--resource",
        "a",
    ]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        told["permissions"],
        json!([{"namespace": "shop", "serviceAccounts": ["web"], "get": ["nodes/pods", "nodes/stats"]}])
    );
}

#[test]
fn each_workload_of_a_service_account_without_tokens_is_named() {
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\nautomountServiceAccountToken: false\n";
    let of = |name: &str| {
        WEB.replace("name: web\nspec", &format!("name: {name}\nspec"))
            .replace("containers:", "serviceAccountName: web\n      containers:")
    };
    let folder = Folder::with(&[
        ("a.yaml", &of("a")),
        ("b.yaml", &of("b")),
        ("c.yaml", &of("c")),
        ("sa.yaml", account),
    ]);
    let told = folder.run(&["inject", "--diff", "."]).stderr;
    assert!(
        told.contains(
            "warning[sa-automount-off]: ServiceAccount web disables its token, so the agents of Deployment/a, Deployment/b and Deployment/c exit\n --> sa.yaml:4:"
        ) && told.contains("1 warning;"),
        "{told}"
    );
    folder.write("overlay/c.yaml", &of("c"));
    let told = folder.run(&["inject", "--diff", "."]).stderr;
    let names = "Deployment/a, Deployment/b and Deployment/c in 2 places exit";
    assert!(told.contains(names), "{told}");
    let explained = folder.run(&["explain", "."]).stdout;
    assert!(
        explained.contains(": warning[sa-automount-off]: v1/ServiceAccount/web "),
        "{explained}"
    );
    let one = folder.run(&["explain", "--resource", "c", "."]).stdout;
    assert!(
        one.contains(": warning[sa-automount-off]: v1/ServiceAccount/web ")
            && !one.contains("b.yaml"),
        "{one}"
    );
    let alone = Folder::with(&[
        ("x.yaml", &of("x")),
        ("y.yaml", &of("y").replace("Name: web", "Name: y")),
    ]);
    let told = alone.run(&["inject", "--diff", "."]).stderr;
    let line = "info[sa-automount-unknown]: the ServiceAccount of the pod is not in the input; it may disable its token: x.yaml:12:27 and 1 more\n";
    assert!(told.starts_with(line), "{told}");
}
