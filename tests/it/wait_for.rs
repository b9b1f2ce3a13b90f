//! `wait-for` against real sockets of this machine. Ports are the system's choice, and nothing rests on how long things take.

use crate::program::Folder;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::process::Stdio;

/// A socket that listens, and its address as the command takes it.
fn open() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// A socket that does not listen, and keeps others from listening at its address: the calling end of a connection.
fn closed() -> (TcpStream, String) {
    let (_listener, address) = open();
    let stream = TcpStream::connect(address).unwrap();
    let address = stream.local_addr().unwrap().to_string();
    (stream, address)
}

/// A timeout that is long enough for every event that must happen.
const PATIENT: [&str; 4] = ["--timeout", "10m", "--interval", "10ms"];
/// A timeout for events that never happen.
const SHORT: [&str; 4] = ["--timeout", "300ms", "--interval", "10ms"];

#[test]
fn each_that_accepts_has_its_line() {
    let (_one, first) = open();
    let (_two, second) = open();
    let ran = Folder::with(&[]).run(&[&["wait-for", &first, &second], &PATIENT[..]].concat());
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    let mut expected = [
        "all hosts accept connections, after 0s".to_owned(),
        format!("{first} accepts connections"),
        format!("{second} accepts connections"),
    ];
    expected.sort_unstable();
    assert_eq!(
        (ran.code, lines, ran.stderr.as_str()),
        (Some(0), expected.iter().map(String::as_str).collect(), "")
    );
}

#[test]
fn names_and_ipv6_addresses_are_looked_up() {
    let (_listener, address) = open();
    let name = address.replace("127.0.0.1", "localhost");
    let mut hosts = vec![name];
    // Not every machine has IPv6.
    let six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0));
    hosts.extend(
        six.iter()
            .map(|listener| listener.local_addr().unwrap().to_string()),
    );
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let ran = Folder::with(&[]).run(&[&["wait-for"], &hosts[..], &PATIENT].concat());
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (Some(0), hosts.len() + 1),
        "{ran:?}"
    );
}

#[test]
fn a_host_that_opens_later_is_waited_for() {
    let (_listener, first) = open();
    let later = open().1;
    let folder = Folder::with(&[]);
    let mut command = folder.command(&[&["wait-for", &first, &later], &PATIENT[..]].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    // The first host has answered: now the second is tried and refused, until a line says so.
    let line = lines.next().unwrap().unwrap();
    assert!(
        line.starts_with(&format!("waiting for {later}: ")),
        "{line}"
    );
    // Another test may have got that port for a moment.
    let _late = std::iter::repeat_with(|| TcpListener::bind(&later))
        .find_map(Result::ok)
        .unwrap();
    let end: Vec<String> = lines.map(Result::unwrap).collect();
    let end = &end[end.len() - 2..];
    assert_eq!(end[0], format!("{later} accepts connections"));
    assert!(end[1].starts_with("all hosts accept connections, after "));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_exit_code_tells_the_first_that_does_not() {
    let (_listener, open) = open();
    let ((_one, one), (_two, two)) = (closed(), closed());
    let nowhere = "nowhere.invalid:80";
    for (hosts, code, failed) in [
        (&[&*one][..], 11, &[&*one][..]),
        (&[&open, &one], 12, &[&one]),
        (&[&open, &one, &two], 12, &[&one, &two]),
        (&[&open, &open, nowhere], 13, &[nowhere]),
    ] {
        let ran = Folder::with(&[]).run(&[&["wait-for"], hosts, &SHORT].concat());
        assert_eq!(ran.code, Some(code), "{hosts:?}: {ran:?}");
        let told: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(told.len(), failed.len(), "{ran:?}");
        for (line, host) in told.iter().zip(failed) {
            assert!(
                line.starts_with(&format!(
                    "error: {host} did not accept connections within 300ms: "
                )),
                "{line}"
            );
        }
        assert_eq!(
            ran.stdout.lines().count(),
            hosts.len() - failed.len(),
            "{ran:?}"
        );
    }
}

#[test]
fn what_no_host_is_is_wrong_usage() {
    for arguments in [
        &["wait-for"][..],
        &["wait-for", "db"],
        &["wait-for", "db:1", "--timeout", "15"],
    ] {
        assert_eq!(
            Folder::with(&[]).run(arguments).code,
            Some(2),
            "{arguments:?}"
        );
    }
}
