//! The server: two ports, the connections of each, and the way from a signal to the end.

use crate::certificate::{Certificate, Pem};
use crate::connection::{Connection, Phase};
use crate::connections::{Connections, OpenConnection, Opened};
use crate::current::Current;
use crate::engine::Engine;
use crate::health::Health;
use crate::limits::{MAX_FINISH_TIME, MAX_HEAD, MAX_TLS_BUFFER, TICK, connections};
use crate::log::Throttle;
use crate::metrics::{HandshakeFailure, Limit, Metrics};
use crate::reload::{CertificateFiles, ConfigurationFile, Reload};
use crate::respond::Responder;
use crate::stream::ObservedStream;
use anyhow::Context as _;
use config::Config;
use http_body_util::Full;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use std::{io, thread};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

/// Arguments of the server.
#[derive(Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub metrics_listen: SocketAddr,
    pub certificate_files: CertificateFiles,
    /// The configuration at the start.
    pub config: Config,
    /// The file of the configuration; none if all settings have their defaults.
    pub configuration_file: Option<ConfigurationFile>,
    pub drain: Duration,
}

/// Serves until a signal ends it.
///
/// # Errors
/// Fails if the certificate cannot be used, or a port cannot be opened.
pub fn serve(settings: Settings) -> anyhow::Result<()> {
    let files = settings.certificate_files;
    let pem = files.read().map_err(anyhow::Error::msg)?;
    let certificate = Arc::new(Current::new(first_certificate(&files, &pem)?));
    let config = Arc::new(Current::new(settings.config));
    let metrics = Arc::new(Metrics::new());
    let is_draining = Arc::new(AtomicBool::new(false));
    let engine = Engine::start(&config, |reviewer, hook, body| reviewer.answer(hook, body))?;
    Reload {
        certificate_files: files,
        certificate: Arc::clone(&certificate),
        configuration_file: settings.configuration_file,
        config,
        metrics: Arc::clone(&metrics),
    }
    .start(pem)?;
    let health = Health {
        certificate: Arc::clone(&certificate),
        metrics: Arc::clone(&metrics),
        is_draining: Arc::clone(&is_draining),
    };
    let responder = Responder {
        engine,
        traffic: Arc::default(),
        metrics,
        is_draining,
    };
    // The kubelet ends a server whose plain port is silent, so no work of the other port may delay it.
    let (runtime, plain_runtime) = (io_thread()?, io_thread()?);
    let listener = runtime.block_on(bind(settings.listen))?;
    let plain_listener = plain_runtime.block_on(bind(settings.metrics_listen))?;
    let (address, plain_address) = (listener.local_addr()?, plain_listener.local_addr()?);
    let max_connections = connections();
    let plain_port = PlainPort {
        health,
        connections: Connections::new(max_connections),
    };
    thread::Builder::new()
        .spawn(move || plain_runtime.block_on(Arc::new(plain_port).serve(plain_listener)))?;
    LocalSet::new().block_on(&runtime, async {
        let (finish, finished) = watch::channel(());
        let port = Port {
            responder,
            certificate,
            connections: Connections::new(max_connections),
            finished,
        };
        tracing::info!(address = %address, plain_address = %plain_address, "listening");
        Rc::new(port).serve(listener, settings.drain).await?;
        // Closed once every connection has dropped its end.
        let _ = finish.send(());
        if timeout(MAX_FINISH_TIME, finish.closed()).await.is_err() {
            tracing::warn!("some requests were not answered in time");
        }
        tracing::info!("finished");
        Ok(())
    })
}

/// Reads the certificate to begin with. One that clients refuse is served, so that the reload can replace it.
fn first_certificate(files: &CertificateFiles, pem: &Pem) -> anyhow::Result<Certificate> {
    let certificate = Certificate::read(pem, files.server_name.as_ref())
        .with_context(|| files.certificate.display().to_string())?;
    if let Err(invalid) = certificate.check(SystemTime::now()) {
        tracing::error!("the certificate {invalid}; not ready until there is another one");
    }
    Ok(certificate)
}

/// Returns the runtime of a port on the thread that calls it. That thread reads, writes and decides about small reviews; what takes
/// longer has other threads.
fn io_thread() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))
}

/// The TLS port with the hooks.
struct Port {
    responder: Responder,
    certificate: Arc<Current<Certificate>>,
    connections: Arc<Connections>,
    /// Changes when connections are to finish.
    finished: watch::Receiver<()>,
}

