//! Crowds of hostile clients from one address or many, and the API server's reviews beside them. `MACKEREL_LONG_TESTS=1 cargo test
//! --release --test it -- --nocapture webhook::server::crowd` prints the tables.

use crate::webhook::server::client::{post_head, trusting};
use crate::webhook::server::limits::open_many_files;
use crate::webhook::server::{REVIEW, Server, is_long, scaled};
use rustls::pki_types::ServerName;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpSocket;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

/// The time after which the API server gives a review up, by the chart.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The port that is called, and the request to it.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    /// None for the plain port.
    tls: Option<TlsConnector>,
    request: Rc<str>,
}

trait ReadWrite: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> ReadWrite for T {}

struct Stream(Box<dyn ReadWrite>);

impl Target {
    async fn connect(&self, from: Ipv4Addr) -> io::Result<Stream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Stream(Box::new(stream)));
        };
        let name = ServerName::try_from("injector.mackerel.svc").unwrap();
        Ok(Stream(Box::new(tls.connect(name, stream).await?)))
    }
}

impl Stream {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = poll_fn(|cx| Pin::new(&mut self.0).poll_write(cx, rest)).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[count..];
        }
        poll_fn(|cx| Pin::new(&mut self.0).poll_flush(cx)).await
    }

    /// Sends byte by byte.
    async fn drip(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.send(std::slice::from_ref(byte)).await?;
            sleep(SLOW).await;
        }
        Ok(())
    }

    async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let mut bytes = [0; 16 << 10];
        let mut buffer = ReadBuf::new(&mut bytes);
        poll_fn(|cx| Pin::new(&mut self.0).poll_read(cx, &mut buffer)).await?;
        if buffer.filled().is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into.extend_from_slice(buffer.filled());
        Ok(())
    }

    /// Reads one response, and returns its status. `Connection: close` is the caller's to notice.
    async fn receive(&mut self) -> io::Result<Response> {
        let mut received = Vec::new();
        let end = loop {
            let mut windows = received.windows(4);
            if let Some(end) = windows.position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.read(&mut received).await?;
        };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let field = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find_map(|(known, value)| (known == name).then(|| value.to_owned()))
        };
        let length: usize = field("content-length").map_or(0, |length| length.parse().unwrap());
        while received.len() < end + length {
            self.read(&mut received).await?;
        }
        Ok(Response {
            is_ok: head.starts_with("http/1.1 200"),
            is_last: field("connection").is_some_and(|value| value == "close"),
        })
    }

    /// True if the server has closed the connection. Go's client waits for that beside its requests.
    async fn is_closed(&mut self) -> bool {
        let read = timeout(Duration::ZERO, self.read(&mut Vec::new())).await;
        read.is_ok()
    }
}

struct Response {
    is_ok: bool,
    is_last: bool,
}

/// The behaviour of a hostile client.
#[derive(Debug, Clone, Copy)]
enum Hog {
    /// It opens a connection, and sends nothing.
    Silent,
    /// The same, with TLS.
    Idle,
    /// It sends 60 requests, reads no answer, and comes back this long after the connection was closed.
    Unread(Duration),
    /// It sends one request after the other, and reads the answers.
    Greedy,
    /// It sends one request, reads the answer, and sends nothing more.
    Served,
    /// It sends its requests in two halves with a pause, and reads the answers.
    Halves,
    /// It sends its request byte by byte, from the beginning of the head.
    SlowHead,
    /// The same, from the beginning of the body.
    SlowBody,
    /// A quarter each: [`Hog::SlowBody`], [`Hog::SlowHead`], [`Hog::Halves`] and [`Hog::Unread`].
    Mixture,
}

/// The hogs of a mixture.
const MIXTURE: [Hog; 4] = [
    Hog::SlowBody,
    Hog::SlowHead,
    Hog::Halves,
    Hog::Unread(PAUSE),
];

/// The time after which a hog comes back.
const PAUSE: Duration = Duration::from_millis(20);
/// The time between two bytes, or two halves, of a slow hog.
const SLOW: Duration = Duration::from_millis(40);

