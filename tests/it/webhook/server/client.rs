//! A client that can be as wrong and as slow as a test wants.

use crate::kubernetes::certificates::Signed;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

pub(crate) struct Client {
    transport: Transport,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    }
}

/// The TLS configuration of a client that trusts these authorities.
pub(crate) fn trusting(authorities: &str) -> Arc<ClientConfig> {
    Arc::new(client(authorities).with_no_client_auth())
}

/// The same with a certificate of the client.
pub(crate) fn presenting(authorities: &str, signed: &Signed) -> Arc<ClientConfig> {
    let chain = vec![CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap();
    Arc::new(
        client(authorities)
            .with_client_auth_cert(chain, key)
            .unwrap(),
    )
}

fn client(authorities: &str) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(
        CertificateDer::pem_slice_iter(authorities.as_bytes()).map(Result::unwrap),
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    versions.with_root_certificates(roots)
}

impl Transport {
    pub(crate) fn tls(address: SocketAddr, authorities: &str) -> Self {
        Self::tls_with(address, trusting(authorities)).unwrap()
    }

    /// A connection whose handshake is done.
    pub(crate) fn tls_with(address: SocketAddr, config: Arc<ClientConfig>) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("injector.mackerel.svc").unwrap();
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        tls.complete_io(&mut stream)?;
        Ok(Transport::Tls(Box::new(StreamOwned::new(tls, stream))))
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => &mut **stream,
        }
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

impl Client {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            transport,
            received: Vec::new(),
        }
    }

    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.transport.stream();
        stream.write_all(bytes).and_then(|()| stream.flush())
    }

    /// The server may close while it is still sent to, and have answered before.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.try_send(bytes);
    }

    pub(crate) fn finish_sending(&mut self) {
        match &mut self.transport {
            Transport::Plain(stream) => stream.shutdown(Shutdown::Write).unwrap(),
            Transport::Tls(stream) => {
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                stream.sock.shutdown(Shutdown::Write).unwrap();
            }
        }
    }

    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> HttpResponse {
        self.try_post(path, body).unwrap()
    }

    pub(crate) fn try_post(&mut self, path: &str, body: &[u8]) -> io::Result<HttpResponse> {
        let mut request = post_head(path, body.len()).into_bytes();
        request.extend_from_slice(body);
        self.send(&request);
        self.receive()
    }

    /// Reads one response, by its length.
    pub(crate) fn receive(&mut self) -> io::Result<HttpResponse> {
        let head = loop {
            if let Some(end) = self
                .received
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
            {
                let head: Vec<u8> = self.received.drain(..end + 4).collect();
                break String::from_utf8(head).unwrap();
            }
            self.read_more()?;
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut response = HttpResponse {
            status,
            head,
            body: Vec::new(),
        };
        if status == 100 {
            return Ok(response);
        }
        let length = response
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        while self.received.len() < length {
            self.read_more()?;
        }
        response.body = self.received.drain(..length).collect();
        Ok(response)
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        match self.transport.stream().read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.received.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }

    /// True once the server has closed the connection; it waits for that.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.read_more()
            .is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock)
    }
}

/// A whole request.
pub(crate) fn post(body: &str) -> String {
    post_head("/mutate", body.len()) + body
}

pub(crate) fn post_head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: injector.mackerel.svc\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}
