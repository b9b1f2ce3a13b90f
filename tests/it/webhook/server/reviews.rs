//! Reviews, what is counted and logged of them, and the end of the server.

use crate::program::Folder;
use crate::webhook::server::client::{Client, Transport, post_head};
use crate::webhook::server::{REVIEW, Server, certificate, decision, mount_certificate, until};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_review_is_answered_counted_and_logged_without_values() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for path in ["/mutate", "/mutate?timeout=5s"] {
        let response = client.post(path, REVIEW.as_bytes());
        assert_eq!(decision(&response), "injected");
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("connection"), None);
    }
    let dry = REVIEW.replace("\"dryRun\":false", "\"dryRun\":true");
    assert_eq!(client.post("/mutate", dry.as_bytes()).status, 200);
    let counted = |dry_run: &str| {
        format!("requests_total{{hook=\"mutate\",decision=\"injected\",dry_run=\"{dry_run}\"}}")
    };
    assert_eq!(
        (
            server.metric(&counted("false")),
            server.metric(&counted("true"))
        ),
        (Some(2.0), Some(1.0))
    );
    assert_eq!(
        server.metric("request_duration_seconds_count{hook=\"mutate\"}"),
        Some(3.0)
    );
    assert_eq!(server.metric("requests_in_flight"), Some(0.0));
    server.metric_becomes("connections", 1.0);
    for metric in [
        "certificate_expiry_timestamp_seconds",
        "ca_expiry_timestamp_seconds",
    ] {
        assert!(server.metric(metric).unwrap() > 2.0e9, "{metric}");
    }

    let [event, _, _] = server.wait_for_events("reviewed");
    for (field, value) in [
        ("level", "INFO"),
        ("hook", "mutate"),
        ("decision", "injected"),
        ("kind", "Pod"),
        ("namespace", "shop"),
        ("name", "web-5d4f8c7b9d-"),
    ] {
        assert_eq!(event[field], value, "{event}");
    }
    assert_eq!(event["dry_run"], false);
    assert!(!event.to_string().contains("hunter2"), "{event}");
}

#[test]
fn each_hook_has_its_path() {
    let server = Server::start(&[]);
    for (path, hook) in [
        ("/mutate", "mutate"),
        ("/warn", "warn"),
        ("/wait-for", "wait-for"),
    ] {
        let decision = decision(&server.post(path, REVIEW));
        let counted =
            format!("requests_total{{hook=\"{hook}\",decision=\"{decision}\",dry_run=\"false\"}}");
        assert_eq!(server.metric(&counted), Some(1.0), "{path}");
    }
}

#[test]
fn probes_and_metrics_have_a_port_without_tls() {
    let server = Server::start(&[]);
    for path in ["/livez", "/readyz"] {
        let response = server.get(path);
        assert_eq!(
            (response.status, &*response.text()),
            (200, "ok\n"),
            "{path}"
        );
    }
    let metrics = server.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(metrics.text().ends_with("# EOF\n"));
    assert_eq!(server.get("/mutate").status, 404);
}

#[test]
fn it_serves_on_while_it_drains_and_asks_clients_to_go() {
    let mut server = Server::start(&["--drain=3s"]);
    let (mut idle, mut busy) = (server.connect(), server.connect());
    assert_eq!(
        decision(&idle.post("/mutate", REVIEW.as_bytes())),
        "injected"
    );
    server.signal("TERM");
    until("not ready", || server.get("/readyz").status == 503);
    assert_eq!(
        (&*server.get("/readyz").text(), server.get("/livez").status),
        ("draining\n", 200)
    );
    let response = server.post("/mutate", REVIEW);
    assert_eq!(
        (&*decision(&response), response.header("connection")),
        ("injected", Some("close"))
    );
    let response = idle.post("/mutate", REVIEW.as_bytes());
    assert_eq!(
        (&*decision(&response), response.header("connection")),
        ("injected", Some("close"))
    );
    assert!(idle.is_closed());

    // One whose body comes when the drain is over.
    busy.send(post_head("/mutate", REVIEW.len()).as_bytes());
    until("the port is closed", || {
        TcpStream::connect(server.address).is_err()
    });
    busy.send(REVIEW.as_bytes());
    assert_eq!(decision(&busy.receive().unwrap()), "injected");
    assert_eq!(server.ended(), Some(0));
    let [_] = server.wait_for_events("draining");
    let [_] = server.wait_for_events("finished");
}

/// A pipe holds 64 KiB, which is some 300 lines, and 1,000 more wait. The container runtime may read none of them.
#[test]
fn an_unread_log_delays_no_review_and_its_dropped_lines_are_counted() {
    let server = Server::start(&[]);
    assert_eq!(server.metric("log_lines_dropped_total"), Some(0.0));
    let unread = server.log.lock().unwrap();
    let mut client = server.connect();
    for _ in 0..2000 {
        assert_eq!(
            decision(&client.post("/mutate", REVIEW.as_bytes())),
            "injected"
        );
    }
    // The last line may still come: an answer does not wait for its line.
    let dropped = || server.metric("log_lines_dropped_total").unwrap();
    assert!((200.0..1000.0).contains(&dropped()), "{}", dropped());
    drop(unread);
    until("every other line", || {
        server.events("reviewed").len() as f64 == 2000.0 - dropped()
    });
}

#[test]
fn a_second_signal_ends_the_drain() {
    let mut server = Server::start(&["--drain=1h"]);
    let start = Instant::now();
    server.signal("INT");
    let [_] = server.wait_for_events("draining");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// Returns a folder with a certificate, and the arguments of a server that listens there.
fn folder_and_arguments(listen: &str) -> (Folder, Vec<String>) {
    let folder = Folder::with(&[]);
    mount_certificate(&folder, &certificate(&folder, &[]));
    let listen = format!("--listen={listen}");
    let more = [
        "--metrics-listen=127.0.0.1:0",
        "--tls-cert=tls/tls.crt",
        "--tls-key=tls/tls.key",
        "--drain=10ms",
    ];
    (
        folder,
        ["webhook", &listen]
            .into_iter()
            .chain(more)
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn text_is_a_form_of_the_log_too() {
    let (folder, arguments) = folder_and_arguments("127.0.0.1:0");
    let arguments: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .chain(["--log-format=text"])
        .collect();
    let mut server = folder
        .command(&arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let listening = lines.next().unwrap();
    // Once it answers, it heeds signals.
    let (_, plain) = listening.rsplit_once("plain_address=").unwrap();
    let mut client = Client::new(Transport::Plain(TcpStream::connect(plain).unwrap()));
    client.send(b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.receive().unwrap().status, 200);
    let ended = Command::new("kill")
        .args(["-TERM", &server.id().to_string()])
        .status()
        .unwrap()
        .success();
    let rest: Vec<String> = lines.collect();
    assert!(ended && server.wait().unwrap().success());
    assert!(
        listening.contains(" INFO listening address=127.0.0.1:"),
        "{listening}"
    );
    assert!(rest.last().unwrap().contains(" INFO finished"), "{rest:?}");
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap();
    let (folder, arguments) = folder_and_arguments(&address.to_string());
    let ran = folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .contains(&format!("error: cannot listen on {address}")),
        "{}",
        ran.stderr
    );
}