impl Hog {
    async fn run(self, target: Target, from: Ipv4Addr) {
        loop {
            let _ = self.connection(&target, from).await;
            let pause = match self {
                Hog::Unread(pause) => pause,
                _ => PAUSE,
            };
            // A tenth of the hogs comes back as often as a tenth of them would.
            sleep(if is_long() { pause } else { pause * 10 }).await;
        }
    }

    async fn connection(self, target: &Target, from: Ipv4Addr) -> io::Result<()> {
        let plain = Target {
            tls: None,
            ..target.clone()
        };
        let mut stream = match self {
            Hog::Silent => plain.connect(from).await?,
            _ => target.connect(from).await?,
        };
        let request = target.request.as_bytes();
        match self {
            Hog::Silent | Hog::Idle => stream.read(&mut Vec::new()).await,
            Hog::Unread(_) => {
                for _ in 0..60 {
                    stream.send(request).await?;
                }
                loop {
                    sleep(Duration::from_millis(20)).await;
                    stream.send(b"P").await?;
                }
            }
            Hog::Greedy => loop {
                stream.send(request).await?;
                if stream.receive().await?.is_last {
                    return Ok(());
                }
            },
            Hog::Served => {
                stream.send(request).await?;
                stream.receive().await?;
                stream.read(&mut Vec::new()).await
            }
            Hog::Halves => loop {
                let (first, second) = request.split_at(request.len() / 2);
                stream.send(first).await?;
                sleep(SLOW).await;
                stream.send(second).await?;
                if stream.receive().await?.is_last {
                    return Ok(());
                }
            },
            Hog::SlowHead => stream.drip(request).await,
            Hog::SlowBody => {
                let mut parts = target.request.splitn(2, "\r\n\r\n");
                let head = parts.next().unwrap_or_default();
                let (head, body) = request.split_at(head.len() + 4);
                stream.send(head).await?;
                stream.drip(body).await
            }
            Hog::Mixture => unreachable!("each hog of a mixture has its own kind"),
        }
    }
}

/// Many clients that do the same.
struct Crowd {
    hog: Hog,
    count: usize,
    target: fn(&Ports) -> Target,
}

/// The ports of a server.
struct Ports {
    hooks: SocketAddr,
    plain: SocketAddr,
    authority: String,
}

impl Ports {
    fn hook(&self, review: &str) -> Target {
        Target {
            address: self.hooks,
            tls: Some(TlsConnector::from(trusting(&self.authority))),
            request: (post_head("/mutate", review.len()) + review).into(),
        }
    }

    fn reviews(&self) -> Target {
        self.hook(REVIEW)
    }

    /// As many misspelt keys as fit into a small review.
    fn misspelt(&self) -> Target {
        let key = |number| {
            format!(
                "\"agent-injector.contrib.mackerel.io/agent-config-configmap-nam{number}\":\"\""
            )
        };
        let keys = (0..438).map(key).collect::<Vec<_>>().join(",");
        let annotations = format!("\"annotations\":{{{keys}}},\"generateName\":");
        let review = REVIEW.replacen("\"generateName\":", &annotations, 1);
        assert!(
            (28 << 10..40 << 10).contains(&review.len()),
            "{}",
            review.len()
        );
        self.hook(&review)
    }

    fn probes(&self) -> Target {
        Target {
            address: self.plain,
            tls: None,
            request: "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        }
    }
}

/// Times of answered requests, and the number of those that had no answer in time.
#[derive(Default)]
struct Times {
    answered: Vec<Duration>,
    missed: usize,
}

impl Times {
    fn add(&mut self, started: Instant, answer: Option<Response>) {
        match answer.filter(|response| response.is_ok) {
            Some(_) => self.answered.push(started.elapsed()),
            None => self.missed += 1,
        }
    }

