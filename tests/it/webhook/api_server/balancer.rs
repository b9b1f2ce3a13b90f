//! A Service's balancer: TCP connections to its endpoints in turn.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Starts a balancer, which listens on a port of its own until the process ends.
pub(crate) struct Balancer {
    pub(super) port: u16,
    endpoints: Arc<Mutex<Endpoints>>,
}

#[derive(Default)]
struct Endpoints {
    all: Vec<SocketAddr>,
    /// The number of connections since they were set.
    turn: usize,
}

impl Endpoints {
    fn next(&mut self) -> Option<SocketAddr> {
        self.turn += 1;
        self.all
            .get((self.turn - 1) % self.all.len().max(1))
            .copied()
    }
}

impl Balancer {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let endpoints: Arc<Mutex<Endpoints>> = Arc::default();
        let chosen = Arc::clone(&endpoints);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Without endpoints, and to one that is gone, the connection is refused.
                let Some(endpoint) = chosen.lock().unwrap().next() else {
                    continue;
                };
                if let Ok(server) = TcpStream::connect(endpoint) {
                    join(&client, &server);
                }
            }
        });
        Self { port, endpoints }
    }

    /// Replaces the endpoints. The next connection goes to the first of them.
    pub(crate) fn set(&self, endpoints: Vec<SocketAddr>) {
        *self.endpoints.lock().unwrap() = Endpoints {
            all: endpoints,
            turn: 0,
        };
    }

    pub(super) fn remove(&self, endpoint: SocketAddr) {
        self.endpoints
            .lock()
            .unwrap()
            .all
            .retain(|other| *other != endpoint);
    }

    pub(super) fn add(&self, endpoint: SocketAddr) {
        self.endpoints.lock().unwrap().all.push(endpoint);
    }
}

/// Copies in both directions until one side ends.
fn join(one: &TcpStream, other: &TcpStream) {
    for (from, to) in [(one, other), (other, one)] {
        let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
            return;
        };
        let _ = from.set_nodelay(true);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
}
