//! HTTP/1.1 with one request a connection: the server of the fakes, and a client that asks as the agent does.

use crate::kubernetes::certificates::Signed;
use crate::webhook::server::client::trusting;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A request as a fake sees it.
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// The parameters behind `?`, as they were sent.
    pub(super) query: String,
    head: String,
    pub(super) body: Vec<u8>,
    /// The client has a certificate of the authority that the server trusts.
    pub(super) certified: bool,
}

impl HttpRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// A status and a body.
pub(super) type StatusAndBody = (u16, Vec<u8>);

/// The TLS configuration of a server. Clients may have a certificate of that authority.
pub(super) fn tls(signed: &Signed, clients: &str) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(
        CertificateDer::pem_slice_iter(clients.as_bytes()).map(Result::unwrap),
    );
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap();
    let versions = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    Arc::new(
        versions
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap(),
    )
}

/// Serves until the tests end. Returns the address.
pub(super) fn serve(
    address: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    answer: impl Fn(&HttpRequest) -> StatusAndBody + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap_or_else(|why| panic!("{address}: {why}"));
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (tls, answer) = (tls.clone(), Arc::clone(&answer));
            // An agent that is killed, or that refuses the certificate, leaves its connection.
            thread::spawn(move || stream.and_then(|stream| respond(stream, tls, &*answer)));
        }
    });
    address
}

fn respond(
    mut stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    answer: &dyn Fn(&HttpRequest) -> StatusAndBody,
) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let Some(tls) = tls else {
        return respond_on(&mut stream, false, answer);
    };
    let mut connection = ServerConnection::new(tls).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    let certified = connection.peer_certificates().is_some();
    respond_on(&mut StreamOwned::new(connection, stream), certified, answer)
}

fn respond_on(
    stream: &mut (impl Read + Write),
    certified: bool,
    answer: &dyn Fn(&HttpRequest) -> StatusAndBody,
) -> io::Result<()> {
    let (head, body) = receive(stream)?;
    let mut words = head.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let (path, query) = words.next().map_or(("", ""), |target| {
        target.split_once('?').unwrap_or((target, ""))
    });
    let (path, query) = (path.to_owned(), query.to_owned());
    let (status, body) = answer(&HttpRequest {
        method,
        path,
        query,
        head,
        body,
        certified,
    });
    let kind = if body.starts_with(b"{") {
        "application/json"
    } else {
        "text/plain"
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), &body].concat())?;
    stream.flush()
}

/// Reads a head, and a body by its length.
fn receive(stream: &mut impl Read) -> io::Result<(String, Vec<u8>)> {
    let (mut received, mut buffer) = (Vec::new(), [0; 16 << 10]);
    let mut more = |received: &mut Vec<u8>| match stream.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            received.extend_from_slice(&buffer[..count]);
            io::Result::Ok(())
        }
    };
    let end = loop {
        match received.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end,
            None => more(&mut received)?,
        }
    };
    let head = String::from_utf8_lossy(&received[..end]).into_owned();
    let mut body = received.split_off(end + 4);
    let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        more(&mut body)?;
    }
    Ok((head, body))
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
}

/// A server's address; with TLS also its name, and the authorities that the client trusts.
pub(super) struct HttpTarget<'s> {
    pub(super) address: SocketAddr,
    pub(super) tls: Option<(&'s str, &'s str)>,
}

impl HttpTarget<'_> {
    /// Sends one request, as `GET /path`, with a header. Returns the status and the body.
    pub(super) fn ask(
        &self,
        request: &str,
        header: Option<(&str, &str)>,
        body: Option<&Value>,
    ) -> StatusAndBody {
        let header =
            header.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
        let body = body.map_or_else(String::new, Value::to_string);
        let length = body.len();
        let sent = format!(
            "{request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{header}Content-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.address)
            .unwrap_or_else(|why| panic!("{}: {why}", self.address));
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let received = match self.tls {
            None => stream
                .write_all(sent.as_bytes())
                .and_then(|()| receive(&mut stream)),
            Some((name, authorities)) => {
                let name = ServerName::try_from(name.to_owned()).unwrap();
                let connection = ClientConnection::new(trusting(authorities), name).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                stream
                    .write_all(sent.as_bytes())
                    .and_then(|()| receive(&mut stream))
            }
        };
        let (head, body) = received.unwrap_or_else(|why| panic!("{request}: {why}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }
}
