//! Reviews that one caller makes expensive, and the others' reviews and probes beside them.

use crate::webhook::server::client::{Client, Transport, trusting};
use crate::webhook::server::{EndsLoad, REVIEW, Server, decision, is_long, until};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The memory limit of the chart, in MB.
#[cfg(target_os = "linux")]
const MEMORY_LIMIT: usize = 256;

/// A review of a pod with so many items in one value.
fn dense(items: usize) -> String {
    REVIEW.replacen("\"hunter2\"", &format!("[{}{{}}]", "{},".repeat(items)), 1)
}

/// A review of a pod with this annotation of the injector.
fn annotated(name: &str, value: &str) -> String {
    let annotation = format!(
        "\"annotations\":{{\"agent-injector.contrib.mackerel.io/{name}\":{}}},",
        json!(value)
    );
    REVIEW.replacen(
        "\"generateName\":",
        &format!("{annotation}\"generateName\":"),
        1,
    )
}

/// Sends a review in one chunk.
fn send_chunked(client: &mut Client, body: &str) {
    let head = "POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
}

/// A review of a pod with pull secrets, and with a record that names as many others.
fn with_pull_secrets(count: usize) -> String {
    let names = |prefix: &str| {
        (0..count)
            .map(|number| format!("{prefix}{number}"))
            .collect::<Vec<_>>()
    };
    let agent = r#"{"list":"containers","plan":"4fd0bfc1","value":"4fd0bfc1","names":{}}"#;
    let added = names("a").join("\",\"");
    let record =
        format!(r#"v1{{"agent":{agent},"pullSecrets":{{"after":0,"names":["{added}"]}}}}"#);
    let secrets = names("b")
        .iter()
        .map(|name| format!("{{\"name\":\"{name}\"}}"))
        .collect::<Vec<_>>()
        .join(",");
    let secrets = format!("\"spec\":{{\"imagePullSecrets\":[{secrets}],");
    annotated("record", &record).replacen("\"spec\":{", &secrets, 1)
}

/// A record of an init container that waits alone, with pull secrets.
fn waiting(pull_secrets: usize) -> String {
    let wait_for = r#"{"list":"initContainers","plan":"4fd0bfc1","value":"4fd0bfc1","names":{}}"#;
    let names = vec!["a"; pull_secrets].join("\",\"");
    format!(r#"v1{{"waitFor":{wait_for},"pullSecrets":{{"after":0,"names":["{names}"]}}}}"#)
}

/// A review of a list whose items inherit a long type.
fn pod_list(items: usize) -> String {
    let items = format!("\"items\":[{}{{}}]", "{},".repeat(items));
    let list = format!(
        "\"object\":{{\"kind\":\"PodList\",\"apiVersion\":\"{}\",{items},",
        "v".repeat(14_000)
    );
    REVIEW.replacen(
        "\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",",
        &list,
        1,
    )
}

/// A review of a workload whose templates and annotations multiply.
fn job_set(templates: usize, annotations: usize) -> String {
    let unknown = |number| format!("\"agent-injector.contrib.mackerel.io/x{number}\":\"\"");
    let unknown = (0..annotations).map(unknown).collect::<Vec<_>>().join(",");
    let job =
        "{\"template\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}}}}";
    let jobs = vec![job; templates].join(",");
    format!(
        "{{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{{\"uid\":\"7\",\
         \"operation\":\"CREATE\",\"kind\":{{\"group\":\"jobset.x-k8s.io\",\"version\":\"v1alpha2\",\"kind\":\"JobSet\"}},\
         \"resource\":{{\"group\":\"jobset.x-k8s.io\",\"version\":\"v1alpha2\",\"resource\":\"jobsets\"}},\
         \"namespace\":\"shop\",\"object\":{{\"metadata\":{{\"name\":\"a\",\"annotations\":{{{unknown}}}}},\
         \"spec\":{{\"replicatedJobs\":[{jobs}]}}}}}}}}"
    )
}

/// Each took seconds or hundreds of megabytes from a body of some kilobytes.
#[test]
#[cfg(target_os = "linux")]
fn no_review_that_multiplies_takes_the_agent_of_another_pod() {
    let misspelt =
        |number| format!("\",\"agent-injector.contrib.mackerel.i{number}/inject\":\"true");
    let attacks = [
        (
            "/mutate",
            annotated("ignore-container", &format!("[{}", "[:".repeat(15_000))),
        ),
        (
            "/mutate",
            annotated(
                "ignore-container",
                &(0..5_000)
                    .map(|n| format!("(?P<g{n}>a)"))
                    .collect::<String>(),
            ),
        ),
        (
            "/mutate",
            annotated("inject", &(0..9_000).map(misspelt).collect::<String>()),
        ),
        ("/mutate", with_pull_secrets(12_000)),
        ("/mutate", annotated("record", &waiting(250_000))),
        ("/mutate", annotated("record", &waiting(12_000))),
        ("/mutate", pod_list(5_300)),
        ("/warn", pod_list(5_300)),
        ("/mutate", annotated("memo", &"x".repeat(480_000))),
        ("/mutate", dense(2_400_000)),
        ("/warn", job_set(1_200, 1_200)),
        ("/wait-for", job_set(1_200, 1_200)),
    ];
    for (path, body) in &attacks {
        let server = Server::start(&[]);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let status = server.connect().post(path, body.as_bytes()).status;
                        assert!(
                            matches!(status, 200 | 408 | 429),
                            "{status} {path} {}",
                            &body[..300]
                        );
                    }
                });
            }
            let _end = EndsLoad(&is_over);
            for _ in 0..14 {
                assert_eq!(server.decision(), "injected", "{path} {}", &body[..300]);
                assert_eq!(server.get("/livez").status, 200);
                thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(
            server.memory().1 <= MEMORY_LIMIT,
            "{:?} MB {path} {}",
            server.memory(),
            &body[..300]
        );
    }
}

