//! Replicas come and go, certificates and configurations change, and no pod misses its agent.

use super::{Webhook, has_agent, plain_pod};
use crate::kubernetes::cluster::ApiVerdict;
use crate::program::Folder;
use crate::webhook::server::{
    EndsLoad, PemTexts, Server, certificate, mount, mount_certificate, scaled,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The pods that were created while something else went on.
#[derive(Debug, Default)]
struct Created {
    all: AtomicUsize,
    missed: AtomicUsize,
    rejected: AtomicUsize,
}

impl Created {
    fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn none_is_missed(&self, least: usize) {
        assert!(self.all() >= least, "only {self:?}");
        assert_eq!(
            (
                self.missed.load(Ordering::Relaxed),
                self.rejected.load(Ordering::Relaxed)
            ),
            (0, 0),
            "{self:?}"
        );
    }
}

/// Creates pods, at most that many a second, while `meanwhile` runs. It is given the number so far.
fn creating(webhook: &Webhook, rate: usize, meanwhile: impl FnOnce(&Created)) -> Created {
    const THREADS: u32 = 4;
    let pause = Duration::from_secs(1) * THREADS / u32::try_from(rate).unwrap();
    let (created, is_over) = (Created::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    match webhook.create(&plain_pod()) {
                        ApiVerdict::Accepted { object, .. } if has_agent(&object) => &created.all,
                        ApiVerdict::Accepted { .. } => &created.missed,
                        ApiVerdict::Refused(_) => &created.rejected,
                    }
                    .fetch_add(1, Ordering::Relaxed);
                    thread::sleep(pause.saturating_sub(started.elapsed()));
                }
            });
        }
        let _end = EndsLoad(&is_over);
        meanwhile(&created);
    });
    created
}

#[test]
fn no_pod_is_missed_while_replicas_are_replaced() {
    let Some(webhook) = Webhook::register("rollout") else {
        return;
    };
    // The time after which endpoints leave out a replica that ends.
    const LATE: Duration = Duration::from_secs(1);
    let start = || webhook.server(&["--drain=3s"], &[]);
    let mut replicas = vec![start(), start()];
    webhook
        .balancer
        .set(replicas.iter().map(|replica| replica.address).collect());
    webhook.wait();
    let mut ending: Vec<Server> = Vec::new();
    let wanted = scaled(10_000);
    let created = creating(&webhook, scaled(1_000), |created| {
        let mut replacements = 0;
        while replacements < 10 || created.all() < wanted {
            let new = start();
            webhook.balancer.add(new.address);
            replicas.push(new);
            let old = replicas.remove(0);
            old.signal("TERM");
            thread::sleep(LATE);
            webhook.balancer.remove(old.address);
            ending.push(old);
            replacements += 1;
        }
    });
    created.none_is_missed(wanted);
    for mut server in ending {
        assert_eq!(server.ended(), Some(0));
    }
}

#[test]
fn no_pod_is_missed_while_certificate_authority_and_configuration_are_swapped() {
    let Some(webhook) = Webhook::register("swaps") else {
        return;
    };
    let configuration = |level: &str| {
        format!(
            "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {{agent: {{logLevel: {level}}}}}\n"
        )
    };
    let folder = Folder::with(&[]);
    mount_certificate(&folder, &webhook.files);
    mount(
        &folder,
        "configuration",
        &[("config.yaml", &configuration("INFO"))],
    );
    let arguments = ["--config=configuration/config.yaml"];
    let server = Server::start_in(folder, webhook.files.authority.clone(), &arguments);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    let new: PemTexts = certificate(&Folder::with(&[]), &[]);
    let created = creating(&webhook, 100, |created| {
        // A certificate of a new authority: the API server trusts both first.
        webhook.configure(&format!("{}{}", webhook.files.authority, new.authority));
        thread::sleep(Duration::from_secs(2));
        mount_certificate(&server.folder, &new);
        server.metric_becomes("reloads_total{source=\"certificate\",result=\"done\"}", 1.0);
        thread::sleep(Duration::from_secs(1));
        webhook.configure(&new.authority);
        mount(
            &server.folder,
            "configuration",
            &[("config.yaml", &configuration("DEBUG"))],
        );
        server.metric_becomes(
            "reloads_total{source=\"configuration\",result=\"done\"}",
            1.0,
        );
        let so_far = created.all();
        while created.all() < so_far + scaled(1_000) {
            thread::sleep(Duration::from_millis(50));
        }
    });
    created.none_is_missed(scaled(1_000));
    let ApiVerdict::Accepted { object, .. } = webhook.create(&plain_pod()) else {
        panic!("refused")
    };
    assert!(object.to_string().contains("\"DEBUG\""), "{object}");
}
