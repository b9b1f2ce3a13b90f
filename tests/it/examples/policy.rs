//! `policy/`: printed, applied and tried as the README says.

use super::{Commands, examples, read, types};
use crate::kubernetes::cluster::cluster;
use crate::policy::until;
use crate::real_tools::User;
use crate::tools;
use serde_json::json;
use std::fs;

#[test]
fn the_policy_is_printed_applied_and_tried() {
    let commands = Commands::of("policy");
    let [print, report, apply, probe, delete] = &commands[..] else {
        panic!("five blocks of commands")
    };
    let user = User::new();
    let said = types(&user, &print.typed);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let printed = fs::read_to_string(user.path("examples/policy/policy.yaml")).unwrap();
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        fs::write(examples().join("policy/policy.yaml"), &printed).unwrap();
    }
    assert_eq!(
        printed,
        read("policy/policy.yaml"),
        "UPDATE_EXAMPLES=1 writes it anew"
    );

    let (Some(cluster), Some(kubectl)) = (cluster(), tools::find("kubectl", "")) else {
        return;
    };
    let user = user.with("KUBECONFIG", cluster.kubeconfig());
    user.has("kubectl", &kubectl);
    let said = types(&user, &report.typed);
    assert_eq!(said.code, 0, "{}", said.stderr);
    // No controller makes its ServiceAccount.
    cluster.namespace("payment", &json!({}));
    until("the pod is reported", || {
        let said = types(&user, &probe.typed);
        said.stdout.is_empty() && said.stderr.contains("no-agent: ")
    });
    let said = types(&user, &apply.typed);
    assert_eq!(said.code, 0, "{}", said.stderr);
    until("the policy has an effect", || {
        types(&user, &probe.typed)
            .stdout
            .contains("image: mackerel/mackerel-container-agent:")
    });
    let said = types(&user, &delete.typed);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(
        said.stdout.matches(" deleted").count(),
        4,
        "{}",
        said.stdout
    );
}
