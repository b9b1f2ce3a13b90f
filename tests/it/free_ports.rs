//! Ports for servers that get theirs before they start.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the kernel gives to connections and to servers on port 0 (32768 and up on Linux, 49152 elsewhere). The kernel
/// could give such a port away before the server under test starts, two seconds later. `webhook/dev/up` takes those below.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// Two ports without a listener. No other call in this process returns them.
pub(crate) fn two() -> [u16; 2] {
    [(); 2].map(|()| next())
}

fn next() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Another run of these tests begins elsewhere.
    let first = u16::try_from(std::process::id() % 100).unwrap() * 100;
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
    let mut ports =
        PORTS.map(|_| PORTS.start + (first + TAKEN.fetch_add(1, Ordering::Relaxed)) % 10_000);
    ports.find(free).expect("a free port")
}
