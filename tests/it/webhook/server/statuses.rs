//! Malformed requests: each has its status, and the server answers the next review.

use crate::webhook::server::client::{Client, Transport, post_head};
use crate::webhook::server::{REVIEW, Server, decision};
use std::net::TcpStream;

const MAX_BODY: usize = 7 << 20;

fn with_body(body: &[u8]) -> Vec<u8> {
    let mut request = post_head("/mutate", body.len()).into_bytes();
    request.extend_from_slice(body);
    request
}

fn with_head(head: &str) -> Vec<u8> {
    format!(
        "{head}\r\nHost: a\r\nContent-Length: {}\r\n\r\n{REVIEW}",
        REVIEW.len()
    )
    .into_bytes()
}

fn with_type(content_type: &str) -> Vec<u8> {
    with_head(&format!("POST /mutate HTTP/1.1\r\n{content_type}X: y"))
}

const JSON: &str = "POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";

/// A header that the server does not read to its end.
const LONG_HEADER: &str = "a header of 1 MB";

/// A malformed request: its name, its text, and the statuses that are right.
fn malformed() -> Vec<(&'static str, Vec<u8>, u16)> {
    let raw = |text: &str| text.as_bytes().to_vec();
    let changed = |from: &str, to: &str| {
        assert!(REVIEW.contains(from), "{from}");
        with_body(REVIEW.replacen(from, to, 1).as_bytes())
    };
    let headers = (0..200)
        .map(|number| format!("x-{number}: y\r\n"))
        .collect::<String>();
    vec![
        ("GET", raw("GET /mutate HTTP/1.1\r\nHost: a\r\n\r\n"), 405),
        (
            "PUT",
            with_head("PUT /mutate HTTP/1.1\r\nContent-Type: application/json"),
            405,
        ),
        (
            "DELETE",
            with_head("DELETE /warn HTTP/1.1\r\nContent-Type: application/json"),
            405,
        ),
        (
            "OPTIONS",
            raw("OPTIONS /mutate HTTP/1.1\r\nHost: a\r\n\r\n"),
            405,
        ),
        (
            "a method of one's own",
            raw("REVIEW /mutate HTTP/1.1\r\nHost: a\r\n\r\n"),
            405,
        ),
        (
            "the root",
            with_head("POST / HTTP/1.1\r\nContent-Type: application/json"),
            404,
        ),
        (
            "a slash too many",
            with_head("POST /mutate/ HTTP/1.1\r\nContent-Type: application/json"),
            404,
        ),
        (
            "capitals",
            with_head("POST /Mutate HTTP/1.1\r\nContent-Type: application/json"),
            404,
        ),
        (
            "an escape",
            with_head("POST /%6dutate HTTP/1.1\r\nContent-Type: application/json"),
            404,
        ),
        (
            "the plain port's path",
            raw("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"),
            404,
        ),
        ("no type", with_type(""), 415),
        ("YAML", with_type("Content-Type: application/yaml\r\n"), 415),
        (
            "protobuf",
            with_type("Content-Type: application/vnd.kubernetes.protobuf\r\n"),
            415,
        ),
        (
            "a form",
            with_type("Content-Type: application/x-www-form-urlencoded\r\n"),
            415,
        ),
        (
            "7 MiB + 1 that is no review",
            with_body(&vec![b' '; MAX_BODY + 1]),
            413,
        ),
        (
            "more than a number holds",
            raw(&format!(
                "{JSON}Content-Length: 18446744073709551616\r\n\r\n"
            )),
            400,
        ),
        (
            "no number",
            raw(&format!("{JSON}Content-Length: many\r\n\r\n")),
            400,
        ),
        (
            "a negative number",
            raw(&format!("{JSON}Content-Length: -1\r\n\r\n")),
            400,
        ),
        (
            "two lengths",
            raw(&format!(
                "{JSON}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"
            )),
            400,
        ),
        (
            "a chunk without size",
            raw(&format!("{JSON}Transfer-Encoding: chunked\r\n\r\nxyz\r\n")),
            400,
        ),
        (
            "a coding that is none",
            raw(&format!("{JSON}Transfer-Encoding: brotli\r\n\r\n")),
            400,
        ),
        ("no HTTP", raw("hello\r\n\r\n"), 400),
        ("HTTP/3.7", raw("GET /mutate HTTP/3.7\r\n\r\n"), 400),
        (
            "a NUL in a header",
            raw("POST /mutate HTTP/1.1\r\nX: \0\r\n\r\n"),
            400,
        ),
        ("200 headers", raw(&format!("{JSON}{headers}\r\n")), 431),
        (
            LONG_HEADER,
            raw(&format!("{JSON}X: {}\r\n\r\n", "y".repeat(1_000_000))),
            431,
        ),
        ("no body", with_body(b""), 400),
        ("null", with_body(b"null"), 400),
        ("an empty object", with_body(b"{}"), 400),
        ("a list", with_body(b"[]"), 400),
        (
            "half a review",
            with_body(&REVIEW.as_bytes()[..REVIEW.len() / 2]),
            400,
        ),
        (
            "two reviews",
            with_body(format!("{REVIEW}{REVIEW}").as_bytes()),
            400,
        ),
        (
            "YAML in a body of JSON",
            with_body(b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\n"),
            400,
        ),
        ("not UTF-8", with_body(b"{\"apiVersion\":\"\xff\"}"), 400),
        (
            "UTF-16",
            with_body(
                &REVIEW
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect::<Vec<_>>(),
            ),
            400,
        ),
        (
            "100,000 lists",
            with_body("[".repeat(100_000).as_bytes()),
            400,
        ),
        ("another kind", changed("AdmissionReview", "Pod"), 400),
        (
            "v1beta1",
            changed("admission.k8s.io/v1", "admission.k8s.io/v1beta1"),
            400,
        ),
        ("no request", changed("\"request\":", "\"requests\":"), 400),
        (
            "a uid that is a number",
            changed("\"705ab4f5-6393-11e8-b7cc-42010a800002\"", "705"),
            400,
        ),
    ]
}

#[test]
fn malformed_requests_have_the_right_status() {
    let server = Server::start(&[]);
    for (name, request, status) in malformed() {
        let mut client = server.connect();
        client.send(&request);
        let answer = client.receive();
        // The connection may be gone before the client, which still sends, reads the answer.
        if name == LONG_HEADER && answer.is_err() {
            continue;
        }
        assert_eq!(
            answer.as_ref().map(|answer| answer.status).ok(),
            Some(status),
            "{name}: {answer:?}"
        );
        let allowed = answer.unwrap();
        assert_eq!(
            allowed.header("allow"),
            (status == 405).then_some("POST"),
            "{name}"
        );
    }
    assert_eq!(server.decision(), "injected");
    for code in ["400", "404", "405", "413", "415"] {
        assert!(
            server
                .metric(&format!("refused_total{{code=\"{code}\"}}"))
                .is_some(),
            "{code}"
        );
    }
}

#[test]
fn a_pod_in_a_longer_body_than_7_mib_is_allowed_with_a_warning() {
    let server = Server::start(&["--set=onError=skip"]);
    let filled = |length: usize| {
        let mut body = REVIEW.trim_end().as_bytes().to_vec();
        body.resize(length, b' ');
        body
    };
    assert_eq!(
        decision(&server.connect().post("/mutate", &filled(MAX_BODY))),
        "injected"
    );
    assert_eq!(
        decision(&server.connect().post("/mutate", &filled(MAX_BODY + 1))),
        "uneditable"
    );
    // Without a promise, the bytes are counted as they come.
    let mut client = server.connect();
    let (body, size) = (filled(3 * MAX_BODY), 3 * MAX_BODY);
    client.send(format!("{JSON}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n").as_bytes());
    client.send(&[&body[..], b"\r\n0\r\n\r\n"].concat());
    let answer = client.receive().unwrap();
    assert_eq!(decision(&answer), "uneditable");
    assert!(
        answer.text().contains("the object is too large")
            && answer.text().contains("\"allowed\":true")
    );
}

#[test]
fn a_body_may_come_in_chunks_or_after_it_was_asked_for() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(
        format!(
            "{JSON}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{REVIEW}\r\n0\r\n\r\n",
            REVIEW.len()
        )
        .as_bytes(),
    );
    assert_eq!(client.receive().unwrap().status, 200);
    let mut client = server.connect();
    let promised =
        post_head("/mutate", REVIEW.len()).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    client.send(promised.as_bytes());
    assert_eq!(client.receive().unwrap().status, 100);
    client.send(REVIEW.as_bytes());
    assert_eq!(client.receive().unwrap().status, 200);
}

#[test]
fn clients_that_break_off_or_speak_no_tls_do_no_harm() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(post_head("/mutate", 100).as_bytes());
    client.send(b"{");
    client.finish_sending();
    assert!(client.receive().map_or(true, |answer| answer.status == 400));
    drop(server.connect());
    let mut plain = Client::new(Transport::Plain(
        TcpStream::connect(server.address).unwrap(),
    ));
    plain.send(b"GET /mutate HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(plain.receive().is_err());
    drop(TcpStream::connect(server.address).unwrap());
    let mut http2 = server.connect();
    http2.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert!(http2.is_closed());
    server.metric_becomes("handshake_failures_total{reason=\"other\"}", 2.0);
    assert_eq!(server.decision(), "injected");
}
