//! `webhook certificate`, and certificates that the server cannot start with.

use crate::kubernetes::certificates::Authority;
use crate::program::Folder;
use crate::webhook::server::client::{Client, Transport, presenting, trusting};
use crate::webhook::server::{
    REVIEW, Server, certificate, files, misnamed, mount, mount_certificate, until,
};

const ARGUMENTS: [&str; 6] = [
    "webhook",
    "certificate",
    "--service",
    "injector",
    "--namespace",
    "mackerel",
];

#[test]
fn the_bundle_is_that_of_the_secret_and_keeps_old_authorities() {
    let folder = Folder::with(&[]);
    let old = certificate(&folder, &[]);
    folder.write("old.crt", &old.authority);
    let ran = folder.run(&[&ARGUMENTS[..], &["--ca-bundle", "old.crt"]].concat());
    let new = files(&ran.stdout);
    assert!(new.authority.ends_with(&old.authority) && new.authority.len() > old.authority.len());
    let of = |prefix: &str| {
        ran.stdout
            .lines()
            .find_map(|line| line.strip_prefix(prefix))
            .unwrap()
            .trim()
    };
    assert_eq!(of("# caBundle: "), of("  ca.crt: "));
    assert!(
        ran.stdout
            .contains("  name: injector-tls\n  namespace: mackerel\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("\ntype: kubernetes.io/tls\n"),
        "{}",
        ran.stdout
    );

    // Clients with either bundle trust the server that has the old certificate.
    mount_certificate(&folder, &old);
    let server = Server::start_in(folder, old.authority, &[]);
    assert_eq!(server.decision(), "injected");
    let mut client = Client::new(Transport::tls(server.address, &new.authority));
    assert_eq!(client.post("/mutate", REVIEW.as_bytes()).status, 200);
}

#[test]
fn arguments_that_make_no_certificate_say_why() {
    let folder = Folder::with(&[]);
    let ran = folder.run(&["webhook", "certificate", "--service", "injector"]);
    let message = "error: `webhook certificate` requires the namespace of the Service: add `--namespace NS`\n";
    assert_eq!((ran.code, &*ran.stderr), (Some(2), message));
    let ran = folder.run(&[
        "webhook",
        "certificate",
        "--service",
        "Injector!",
        "--namespace",
        "mackerel",
    ]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("invalid name of a Service 'Injector!'"),
        "{}",
        ran.stderr
    );
    let ran = folder.run(&[&ARGUMENTS[..], &["--ca-bundle", "missing.crt"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("missing.crt"), "{}", ran.stderr);
    let old = certificate(&folder, &[]);
    for (text, message) in [
        ("", "the certificate file has no certificate"),
        (
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
            "the certificate file has no certificate",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nbm8=\n",
            "the certificate file is not valid PEM",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n",
            "the certificate is not X.509",
        ),
        (
            &(old.key + &old.authority),
            "the file has a private key, and the `caBundle` is public; name a file with certificates only",
        ),
    ] {
        folder.write("old.crt", text);
        let ran = folder.run(&[&ARGUMENTS[..], &["--ca-bundle", "old.crt"]].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
        assert!(
            ran.stderr
                .starts_with(&format!("error: old.crt: {message}")),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn the_server_has_no_log_file() {
    let folder = Folder::with(&[]);
    let message = "error: `webhook` writes its log to stderr only: omit `--log-file`, and unset MACKEREL_AGENT_INJECTOR_LOG_FILE\n";
    let server = ["webhook", "--tls-cert", "tls.crt", "--tls-key", "tls.key"];
    let ran = folder.run(&[&server[..], &["--log-file", "log"]].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(2), message));
    let mut command = folder.command(&server);
    command.env("MACKEREL_AGENT_INJECTOR_LOG_FILE", "log");
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), message);
    assert!(!folder.path("log").exists());
}

#[test]
fn the_server_does_not_start_without_a_usable_certificate() {
    let folder = Folder::with(&[]);
    let (one, other) = (certificate(&folder, &[]), certificate(&folder, &[]));
    folder.write("tls.crt", &one.certificate);
    folder.write("other.key", &other.key);
    let start = |key: &str| {
        let ran = folder.run(&["webhook", "--tls-cert", "tls.crt", "--tls-key", key]);
        (ran.code, ran.stderr)
    };
    let (code, message) = start("other.key");
    assert_eq!(
        (code, &*message),
        (
            Some(2),
            "error: tls.crt: the key does not match the certificate\n"
        )
    );
    let (code, message) = start("missing.key");
    assert_eq!(code, Some(2));
    assert!(message.starts_with("error: missing.key: "), "{message}");
}

#[test]
fn clients_that_refuse_the_certificate_are_counted_and_logged_once_in_a_while() {
    let server = Server::start(&[]);
    let other = trusting(&certificate(&server.folder, &[]).authority);
    for _ in 0..30 {
        assert!(Transport::tls_with(server.address, other.clone()).is_err());
    }
    server.metric_becomes(
        "handshake_failures_total{reason=\"certificate-refused\"}",
        30.0,
    );
    let [line] = server.wait_for_events("a client refused the certificate");
    assert_eq!(line["left_out"], 0);
    assert_eq!(server.decision(), "injected");
}

#[test]
fn a_server_whose_certificate_has_another_name_is_not_ready_until_it_has_one_that_fits() {
    let folder = Folder::with(&[]);
    let own = certificate(&folder, &[]);
    mount_certificate(&folder, &misnamed("other.mackerel.svc"));
    let server = Server::start_in(
        folder,
        own.authority.clone(),
        &["--server-name=injector.mackerel.svc"],
    );
    let ready = server.get("/readyz");
    let reason =
        "the certificate is for [DnsName(\"other.mackerel.svc\")], not for injector.mackerel.svc";
    assert_eq!((ready.status, ready.text().trim_end()), (503, reason));
    let [_] = server.wait_for_events(&format!("{reason}; not ready until there is another one"));
    assert_eq!(server.get("/livez").status, 200);
    assert!(Transport::tls_with(server.address, trusting(&own.authority)).is_err());
    server.metric_becomes(
        "handshake_failures_total{reason=\"certificate-refused\"}",
        1.0,
    );
    mount_certificate(&server.folder, &own);
    until("a certificate that fits", || {
        server.get("/readyz").status == 200
    });
    assert_eq!(server.decision(), "injected");
}

#[test]
fn with_a_client_ca_only_clients_with_a_certificate_of_it_are_let_in() {
    let (clients, others) = (Authority::new("clients"), Authority::new("others"));
    let folder = Folder::with(&[]);
    let files = certificate(&folder, &[]);
    mount_certificate(&folder, &files);
    mount(&folder, "clients", &[("ca.crt", &clients.pem)]);
    let server = Server::start_in(
        folder,
        files.authority.clone(),
        &["--client-ca=clients/ca.crt"],
    );
    let status = |config| {
        // The server verifies the client when the client has finished its part of the handshake.
        let mut client = Client::new(Transport::tls_with(server.address, config).ok()?);
        client
            .try_post("/mutate", REVIEW.as_bytes())
            .ok()
            .map(|answer| answer.status)
    };
    let of = |authority: &Authority| {
        presenting(&files.authority, &authority.sign("", "kube-apiserver", &[]))
    };
    assert_eq!(status(of(&clients)), Some(200));
    assert_eq!(status(trusting(&files.authority)), None);
    assert_eq!(status(of(&others)), None);
    server.metric_becomes(
        "handshake_failures_total{reason=\"client-certificate\"}",
        2.0,
    );
    let [_] = server.wait_for_events("a client has no certificate of the client CA");
    assert_eq!(server.get("/readyz").status, 200);

    mount(&server.folder, "clients", &[("ca.crt", "no PEM\n")]);
    server.metric_becomes("reload_failing{source=\"certificate\"}", 1.0);
    assert_eq!(status(of(&clients)), Some(200));
    mount(&server.folder, "clients", &[("ca.crt", &others.pem)]);
    until("the other CA", || status(of(&others)) == Some(200));
    assert_eq!(status(of(&clients)), None);
}