    /// `missed of all, the longest time`
    fn cell(&self) -> String {
        let longest = self.answered.iter().max().copied().unwrap_or_default();
        let all = self.answered.len() + self.missed;
        format!("{} of {all}, {:.2} s", self.missed, longest.as_secs_f64())
    }
}

/// A client as the API server is: a connection for each review in flight, kept for the next one.
async fn kept(target: Target, pause: Duration, times: Rc<RefCell<Times>>) {
    let mut open = None;
    loop {
        let started = Instant::now();
        let review = async {
            if let Some(stream) = &mut open
                && Stream::is_closed(stream).await
            {
                open = None;
            }
            let mut stream = match open.take() {
                Some(stream) => stream,
                None => target.connect(Ipv4Addr::LOCALHOST).await?,
            };
            stream.send(target.request.as_bytes()).await?;
            let response = stream.receive().await?;
            if !response.is_last {
                open = Some(stream);
            }
            Ok::<_, io::Error>(response)
        };
        let answer = timeout(TIMEOUT, review).await.ok().and_then(Result::ok);
        times.borrow_mut().add(started, answer);
        sleep(pause).await;
    }
}

async fn once(target: Target, times: Rc<RefCell<Times>>) {
    let started = Instant::now();
    let review = async {
        let mut stream = target.connect(Ipv4Addr::LOCALHOST).await?;
        stream.send(target.request.as_bytes()).await?;
        stream.receive().await
    };
    let answer = timeout(TIMEOUT, review).await.ok().and_then(Result::ok);
    times.borrow_mut().add(started, answer);
}

fn block_on(future: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, future);
}

/// The victims of one row.
struct Victims {
    target: fn(&Ports) -> Target,
    /// Connections that are kept.
    kept: usize,
}

/// Runs the crowd beside the victims, and returns the times of victims with new connections and with kept ones.
fn beside(ports: &Ports, crowd: &Crowd, hogs: &[Ipv4Addr], victims: &Victims) -> [Times; 2] {
    let is_over = AtomicBool::new(false);
    let duration = Duration::from_secs(if is_long() { 15 } else { 2 });
    let [new, old]: [Rc<RefCell<Times>>; 2] = Default::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                let target = (crowd.target)(ports);
                for number in 0..crowd.count {
                    let from = hogs[number % hogs.len()];
                    let hog = match crowd.hog {
                        Hog::Mixture => MIXTURE[number / hogs.len() % MIXTURE.len()],
                        hog => hog,
                    };
                    spawn_local(hog.run(target.clone(), from));
                }
                while !is_over.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(50)).await;
                }
            });
        });
        let _end = crate::webhook::server::EndsLoad(&is_over);
        block_on(async {
            let target = (victims.target)(ports);
            // A client with many connections sends as many reviews as others do.
            let pause = Duration::from_millis(100) * u32::try_from(victims.kept).unwrap();
            for _ in 0..victims.kept {
                spawn_local(kept(target.clone(), pause.min(TIMEOUT), Rc::clone(&old)));
                sleep(Duration::from_millis(1)).await;
            }
            let (end, mut calls) = (Instant::now() + duration, Vec::new());
            while Instant::now() < end {
                calls.push(spawn_local(once(target.clone(), Rc::clone(&new))));
                sleep(Duration::from_millis(100)).await;
            }
            for call in calls {
                call.await.unwrap();
            }
        });
    });
    [new, old].map(|times| times.take())
}

fn from(addresses: std::ops::RangeInclusive<u8>) -> Vec<Ipv4Addr> {
    addresses
        .map(|last| Ipv4Addr::new(127, 0, 0, last))
        .collect()
}