#[test]
fn probes_and_small_reviews_do_not_wait_for_others() {
    let server = Server::start(&[]);
    let (ordinary, large) = (dense(9_000) + &" ".repeat(10_000), dense(60_000));
    let is_over = AtomicBool::new(false);
    let tls = trusting(&server.authority);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(Transport::tls_with(server.address, Arc::clone(&tls)));
            }
        });
        for number in 0..8 {
            let (server, is_over, body) = (
                &server,
                &is_over,
                if number == 0 { &large } else { &ordinary },
            );
            scope.spawn(move || {
                let mut client = server.connect();
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(
                        decision(&client.post("/mutate", body.as_bytes())),
                        "injected"
                    );
                }
            });
        }
        let _end = EndsLoad(&is_over);
        let mut probes = Vec::new();
        for _ in 0..200 {
            assert_eq!(server.decision(), "injected");
            for path in ["/livez", "/readyz"] {
                let start = Instant::now();
                assert_eq!(server.get(path).status, 200);
                probes.push(start.elapsed());
            }
        }
        probes.sort_unstable();
        // Beside other tests, the longest time shows the machine.
        let slow = if is_long() {
            probes.len() - 1
        } else {
            probes.len() / 2
        };
        assert!(
            probes[slow] < Duration::from_millis(100),
            "{:?}",
            probes[slow]
        );
    });
}

#[test]
fn a_small_body_in_chunks_is_as_small_as_any() {
    let server = Server::start(&[]);
    let large = dense(60_000);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let status = server.connect().post("/mutate", large.as_bytes()).status;
                    assert!(matches!(status, 200 | 429), "{status}");
                }
            });
        }
        let _end = EndsLoad(&is_over);
        for _ in 0..50 {
            let mut client = server.connect();
            send_chunked(&mut client, REVIEW);
            assert_eq!(decision(&client.receive().unwrap()), "injected");
        }
    });
}

