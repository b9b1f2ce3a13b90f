//! The webhook's server by TLS, beside a server of the same libraries that gives the same answer at once.

use crate::reviews::review;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Secret;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use serde_json::Value;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The argument that makes this program the server that answers at once.
pub(crate) const AT_ONCE: &str = "--at-once";

/// Reviews per second, on so many connections.
const RATE: u32 = 1000;
const CONNECTIONS: u32 = 4;
/// One server after the other, several times.
const ROUNDS: u32 = 5;
const REVIEWS_PER_ROUND: u32 = 2000;

/// A server, ended with the benchmark.
struct ServerProcess {
    child: Child,
    address: String,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ServerProcess {
    /// Starts a program that prints its address in JSON on standard error, and goes on printing.
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let first = lines.next().expect("a line")?;
        let listening: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("{first}"));
        let address = listening["address"]
            .as_str()
            .unwrap_or_else(|| panic!("{first}"))
            .to_owned();
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Self { child, address })
    }

    /// Resident memory in MB, where the system tells it.
    fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }
}

/// Prints the times of reviews, and the server's memory.
pub(crate) fn print(program: &Path) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let made = Command::new(program)
        .args([
            "webhook",
            "certificate",
            "--service",
            "injector",
            "--namespace",
            "mackerel",
        ])
        .output()?;
    let secret: Secret = serde_yaml::from_slice(&made.stdout).expect("a Secret");
    let data = secret.data.expect("it has data");
    let path = |name: &str| folder.path().join(name);
    for (name, content) in &data {
        std::fs::write(path(name), &content.0)?;
    }
    let files = [
        format!("--tls-cert={}", path("tls.crt").display()),
        format!("--tls-key={}", path("tls.key").display()),
    ];
    let ports = ["--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"];
    let ours = ServerProcess::start(
        Command::new(program)
            .arg("webhook")
            .args(ports)
            .args(&files),
    )?;
    let tls = trusting(&data["ca.crt"].0);
    let idle = ours.memory();

    let request = request(&review(1, 4));
    let mut stream = connect(&ours.address, &tls)?;
    stream.write_all(&request)?;
    std::fs::write(path("answer"), receive(&mut stream)?)?;
    let mut at_once = Command::new(std::env::current_exe()?);
    let at_once = ServerProcess::start(
        at_once
            .arg(AT_ONCE)
            .args(["tls.crt", "tls.key", "answer"].map(path)),
    )?;
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        our_times.extend(round(&ours.address, &tls, &request)?);
        their_times.extend(round(&at_once.address, &tls, &request)?);
    }
    println!(
        "| {RATE} reviews/s of {:.1} KB by TLS, {CONNECTIONS} connections | p50 | p99 |",
        request.len() as f64 / 1e3
    );
    println!("| --- | ---: | ---: |");
    let mut medians = Vec::new();
    for (name, times) in [
        ("the webhook", &mut our_times),
        (
            "a hyper + rustls server that answers at once",
            &mut their_times,
        ),
    ] {
        times.sort_unstable();
        let ms = |percent: usize| {
            times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
        };
        medians.push(ms(50));
        println!("| {name} | {:.2} ms | {:.2} ms |", ms(50), ms(99));
    }
    println!(
        "\np50 is {:.2} times that of the server that answers at once.",
        medians[0] / medians[1]
    );
    if let (Some(idle), Some(after)) = (idle, ours.memory()) {
        println!(
            "Resident: {idle:.1} MB idle, {after:.1} MB after {} reviews.",
            our_times.len()
        );
    }
    Ok(())
}

fn request(review: &str) -> Vec<u8> {
    let head = "POST /mutate?timeout=5s HTTP/1.1\r\nHost: injector.mackerel.svc\r\nContent-Type: application/json";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{review}", review.len()).into_bytes()
}

/// Times of one round's reviews, sent at a steady rate.
fn round(address: &str, tls: &Arc<ClientConfig>, request: &[u8]) -> io::Result<Vec<Duration>> {
    let interval = Duration::from_secs(1) * CONNECTIONS / RATE;
    let start = Instant::now() + Duration::from_millis(50);
    let connection = |number: u32| {
        let mut stream = connect(address, tls)?;
        let mut times = Vec::new();
        for turn in 0..REVIEWS_PER_ROUND / CONNECTIONS {
            let due = start + interval * turn + interval * number / CONNECTIONS;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            stream.write_all(request)?;
            stream.flush()?;
            receive(&mut stream)?;
            times.push(sent.elapsed());
        }
        Ok(times)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|number| scope.spawn(move || connection(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect::<io::Result<Vec<_>>>()
    })
    .map(|times| times.concat())
}

type TlsStream = StreamOwned<ClientConnection, TcpStream>;

fn trusting(authority: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates([CertificateDer::from_pem_slice(authority).expect("PEM")]);
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them");
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

fn connect(address: &str, tls: &Arc<ClientConfig>) -> io::Result<TlsStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("injector.mackerel.svc").expect("a name");
    let connection = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(stream)
}

/// The body of the answer.
fn receive(stream: &mut TlsStream) -> io::Result<Vec<u8>> {
    let (mut received, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        let count = stream.read(&mut buffer)?;
        received.extend_from_slice(&buffer[..count]);
        let Some(head) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&received[..head]).to_ascii_lowercase();
        assert!(text.starts_with("http/1.1 200"), "{text}");
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .expect("a length");
        if received.len() >= head + 4 + length.parse::<usize>().expect("a number") {
            return Ok(received.split_off(head + 4));
        }
    }
}

/// Reads each request and answers it at once. Its arguments are the files of certificate, key and answer.
pub(crate) fn at_once(mut files: impl Iterator<Item = String>) -> ExitCode {
    let mut read = || std::fs::read(files.next().expect("a file")).expect("it can be read");
    let chain = CertificateDer::pem_slice_iter(&read())
        .map(|certificate| certificate.expect("PEM"))
        .collect();
    let key = PrivateKeyDer::from_pem_slice(&read()).expect("PEM");
    let body = Bytes::from(read());
    let tls =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate and its key");
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!(
            "{{\"address\":\"{}\"}}",
            listener.local_addr().expect("an address")
        );
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.set_nodelay(true);
            let (acceptor, body) = (acceptor.clone(), body.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let answer = async |request: Request<Incoming>| {
                    let _ = request.into_body().collect().await;
                    Ok::<_, Infallible>(Response::new(Full::new(body.clone())))
                };
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            });
        }
    })
}
