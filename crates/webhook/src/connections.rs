//! The open connections of a port, and which one closes for a new one.

use crate::connection::{Candidate, Connection, Phase, lock};
use crate::limits::TICK;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The open connections of a port.
#[derive(Debug)]
pub struct Connections {
    max: usize,
    open: Mutex<OpenConnections>,
    /// A place may have become free.
    freed: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    connections: BTreeMap<u64, Arc<Connection>>,
}

/// An open connection, counted until it is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    number: u64,
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

/// A new connection among the open ones.
#[derive(Debug)]
pub enum Opened {
    /// There was room.
    Open(OpenConnection),
    /// Another one closes for it.
    InPlaceOfAnother(OpenConnection),
}

impl Connections {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Counts a new connection. Where there are too many, another one closes for it. Where none may, the new one waits for a tick or
    /// for an end: the others are as new, or their reviews run.
    pub async fn open(self: &Arc<Self>, phase: Phase, peer: IpAddr) -> Opened {
        loop {
            match self.try_open(phase, peer) {
                Some(opened) => return opened,
                None => self.freed.notified().await,
            }
        }
    }

    fn try_open(self: &Arc<Self>, phase: Phase, peer: IpAddr) -> Option<Opened> {
        let mut open = lock(&self.open);
        let is_full = open.connections.len() >= self.max && open.count() >= self.max;
        if is_full {
            let Candidate {
                eviction,
                connection,
                ..
            } = open.first_to_close()?;
            connection.evict(eviction);
        }
        let (number, connection) = (open.next, Arc::new(Connection::new(phase, peer)));
        open.next += 1;
        open.connections.insert(number, Arc::clone(&connection));
        let opened = OpenConnection {
            number,
            connection,
            connections: Arc::clone(self),
        };
        Some(if is_full {
            Opened::InPlaceOfAnother(opened)
        } else {
            Opened::Open(opened)
        })
    }

    /// Counts the time of all connections. The task that calls it waits for its turn as those of the connections do: so the time passes
    /// only as fast as the server reads.
    pub fn tick(&self) {
        for connection in lock(&self.open).connections.values() {
            connection.tick();
        }
        self.freed.notify_one();
    }

    pub fn count(&self) -> usize {
        lock(&self.open).count()
    }
}

impl OpenConnections {
    /// The connections that stay.
    fn count(&self) -> usize {
        self.connections
            .values()
            .filter(|connection| !connection.is_evicted())
            .count()
    }

    /// Returns the connection that closes for a new one: of the first class, from the address that has most of it and lets the server
    /// wait, the one for which it has waited longest. Addresses count within a class only: API servers may share theirs with others,
    /// and may have the most connections.
    fn first_to_close(&self) -> Option<Candidate<'_>> {
        let mut first: Vec<Candidate<'_>> = self
            .connections
            .values()
            .filter_map(Connection::candidate)
            .collect();
        let class = first.iter().map(|candidate| candidate.eviction).min()?;
        first.retain(|candidate| candidate.eviction == class);
        let mut of_peers = BTreeMap::<IpAddr, Duration>::new();
        for candidate in &first {
            *of_peers.entry(candidate.connection.peer).or_default() += TICK + candidate.delay;
        }
        first.into_iter().min_by_key(|candidate| {
            let of_peer = of_peers.get(&candidate.connection.peer).copied();
            (Reverse(of_peer), Reverse(candidate.delay), candidate.since)
        })
    }
}

impl OpenConnection {
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        lock(&self.connections.open)
            .connections
            .remove(&self.number);
        self.connections.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::tests::{REQUEST, is_closing, serve};

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn of_peer(connections: &Arc<Connections>, peer: IpAddr) -> OpenConnection {
        match connections.try_open(Phase::Idle, peer) {
            Some(Opened::Open(opened) | Opened::InPlaceOfAnother(opened)) => opened,
            None => panic!("full"),
        }
    }

    fn opened(connections: &Arc<Connections>) -> OpenConnection {
        of_peer(connections, PEER)
    }

    fn is_full(connections: &Arc<Connections>) -> bool {
        connections.try_open(Phase::Handshake, PEER).is_none()
    }

    fn be_slow(connections: &Connections) {
        (0..6).for_each(|_| connections.tick());
    }

    #[test]
    fn connections_close_in_the_order_of_their_classes() {
        let connections = Connections::new(7);
        let [idle, incomplete, waiting, unread, silent, review] =
            std::array::from_fn(|_| opened(&connections));
        for served in [&idle, &incomplete] {
            serve(&served.connection, REQUEST);
        }
        incomplete.connection.received(b"P");
        waiting.connection.enter(Phase::Waiting);
        unread.connection.answer();
        review.connection.enter(Phase::Review);
        be_slow(&connections);
        let new = opened(&connections);
        connections.tick();
        let mut later = Vec::new();
        for next in [&unread, &silent, &idle, &incomplete, &waiting, &new] {
            assert!(!next.connection.is_evicted());
            later.push(opened(&connections));
            assert!(next.connection.is_evicted());
            assert_eq!(
                is_closing(&next.connection),
                !std::ptr::eq(next, &waiting),
                "a review that waits is answered first"
            );
        }
        assert!(!review.connection.is_evicted());
        assert_eq!(connections.count(), 7);
    }

    /// A tick has to pass after which the server has read what had come. Then the one that waits longest closes, whatever its age.
    #[test]
    fn a_new_connection_is_the_last_and_not_safe() {
        let connections = Connections::new(2);
        let (first, second) = (opened(&connections), opened(&connections));
        assert!(is_full(&connections));
        second.connection.enter(Phase::Review);
        connections.tick();
        second.connection.enter(Phase::Body);
        let _third = opened(&connections);
        assert_eq!(
            [&first, &second].map(|one| is_closing(&one.connection)),
            [true, false]
        );
        assert!(is_full(&connections));
        connections.tick();
        assert!(!is_full(&connections));
    }

    #[test]
    fn a_request_that_comes_while_its_connection_is_chosen_to_close_is_answered() {
        let connections = Connections::new(1);
        let idle = opened(&connections);
        serve(&idle.connection, REQUEST);
        let _new = opened(&connections);
        assert!(idle.connection.is_evicted() && idle.connection.must_close());
        idle.connection.received(b"P");
        assert!(!idle.connection.must_close());
        assert!(is_closing(&idle.connection));
        connections.tick();
        assert!(is_closing(&idle.connection) && idle.connection.must_close());
    }

    #[test]
    fn a_connection_whose_review_runs_never_closes_for_another() {
        let connections = Connections::new(1);
        let busy = opened(&connections);
        busy.connection.enter(Phase::Review);
        be_slow(&connections);
        assert!(is_full(&connections));
        assert!(!is_closing(&busy.connection));
    }

    #[test]
    fn addresses_count_within_a_class_only() {
        let connections = Connections::new(5);
        let api_server = [(); 3].map(|()| opened(&connections));
        let stranger = IpAddr::from([127, 0, 0, 2]);
        let strangers = [(); 2].map(|()| of_peer(&connections, stranger));
        be_slow(&connections);
        serve(&api_server[0].connection, REQUEST);
        serve(&api_server[1].connection, REQUEST);
        let _new = opened(&connections);
        let closing = |opened: &[OpenConnection]| {
            let evicted = opened
                .iter()
                .filter(|opened| opened.connection.is_evicted());
            evicted.count()
        };
        assert_eq!((closing(&api_server), closing(&strangers)), (0, 1));
    }
}
