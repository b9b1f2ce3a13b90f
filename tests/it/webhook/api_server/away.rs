//! The server is away, slow or dead.

use super::{Webhook, has_agent, plain_pod};
use crate::kubernetes::cluster::Verdict;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

/// Creates a pod as a dry run. Returns the time that it took, and true if the pod has the agent.
fn timed(webhook: &Webhook) -> (Duration, bool) {
    let started = Instant::now();
    match webhook.create(&plain_pod()) {
        Verdict::Accepted { object, .. } => (started.elapsed(), has_agent(&object)),
        Verdict::Refused(why) => panic!("{why}"),
    }
}

#[test]
fn a_pod_does_not_wait_for_a_server_that_is_down_and_five_seconds_for_one_that_is_silent() {
    let Some(webhook) = Webhook::register("away") else { return };
    let server = webhook.server(&["--drain=10ms"], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    drop(server);
    let (took, has_agent) = timed(&webhook);
    assert!(took < Duration::from_secs(2) && !has_agent, "{took:?}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    webhook.balancer.set(vec![silent.local_addr().unwrap()]);
    let (took, has_agent) = timed(&webhook);
    assert!((Duration::from_secs(4)..Duration::from_secs(8)).contains(&took) && !has_agent, "{took:?}");
}

#[test]
fn pods_miss_a_killed_replica_only_until_its_endpoint_is_gone() {
    let Some(webhook) = Webhook::register("killed") else { return };
    let [one, other] = [(); 2].map(|()| webhook.server(&[], &[]));
    webhook.balancer.set(vec![one.address, other.address]);
    webhook.wait();
    let gone = one.address;
    one.signal("KILL");
    thread::sleep(Duration::from_millis(200));
    webhook.balancer.remove(gone);
    for _ in 0..50 {
        assert!(timed(&webhook).1);
    }
}
