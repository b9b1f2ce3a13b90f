//! Hostile clients: the resources that they can take, and the effect on other clients.

use crate::webhook::server::client::{Client, Transport, post_head, trusting};
use crate::webhook::server::{EndsLoad, REVIEW, Server, decision, is_long, scaled, until};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most memory that the server may take, in MB.
const MAX_MEMORY: usize = 200;

pub(super) fn open_many_files() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
}

/// Times of reviews one after another on one connection, sorted.
fn times(server: &Server, count: usize) -> Vec<Duration> {
    let mut client = server.connect();
    let mut times: Vec<_> = (0..count)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(
                decision(&client.post("/mutate", REVIEW.as_bytes())),
                "injected"
            );
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn p99(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() * 99 / 100]
}

/// 500 connections that send a byte of a head now and then. The times are for the long form: beside other tests they show the machine.
#[test]
fn slow_clients_do_not_slow_the_others() {
    const SLOW: usize = 500;
    open_many_files();
    let server = Server::start(&[]);
    let count = 3000;
    let without = p99(&times(&server, scaled(count)));
    let tls = trusting(&server.authority);
    let mut slow: Vec<_> = (0..SLOW)
        .map(|_| Client::new(Transport::tls_with(server.address, tls.clone()).unwrap()))
        .collect();
    let is_over = AtomicBool::new(false);
    let with = thread::scope(|scope| {
        scope.spawn(|| {
            let head = post_head("/mutate", 100);
            for byte in head.as_bytes().iter().cycle() {
                for client in &mut slow {
                    let _ = client.try_send(&[*byte]);
                }
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(200));
            }
        });
        let _end = EndsLoad(&is_over);
        server.metric_becomes("connections", SLOW as f64);
        p99(&times(&server, scaled(count)))
    });
    assert!(
        !is_long() || with <= 3 * without + Duration::from_millis(1),
        "{without:?} without, {with:?} with"
    );
    // Ten seconds from the first byte, whatever comes later.
    let start = Instant::now();
    until("a slow client is shown out", || {
        let _ = slow[0].try_send(b"a");
        slow[0].try_send(b"a").is_err()
    });
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(server.decision(), "injected");
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let mut client = server.connect();
    client.send(post_head("/mutate", REVIEW.len()).as_bytes());
    client.send(b"{");
    let response = client.receive().unwrap();
    assert_eq!(response.status, 408);
    assert!(
        (4..20).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
    assert!(client.is_closed());
}

#[test]
fn a_handshake_that_does_not_come_is_not_waited_for() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let mut silent = Client::new(Transport::Plain(
        std::net::TcpStream::connect(server.address).unwrap(),
    ));
    assert!(silent.is_closed());
    assert!(
        (4..20).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
}

/// kube-apiserver keeps a connection for 90 s. The whole wait is for the long form.
#[test]
fn a_connection_may_be_idle_between_two_reviews() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    assert_eq!(
        decision(&client.post("/mutate", REVIEW.as_bytes())),
        "injected"
    );
    thread::sleep(Duration::from_secs(if is_long() { 100 } else { 12 }));
    assert_eq!(
        decision(&client.post("/mutate", REVIEW.as_bytes())),
        "injected"
    );
}

/// Connections that are opened and left, twice as many as the server takes. The one that has brought reviews stays.
#[test]
fn idle_connections_make_room() {
    open_many_files();
    let server = Server::start(&[]);
    let mut served = server.connect();
    assert_eq!(
        decision(&served.post("/mutate", REVIEW.as_bytes())),
        "injected"
    );
    let tls = trusting(&server.authority);
    let idle: Vec<_> = (0..scaled(2000))
        .map(|_| Transport::tls_with(server.address, tls.clone()).unwrap())
        .collect();
    assert_eq!(
        decision(&served.post("/mutate", REVIEW.as_bytes())),
        "injected"
    );
    assert_eq!(server.decision(), "injected");
    server.metric_becomes("connections", (idle.len() + 1).min(1024) as f64);
    if is_long() {
        assert!(server.metric("shed_total{limit=\"connections\"}").unwrap() > 900.0);
    }
    #[cfg(target_os = "linux")]
    assert!(server.memory().1 <= MAX_MEMORY, "{:?}", server.memory());
}

/// A review with a value of so many bytes in the pod.
fn review_with(value: &str) -> String {
    REVIEW.replacen("\"hunter2\"", value, 1)
}

#[test]
fn large_bodies_leave_memory_and_time_for_others() {
    let server = Server::start(&[]);
    let count = scaled(50).max(10);
    let large = review_with(&format!("\"{}\"", "a".repeat(3 << 20)));
    let list = {
        let room = (7 << 20) - REVIEW.len();
        let ones = format!("[{}1]", "1,".repeat(room / 2 - 2));
        review_with(&ones)
    };
    thread::scope(|scope| {
        let flood: Vec<_> = (0..count)
            .map(|number| {
                // The list has more items than a review may have.
                let (body, expected) = if number % 10 == 0 {
                    (&list, "uneditable")
                } else {
                    (&large, "injected")
                };
                let server = &server;
                scope.spawn(move || {
                    for _ in 0..10 {
                        let response = server.connect().post("/mutate", body.as_bytes());
                        if response.status != 429 {
                            return assert_eq!(decision(&response), expected);
                        }
                        // The API server tries again after that time.
                        assert_eq!(response.header("retry-after"), Some("1"));
                        thread::sleep(Duration::from_secs(1));
                    }
                    panic!("a large pod was missed");
                })
            })
            .collect();
        let mut ordinary = server.connect();
        while flood.iter().any(|thread| !thread.is_finished()) {
            assert_eq!(
                decision(&ordinary.post("/mutate", REVIEW.as_bytes())),
                "injected"
            );
            thread::sleep(Duration::from_millis(10));
        }
    });
    #[cfg(target_os = "linux")]
    assert!(server.memory().1 <= MAX_MEMORY, "{:?} MB", server.memory());
}
