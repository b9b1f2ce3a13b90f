//! The server is away, slow or dead.

use super::{Webhook, has_agent, plain_pod};
use crate::kubernetes::cluster::ApiVerdict;
use crate::webhook::chart::{OPENSHIFT, rendered};
use crate::webhook::server::until;
use std::net::TcpListener;
use std::time::{Duration, Instant};
use support::parallel::for_each;

/// Creates a pod as a dry run. Returns the time that it took, and true if the pod has the agent.
fn timed(webhook: &Webhook) -> (Duration, bool) {
    let started = Instant::now();
    match webhook.create(&plain_pod()) {
        ApiVerdict::Accepted { object, .. } => (started.elapsed(), has_agent(&object)),
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

#[test]
fn a_pod_does_not_wait_for_a_server_that_is_down_and_five_seconds_for_one_that_is_silent() {
    let Some(webhook) = Webhook::register("away") else {
        return;
    };
    let server = webhook.server(&["--drain=10ms"], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    drop(server);
    let (took, has_agent) = timed(&webhook);
    assert!(took < Duration::from_secs(4) && !has_agent, "{took:?}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    webhook.balancer.set(vec![silent.local_addr().unwrap()]);
    let (took, has_agent) = timed(&webhook);
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(20)).contains(&took) && !has_agent,
        "{took:?}"
    );
}

/// Applies the chart's policy for the pods of the webhook. False, with a line on standard error, if no Helm is installed.
fn has_policy(webhook: &Webhook) -> bool {
    let selector = format!(
        "webhook.namespaceSelector.matchLabels.webhook={}",
        webhook.namespace
    );
    let Some(rendered) = rendered(&[OPENSHIFT, &selector]) else {
        return false;
    };
    for kind in [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ] {
        webhook.cluster.apply(rendered.of_kind(kind).unwrap());
    }
    true
}

/// Creates a pod: true if it has the agent, and true if the policy says that it has none.
fn created(webhook: &Webhook) -> (bool, bool) {
    match webhook.create(&plain_pod()) {
        ApiVerdict::Accepted { object, warnings } => {
            let is_told = warnings
                .iter()
                .any(|warning| warning.contains("should have the Mackerel agent"));
            (has_agent(&object), is_told)
        }
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

#[test]
fn the_policy_tells_each_pod_that_misses_a_killed_replica_until_its_endpoint_is_gone() {
    let Some(webhook) = Webhook::register("killed") else {
        return;
    };
    if !has_policy(&webhook) {
        return;
    }
    until("the policy tells", || created(&webhook) == (false, true));
    let [mut one, other] = [(); 2].map(|()| webhook.server(&[], &[]));
    webhook.balancer.set(vec![one.address]);
    webhook.wait();
    one.signal("KILL");
    one.ended();
    // All connections of the API server are gone, and the next one goes to the dead replica.
    webhook.balancer.set(vec![one.address, other.address]);
    assert_eq!(created(&webhook), (false, true));
    let (with, without): (Vec<_>, Vec<_>) = for_each(&[(); 100], |()| created(&webhook))
        .into_iter()
        .partition(|(has_agent, _)| *has_agent);
    assert!(
        with.iter().all(|(_, is_told)| !is_told) && without.iter().all(|(_, is_told)| *is_told),
        "{without:?}"
    );
    assert!(!with.is_empty());
    webhook.balancer.remove(one.address);
    assert_eq!(
        for_each(&[(); 50], |()| created(&webhook)),
        [(true, false); 50]
    );
}
