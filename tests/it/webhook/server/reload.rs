//! Certificate and configuration, swapped as kubelet does it, under load.

use crate::program::Folder;
use crate::webhook::server::client::{Client, Transport, trusting};
use crate::webhook::server::{
    EndsLoad, PemTexts, REVIEW, Server, certificate, decision, misnamed, mount, mount_certificate,
    until,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const CANNOT_RELOAD: &str = "cannot reload; the previous content stays in use";

fn configuration(injection: &str) -> String {
    format!(
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n  injection: {injection}\n"
    )
}

/// Reviews without a pause, each second one on a new connection, until `done` returns.
fn under_load(server: &Server, authorities: &str, done: impl FnOnce()) -> usize {
    let (is_over, answered, tls) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        trusting(authorities),
    );
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut client =
                        Client::new(Transport::tls_with(server.address, tls.clone()).unwrap());
                    for _ in 0..2 {
                        decision(&client.post("/mutate", REVIEW.as_bytes()));
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let _end = EndsLoad(&is_over);
        done();
    });
    answered.into_inner()
}

#[test]
fn a_certificate_is_swapped_under_load_and_unusable_ones_are_not() {
    let folder = Folder::with(&[]);
    let (old, new) = (certificate(&folder, &[]), certificate(&folder, &[]));
    mount_certificate(&folder, &old);
    let server = Server::start_in(
        folder,
        old.authority.clone(),
        &["--server-name=injector.mackerel.svc"],
    );
    let both = format!("{}{}", old.authority, new.authority);
    let expiry = || {
        server
            .metric("certificate_expiry_timestamp_seconds")
            .unwrap()
    };
    let serves =
        |files: &PemTexts| Transport::tls_with(server.address, trusting(&files.authority)).is_ok();
    let failing = "reload_failing{source=\"certificate\"}";
    let answered = under_load(&server, &both, || {
        let first = expiry();
        // The key of another certificate.
        let mixed = PemTexts {
            certificate: new.certificate.clone(),
            key: old.key.clone(),
            authority: both.clone(),
        };
        mount_certificate(&server.folder, &mixed);
        server.metric_becomes(failing, 1.0);
        assert!(serves(&old) && !serves(&new));
        assert_eq!(server.get("/readyz").status, 200);
        // The certificate of another Service.
        mount_certificate(&server.folder, &misnamed("injector.other.svc"));
        let [_, _] = server.wait_for_events(CANNOT_RELOAD);
        assert!(serves(&old));
        // No certificate at all.
        mount_certificate(
            &server.folder,
            &PemTexts {
                certificate: "no PEM\n".to_owned(),
                ..mixed
            },
        );
        let [_, _, _] = server.wait_for_events(CANNOT_RELOAD);
        assert!(serves(&old));
        mount_certificate(&server.folder, &new);
        until("the new certificate", || serves(&new));
        server.metric_becomes(failing, 0.0);
        assert!(!serves(&old) && expiry() >= first);
    });
    assert!(answered > 100, "{answered}");
    let errors = server
        .wait_for_events(CANNOT_RELOAD)
        .map(|event| event["error"].as_str().unwrap().to_owned());
    let expected = [
        "the key does not match the certificate",
        "the certificate is for [DnsName(\"injector.other.svc\")], not for injector.mackerel.svc",
        "the certificate file has no certificate",
    ];
    assert_eq!(errors, expected);
    assert_eq!(
        server.metric("reloads_total{source=\"certificate\",result=\"done\"}"),
        Some(1.0)
    );
    assert_eq!(
        server.metric("reloads_total{source=\"certificate\",result=\"failed\"}"),
        Some(3.0)
    );
}

#[test]
fn a_configuration_is_swapped_under_load_and_an_invalid_one_is_not() {
    let folder = Folder::with(&[]);
    let files = certificate(&folder, &[]);
    mount_certificate(&folder, &files);
    mount(
        &folder,
        "config",
        &[("injector.yaml", &configuration("always"))],
    );
    let more = ["--config=config/injector.yaml", "--set=agent.memo=web"];
    let server = Server::start_in(folder, files.authority.clone(), &more);
    assert_eq!(server.decision(), "injected");
    let answered = under_load(&server, &files.authority, || {
        mount(
            &server.folder,
            "config",
            &[("injector.yaml", &configuration("sometimes"))],
        );
        server.metric_becomes("reload_failing{source=\"configuration\"}", 1.0);
        assert_eq!(server.decision(), "injected");
        mount(
            &server.folder,
            "config",
            &[("injector.yaml", &configuration("disabled"))],
        );
        until("the kill switch", || server.decision() == "disabled");
        // A setting that the webhook cannot follow is as wrong as any other.
        let kinds = configuration("always\n  select: {kinds: [Deployment]}");
        mount(&server.folder, "config", &[("injector.yaml", &kinds)]);
        server.metric_becomes("reload_failing{source=\"configuration\"}", 1.0);
        assert_eq!(server.decision(), "disabled");
        mount(
            &server.folder,
            "config",
            &[("injector.yaml", &configuration("always"))],
        );
        until("injected again", || server.decision() == "injected");
    });
    assert!(answered > 100, "{answered}");
    let [sometimes, kinds] = server
        .wait_for_events(CANNOT_RELOAD)
        .map(|event| event["error"].to_string());
    assert!(
        sometimes.contains("config/injector.yaml:4:14: error: ") && sometimes.contains("sometimes"),
        "{sometimes}"
    );
    assert!(
        kinds.contains("config/injector.yaml:5:19: error: ") && kinds.contains("select.kinds"),
        "{kinds}"
    );
    assert_eq!(
        server.metric("reload_failing{source=\"configuration\"}"),
        Some(0.0)
    );
    assert_eq!(
        server.metric("reloads_total{source=\"configuration\",result=\"done\"}"),
        Some(2.0)
    );
}

#[test]
fn a_setting_that_the_webhook_cannot_follow_stops_it_at_its_start() {
    let kinds = configuration("always\n  select: {kinds: [Deployment]}");
    let folder = Folder::with(&[("shared.yaml", &kinds)]);
    let files = [
        "--tls-cert=tls.crt",
        "--tls-key=tls.key",
        "--config=shared.yaml",
    ];
    let started = folder.run(&[&["webhook"][..], &files].concat());
    assert_eq!(started.code, Some(2));
    assert!(
        started.stderr.contains("--> shared.yaml:5:19\n"),
        "{}",
        started.stderr
    );
    let validated = folder.run(&["config", "validate", "--webhook", "shared.yaml"]);
    assert_eq!(
        (validated.code, &validated.stderr),
        (Some(2), &started.stderr)
    );
    assert_eq!(
        folder.run(&["config", "validate", "shared.yaml"]).code,
        Some(0)
    );
    let null = [
        "config",
        "validate",
        "--webhook",
        "--set=select.kinds=null",
        "shared.yaml",
    ];
    assert_eq!(folder.run(&null).code, Some(0));
    // There the certificate is missing.
    let started = folder.run(&[&["webhook", "--set=select.kinds=null"][..], &files].concat());
    assert!(started.stderr.contains("tls.crt"), "{}", started.stderr);
}