impl Port {
    /// Accepts connections until the drain after a signal is over. A second signal ends the drain.
    async fn serve(self: Rc<Self>, listener: TcpListener, drain: Duration) -> io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let metrics = Arc::clone(&self.responder.metrics);
        spawn_local(tick(Arc::clone(&self.connections), move |count| {
            metrics
                .connections
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }));
        let take = |stream, opened| self.take(stream, opened);
        let accepting = accept_all(&listener, &self.connections, Phase::Handshake, take);
        let mut accepting = std::pin::pin!(accepting);
        let mut end: Option<Instant> = None;
        loop {
            tokio::select! {
                never = accepting.as_mut() => match never {},
                _ = async { tokio::select! { signal = terminate.recv() => signal, signal = interrupt.recv() => signal } } => {
                    if end.is_some() {
                        return Ok(());
                    }
                    self.responder.is_draining.store(true, Ordering::Relaxed);
                    end = Some(Instant::now() + drain);
                    tracing::info!(seconds = drain.as_secs_f64(), "draining");
                }
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => return Ok(()),
            }
        }
    }

    fn take(self: &Rc<Self>, stream: TcpStream, opened: Opened) {
        let opened = match opened {
            Opened::Open(opened) => opened,
            Opened::InPlaceOfAnother(opened) => {
                self.responder.metrics.shed(Limit::Connections);
                opened
            }
        };
        let (port, finished) = (Rc::clone(self), self.finished.clone());
        spawn_local(port.connection(stream, opened, finished));
    }

    async fn connection(
        self: Rc<Self>,
        stream: TcpStream,
        opened: OpenConnection,
        mut finished: watch::Receiver<()>,
    ) {
        let connection = opened.connection();
        let acceptor = TlsAcceptor::from(Arc::clone(&self.certificate.get().tls));
        let handshake = tokio::select! {
            handshake = acceptor.accept_with(stream, |tls| tls.set_buffer_limit(Some(MAX_TLS_BUFFER))) => handshake,
            () = connection.closed() => return self.handshake_failed(None),
        };
        let stream = match handshake {
            Ok(stream) => stream,
            Err(error) => return self.handshake_failed(Some(&error)),
        };
        connection.enter(Phase::Idle);
        let respond = |request| {
            let (port, connection) = (Rc::clone(&self), Arc::clone(connection));
            async move { port.responder.respond(request, &connection).await }
        };
        // The receiver lives until here: the end of the server waits for all of them to be dropped.
        serve_requests(stream, connection, respond, changed(&mut finished)).await;
    }

    fn handshake_failed(&self, error: Option<&io::Error>) {
        static CERTIFICATE_REFUSED: Throttle = Throttle::new();
        static CLIENT_CERTIFICATE: Throttle = Throttle::new();
        let error = error
            .and_then(|error| error.get_ref())
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let failure = HandshakeFailure::of(error);
        self.responder.metrics.handshake_failed(failure);
        // Lines about scanners must not hide those about the certificate.
        let lines = match failure {
            HandshakeFailure::ClientCertificate => &CLIENT_CERTIFICATE,
            HandshakeFailure::CertificateRefused | HandshakeFailure::Other => &CERTIFICATE_REFUSED,
        };
        if let (Some(line), Some(error)) = (failure.line(), error)
            && let Some(left_out) = lines.left_out()
        {
            tracing::warn!(error = %error, left_out, "{line}");
        }
    }
}

/// The port without TLS.
struct PlainPort {
    health: Health,
    connections: Arc<Connections>,
}

impl PlainPort {
    /// Accepts connections until the program ends.
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        tokio::spawn(tick(Arc::clone(&self.connections), |_| ()));
        let take = |stream, opened| {
            let (Opened::Open(opened) | Opened::InPlaceOfAnother(opened)) = opened;
            let port = Arc::clone(&self);
            tokio::spawn(async move {
                let respond = |request: Request<Incoming>| ready(port.health.respond(&request));
                let never_finished = pending();
                serve_requests(stream, opened.connection(), respond, never_finished).await;
            });
        };
        match accept_all(&listener, &self.connections, Phase::Idle, take).await {}
    }
}

/// Counts the time of a port's connections, and shows their number. It is a task, so that it waits for its turn as theirs do.
async fn tick(connections: Arc<Connections>, show: impl Fn(usize)) {
    loop {
        sleep(TICK).await;
        connections.tick();
        show(connections.count());
    }
}

/// Waits for a change of the value; for ever if its sender is dropped.
async fn changed(value: &mut watch::Receiver<()>) {
    if value.changed().await.is_err() {
        pending().await
    }
}

/// Takes connections for ever, each with its place among the open ones.
async fn accept_all(
    listener: &TcpListener,
    connections: &Arc<Connections>,
    phase: Phase,
    take: impl Fn(TcpStream, Opened),
) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Small answers leave at once. Without it they are correct all the same.
                let _ = stream.set_nodelay(true);
                take(stream, connections.open(phase, peer.ip()).await);
            }
            // An error of one connection, or of files that have run out: both pass.
            Err(error) => {
                tracing::warn!(error = %error, "a connection cannot be accepted");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves the requests of one connection until it is closed or overdue. Once it is `finished`, or a further request has come before an
/// answer has left, that answer is the last: kube-apiserver sends one request after the other.
async fn serve_requests<S, R, F>(
    stream: S,
    connection: &Arc<Connection>,
    respond: R,
    finished: impl Future<Output = ()>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    R: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(|request: Request<Incoming>| {
        let length = request.body().size_hint().exact();
        let response = connection.begin(length).then(|| respond(request));
        async move {
            // The connection closes once the answer before it has left.
            let Some(response) = response else {
                return pending().await;
            };
            let mut response = response.await;
            if connection.answer() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let stream = TokioIo::new(ObservedStream::new(stream, Arc::clone(connection)));
    let mut served = std::pin::pin!(
        http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            .serve_connection(stream, service)
    );
    let mut finished = std::pin::pin!(finished);
    let mut is_finishing = false;
    let mut is_closing = false;
    loop {
        tokio::select! {
            biased;
            // A client may break the connection at any time: an error is no event.
            _ = served.as_mut() => return,
            () = connection.closed(), if !is_closing => is_closing = true,
            // Meanwhile, what has come is read.
            () = yield_now(), if is_closing => {
                if connection.must_close() {
                    return;
                }
                is_closing = false;
            }
            () = finished.as_mut(), if !is_finishing => {
                is_finishing = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}