/// One large review runs, the others wait; each holds a connection. A machine with much to do may see them one after another.
#[test]
fn a_review_that_waits_gives_its_connection_to_a_new_one() {
    let server = Server::with_connections(8);
    // It takes far longer to decide about than to send.
    let large = job_set(3_000, 6_000);
    let mut is_evicted = false;
    for _ in 0..50 {
        let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
        thread::scope(|scope| {
            // A connection whose body has not come whole may close for another, too.
            let post = |client: &mut Client| client.try_post("/warn", large.as_bytes()).ok();
            let reviews: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(move || post(client)))
                .collect();
            let is_over = || reviews.iter().all(|review| review.is_finished());
            until("the reviews wait", || {
                server.metric("requests_in_flight") >= Some(3.0) || is_over()
            });
            assert_eq!(server.decision(), "injected");
            let responses = reviews
                .into_iter()
                .filter_map(|review| review.join().unwrap());
            for response in responses.filter(|response| response.status == 429) {
                // The API server tries again after that time.
                assert_eq!(response.header("retry-after"), Some("1"));
                is_evicted |= response.header("connection") == Some("close");
            }
        });
        if is_evicted {
            return;
        }
    }
    panic!("no review gave its connection away");
}

/// The answer repeats the review's uid, and is longer than the sockets hold. No client reads it.
#[test]
#[cfg(target_os = "linux")]
fn answers_that_are_never_read_take_bounded_memory() {
    let server = Server::start(&[]);
    let uid = "7".repeat(6_000_000);
    let body = REVIEW.replacen("705ab4f5-6393-11e8-b7cc-42010a800002", &uid, 1);
    let request = super::client::post(&body);
    let tls = trusting(&server.authority);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(tls) = Transport::tls_with(server.address, Arc::clone(&tls)) else {
                        continue;
                    };
                    let mut client = Client::new(tls);
                    client.send(request.as_bytes());
                    // Until it is shown out.
                    while client.try_send(b"P").is_ok() && !is_over.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(50));
                    }
                }
            });
        }
        let _end = EndsLoad(&is_over);
        until("answers are refused", || {
            server.metric("shed_total{limit=\"answers\"}") > Some(0.0)
        });
        assert_eq!(server.decision(), "injected");
    });
    assert!(
        server.memory().1 <= MEMORY_LIMIT,
        "{:?} MB",
        server.memory()
    );
}

/// Everything that the server accepts, at once: idle connections, heads and bodies that do not end, reviews of each size, answers
/// that are not read.
#[test]
#[cfg(target_os = "linux")]
fn no_mix_of_what_is_accepted_passes_the_memory_limit_of_the_chart() {
    super::limits::open_many_files();
    let server = Server::start(&[]);
    let tls = trusting(&server.authority);
    let connect = || Client::new(Transport::tls_with(server.address, Arc::clone(&tls)).unwrap());
    let small = dense(9_000);
    let mut held: Vec<_> = (0..900).map(|_| connect()).collect();
    for (number, client) in held.iter_mut().enumerate() {
        let head = super::client::post_head("/mutate", small.len());
        match number % 3 {
            0 => client
                .send(format!("POST /mutate HTTP/1.1\r\nX: {}", "y".repeat(15_000)).as_bytes()),
            1 => client.send(format!("{head}{}", &small[..small.len() - 1]).as_bytes()),
            _ => {}
        }
    }
    let bodies = [
        dense(250_000),
        dense(100_000),
        dense(9_900),
        dense(2_000_000),
        annotated("memo", &"x".repeat(4_000)),
    ];
    let end = Instant::now() + Duration::from_secs(if is_long() { 60 } else { 6 });
    thread::scope(|scope| {
        for number in 0..20 {
            let (body, connect) = (&bodies[number % bodies.len()], &connect);
            scope.spawn(move || {
                while Instant::now() < end {
                    // Its connection may be the one that closes for another.
                    let _ = connect().try_post("/mutate", body.as_bytes());
                }
            });
        }
    });
    assert_eq!(server.decision(), "injected");
    assert!(
        server.memory().1 <= MEMORY_LIMIT,
        "{:?} MB",
        server.memory()
    );
}