/// The hogs' addresses of the tables, and the number of the victim's connections.
fn tables() -> [(&'static str, Vec<Ipv4Addr>, usize); 4] {
    [
        (
            "50 addresses, the victims' among them",
            from(1..=if is_long() { 50 } else { 5 }),
            1,
        ),
        ("the victims' address", from(1..=1), 1),
        ("one other address", from(2..=2), 1),
        (
            "50 addresses; the victim has 100 connections",
            from(2..=if is_long() { 51 } else { 6 }),
            scaled(100),
        ),
    ]
}

/// Prints a row, and returns it if victims were missed.
#[allow(clippy::print_stdout, reason = "`--nocapture` shows the tables")]
fn row(name: &str, [new, old]: &[Times; 2]) -> Option<String> {
    let row = format!("| {name} | {} | {} |", new.cell(), old.cell());
    println!("{row}");
    (new.missed + old.missed > 0).then_some(row)
}

/// Clients that reach the ports may take all connections, but none of the API server's reviews and of the kubelet's probes.
#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows the tables")]
fn no_crowd_takes_the_reviews_of_others() {
    open_many_files();
    let unread = |milliseconds| Hog::Unread(Duration::from_millis(milliseconds));
    let crowd = |hog, count, target| Crowd {
        hog,
        count: scaled(count),
        target,
    };
    let on_hooks = [
        crowd(Hog::Silent, 1200, Ports::reviews),
        crowd(Hog::Idle, 1200, Ports::reviews),
        crowd(unread(20), 1200, Ports::reviews),
        crowd(unread(3000), 1200, Ports::reviews),
        crowd(Hog::Greedy, 400, Ports::misspelt),
        crowd(Hog::Served, 1200, Ports::reviews),
        crowd(Hog::Mixture, 1200, Ports::reviews),
    ];
    let on_plain_port = [
        crowd(Hog::Silent, 1200, Ports::probes),
        crowd(unread(20), 1200, Ports::probes),
    ];
    let mut missed = Vec::new();
    for (name, hogs, kept) in tables() {
        println!("\n{name}\n| hogs | new connections: missed, longest | kept ones |");
        let reviews = Victims {
            target: Ports::reviews,
            kept,
        };
        let probes = Victims {
            target: Ports::probes,
            kept: 1,
        };
        let rows = on_hooks.iter().map(|crowd| (crowd, &reviews));
        for (crowd, victims) in rows.chain(on_plain_port.iter().map(|crowd| (crowd, &probes))) {
            let server = match is_long() {
                true => Server::start(&[]),
                // As many connections for a tenth of the hogs as 1,024 are for all.
                false => Server::with_connections(102),
            };
            let ports = Ports {
                hooks: server.address,
                plain: server.plain,
                authority: server.authority.clone(),
            };
            let times = beside(&ports, crowd, &hogs, victims);
            let name = format!("{} {:?}", crowd.count, crowd.hog);
            missed.extend(row(&name, &times));
            assert_eq!(server.decision(), "injected", "after {name}");
            assert_eq!(server.get("/livez").status, 200, "after {name}");
        }
    }
    // Beside other tests, a client may be so slow that the server takes it for a hog.
    assert!(
        !is_long() || missed.is_empty(),
        "missed:\n{}",
        missed.join("\n")
    );
}

/// A client that sends a second request before the first has its answer gets one answer, and the connection closes.
#[test]
fn a_request_before_the_answer_has_left_has_none() {
    let server = Server::start(&[]);
    let ports = Ports {
        hooks: server.address,
        plain: server.plain,
        authority: server.authority.clone(),
    };
    block_on(async {
        for target in [ports.reviews(), ports.misspelt(), ports.probes()] {
            for split in [1, 20, target.request.len()] {
                let mut stream = target.connect(Ipv4Addr::LOCALHOST).await.unwrap();
                stream.send(target.request.as_bytes()).await.unwrap();
                let response = stream.receive().await.unwrap();
                assert!(response.is_ok && !response.is_last);
                let second = target.request.get(..split).unwrap();
                let both = [&*target.request, second].concat();
                stream.send(both.as_bytes()).await.unwrap();
                let response = stream.receive().await.unwrap();
                assert!(response.is_ok && response.is_last, "{split}");
                let ended = timeout(TIMEOUT, stream.read(&mut Vec::new()))
                    .await
                    .unwrap();
                assert!(ended.is_err(), "a second answer");
            }
        }
    });
}
