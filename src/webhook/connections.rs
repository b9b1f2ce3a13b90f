//! The open connections of a port: the phase of each, the time that a phase may take, and which one closes for a new one.

use crate::webhook::limits::{
    MAX_ANSWER_TIME, MAX_HANDSHAKE_TIME, MAX_HEAD_TIME, MAX_IDLE_TIME, MAX_NEW_DELAY, TICK,
};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Progress of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Until TLS is set up.
    Handshake,
    /// No byte of the next request has come.
    Idle,
    /// A part of a request's head has come.
    Head,
    /// The head has come.
    Body,
    /// The body has come; the review waits for its turn.
    Waiting,
    /// The review runs.
    Review,
    /// The client has not read the whole answer yet.
    Answer,
}

impl Phase {
    /// The longest that it may take. A body has its limit where it is read, a review where it waits.
    fn limit(self) -> Option<Duration> {
        match self {
            Phase::Handshake => Some(MAX_HANDSHAKE_TIME),
            Phase::Idle => Some(MAX_IDLE_TIME),
            Phase::Head => Some(MAX_HEAD_TIME),
            Phase::Body | Phase::Waiting | Phase::Review => None,
            Phase::Answer => Some(MAX_ANSWER_TIME),
        }
    }
}

/// The bytes that have come since the last answer left.
#[derive(Debug, Clone, Copy)]
enum Received {
    /// A part of the head.
    Head { is_line_empty: bool },
    /// The head, and as many bytes behind it.
    Behind(u64),
}

impl Received {
    const NOTHING: Self = Received::Head {
        is_line_empty: false,
    };

    /// Adds bytes. An empty line ends the head, also one without a carriage return, as hyper reads it.
    fn add(&mut self, bytes: &[u8]) {
        let mut behind = bytes;
        while let Received::Head { is_line_empty } = self {
            let Some((byte, rest)) = behind.split_first() else {
                return;
            };
            behind = rest;
            match byte {
                b'\n' if *is_line_empty => *self = Received::Behind(0),
                b'\n' => *is_line_empty = true,
                b'\r' => {}
                _ => *is_line_empty = false,
            }
        }
        if let Received::Behind(count) = self {
            *count += behind.len() as u64;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ConnectionState {
    phase: Phase,
    since: Instant,
    /// Time in which the server waited for the client's part of this request, or for it to read the answer.
    delay: Duration,
    received: Received,
    /// Bytes of the request's body; none if only their end shows how many they are.
    length: Option<u64>,
    /// A request has been answered.
    has_served: bool,
    /// It closes after its next answer, for a new connection.
    is_evicted: bool,
}

impl ConnectionState {
    /// Returns true if the answer is the last: the connection closes for another, or more than one request has come, or may have.
    fn is_last_answer(&self) -> bool {
        match self.received {
            _ if self.is_evicted => true,
            Received::Head { .. } => false,
            Received::Behind(count) => self.length.is_none_or(|length| count > length),
        }
    }

    fn waits_for_client(&self) -> bool {
        match self.phase {
            Phase::Idle => !self.has_served,
            Phase::Handshake | Phase::Head | Phase::Body | Phase::Answer => true,
            Phase::Waiting | Phase::Review => false,
        }
    }

    /// Returns its class; none if the connection must not close.
    fn eviction(&self) -> Option<Eviction> {
        match self.phase {
            _ if self.is_evicted => None,
            Phase::Review => None,
            Phase::Waiting => Some(Eviction::Waiting),
            Phase::Idle if self.has_served => Some(Eviction::Idle),
            // Its bytes may have come, and the server has not had the time to read them.
            _ if self.delay.is_zero() => None,
            _ if self.delay <= MAX_NEW_DELAY => Some(Eviction::New),
            Phase::Answer => Some(Eviction::Unread),
            _ if self.has_served => Some(Eviction::Incomplete),
            _ => Some(Eviction::Silent),
        }
    }
}

/// The order in which connections close for new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Eviction {
    /// The client does not read its answer.
    Unread,
    /// No whole request has come.
    Silent,
    /// kube-apiserver may be about to use it.
    Idle,
    /// A part of a further request has come.
    Incomplete,
    /// The review is answered with 429, after which the API server tries again.
    Waiting,
    /// The client has hardly let the server wait.
    New,
}

/// A connection that may close for a new one.
struct Candidate<'c> {
    eviction: Eviction,
    delay: Duration,
    since: Instant,
    connection: &'c Arc<Connection>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    peer: IpAddr,
    state: Mutex<ConnectionState>,
    close: Notify,
    evict: Notify,
}

impl Connection {
    fn new(phase: Phase, peer: IpAddr) -> Self {
        let state = ConnectionState {
            phase,
            since: Instant::now(),
            delay: Duration::ZERO,
            received: Received::NOTHING,
            length: None,
            has_served: false,
            is_evicted: false,
        };
        Self {
            peer,
            state: Mutex::new(state),
            close: Notify::new(),
            evict: Notify::new(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let mut state = lock(&self.state);
        (state.phase, state.since) = (phase, Instant::now());
    }

    /// Notes the head of a request whose body has this length. Returns false if the answer before it has not left: then it has no answer.
    pub(crate) fn begin(&self, length: Option<u64>) -> bool {
        let mut state = lock(&self.state);
        if state.phase == Phase::Answer {
            return false;
        }
        (state.phase, state.since, state.length) = (Phase::Body, Instant::now(), length);
        true
    }

    /// Notes that the answer is ready. Returns true if it is the last one of the connection.
    pub(crate) fn answer(&self) -> bool {
        let mut state = lock(&self.state);
        (state.phase, state.since, state.delay) = (Phase::Answer, Instant::now(), Duration::ZERO);
        state.is_last_answer()
    }

    /// Notes that bytes have come: in an idle connection, those of a head.
    pub(crate) fn received(&self, bytes: &[u8]) {
        let mut state = lock(&self.state);
        state.received.add(bytes);
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that everything written so far has left: the answer, if there was one.
    pub(crate) fn flushed(&self) {
        let mut state = lock(&self.state);
        if state.phase != Phase::Answer {
            return;
        }
        if state.is_last_answer() {
            self.close.notify_one();
        }
        *state = ConnectionState {
            phase: Phase::Idle,
            since: Instant::now(),
            delay: Duration::ZERO,
            received: Received::NOTHING,
            has_served: true,
            ..*state
        };
    }

    /// Returns false if a request has come since the connection was idle, and was chosen to close: it has an answer before.
    pub(crate) fn must_close(&self) -> bool {
        let state = lock(&self.state);
        let is_left = matches!(state.phase, Phase::Idle | Phase::Answer);
        is_left || !state.is_evicted || !state.delay.is_zero()
    }

    /// Returns when the connection must close.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    /// Returns when the review must wait no longer.
    pub(crate) async fn evicted(&self) {
        self.evict.notified().await;
    }

    pub(crate) fn is_evicted(&self) -> bool {
        lock(&self.state).is_evicted
    }

    fn candidate(self: &Arc<Self>) -> Option<Candidate<'_>> {
        let state = lock(&self.state);
        Some(Candidate {
            eviction: state.eviction()?,
            delay: state.delay,
            since: state.since,
            connection: self,
        })
    }

    fn evict(&self, eviction: Eviction) {
        lock(&self.state).is_evicted = true;
        match eviction {
            Eviction::Waiting => self.evict.notify_one(),
            _ => self.close.notify_one(),
        }
    }

    /// Counts a tick, and closes the connection if its phase takes too long.
    fn tick(&self) {
        let mut state = lock(&self.state);
        if state.waits_for_client() {
            state.delay += TICK;
        }
        let limit = state.phase.limit();
        let is_over = limit.is_some_and(|limit| state.since.elapsed() > limit);
        if is_over || (state.is_evicted && !state.delay.is_zero()) {
            self.close.notify_one();
        }
    }
}

/// The open connections of a port.
#[derive(Debug)]
pub(crate) struct Connections {
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
pub(crate) struct OpenConnection {
    number: u64,
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

/// A new connection among the open ones.
#[derive(Debug)]
pub(crate) enum Opened {
    /// There was room.
    Open(OpenConnection),
    /// Another one closes for it.
    InPlaceOfAnother(OpenConnection),
}

impl Connections {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Counts a new connection. Where there are too many, another one closes for it. Where none may, the new one waits for a tick or
    /// for an end: the others are as new, or their reviews run.
    pub(crate) async fn open(self: &Arc<Self>, phase: Phase, peer: IpAddr) -> Opened {
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
    pub(crate) fn tick(&self) {
        for connection in lock(&self.open).connections.values() {
            connection.tick();
        }
        self.freed.notify_one();
    }

    pub(crate) fn count(&self) -> usize {
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
        let mut first: Vec<Candidate<'_>> = Vec::new();
        for candidate in self.connections.values().filter_map(Connection::candidate) {
            match first.last().map(|of| candidate.eviction.cmp(&of.eviction)) {
                Some(Ordering::Greater) => continue,
                Some(Ordering::Less) => first.clear(),
                Some(Ordering::Equal) | None => {}
            }
            first.push(candidate);
        }
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
    pub(crate) fn connection(&self) -> &Arc<Connection> {
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

/// Locks a mutex, also after a panic: the data of this module is consistent after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn is_closing(opened: &OpenConnection) -> bool {
        let close = std::pin::pin!(opened.connection.closed());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        close.poll(&mut context).is_ready()
    }

    const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";

    /// Returns true if the answer was the last.
    fn serve(opened: &OpenConnection, bytes: &[u8]) -> bool {
        opened.connection.received(bytes);
        assert!(opened.connection.begin(Some(2)));
        let is_last = opened.connection.answer();
        opened.connection.flushed();
        is_last
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
            serve(served, REQUEST);
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
                is_closing(next),
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
        assert_eq!([&first, &second].map(is_closing), [true, false]);
        assert!(is_full(&connections));
        connections.tick();
        assert!(!is_full(&connections));
    }

    #[test]
    fn a_request_that_comes_while_its_connection_is_chosen_to_close_is_answered() {
        let connections = Connections::new(1);
        let idle = opened(&connections);
        serve(&idle, REQUEST);
        let _new = opened(&connections);
        assert!(idle.connection.is_evicted() && idle.connection.must_close());
        idle.connection.received(b"P");
        assert!(!idle.connection.must_close());
        assert!(is_closing(&idle));
        connections.tick();
        assert!(is_closing(&idle) && idle.connection.must_close());
    }

    #[test]
    fn a_connection_whose_review_runs_never_closes_for_another() {
        let connections = Connections::new(1);
        let busy = opened(&connections);
        busy.connection.enter(Phase::Review);
        be_slow(&connections);
        assert!(is_full(&connections));
        assert!(!is_closing(&busy));
    }

    #[test]
    fn addresses_count_within_a_class_only() {
        let connections = Connections::new(5);
        let api_server = [(); 3].map(|()| opened(&connections));
        let stranger = IpAddr::from([127, 0, 0, 2]);
        let strangers = [(); 2].map(|()| of_peer(&connections, stranger));
        be_slow(&connections);
        serve(&api_server[0], REQUEST);
        serve(&api_server[1], REQUEST);
        let _new = opened(&connections);
        let closing = |opened: &[OpenConnection]| {
            let evicted = opened
                .iter()
                .filter(|opened| opened.connection.is_evicted());
            evicted.count()
        };
        assert_eq!((closing(&api_server), closing(&strangers)), (0, 1));
    }

    #[test]
    fn a_request_before_the_answer_has_left_ends_the_connection() {
        let connections = Connections::new(9);
        let [head, rest] = [&REQUEST[..20], &REQUEST[20..]];
        let twice = [REQUEST, REQUEST].concat();
        let with_line_feeds = String::from_utf8_lossy(REQUEST).replace('\r', "");
        for (bytes, is_last) in [
            (REQUEST, false),
            (&*twice, true),
            (&twice[..=REQUEST.len()], true),
            (with_line_feeds.as_bytes(), false),
            ((with_line_feeds.clone() + "P").as_bytes(), true),
        ] {
            let one = opened(&connections);
            assert_eq!(serve(&one, bytes), is_last);
            assert_eq!(is_closing(&one), is_last);
        }
        let one = opened(&connections);
        one.connection.received(head);
        assert!(!serve(&one, rest), "a head in two parts");
        assert!(!serve(&one, REQUEST), "a second request");
        one.connection.received(REQUEST);
        assert!(one.connection.begin(Some(2)) && !one.connection.answer());
        one.connection.received(b"P");
        assert!(!one.connection.begin(Some(2)) && !is_closing(&one));
        one.connection.flushed();
        assert!(is_closing(&one), "once the answer has left");
        let chunked = opened(&connections);
        chunked.connection.received(REQUEST);
        assert!(chunked.connection.begin(None) && chunked.connection.answer());
    }

    #[test]
    fn the_time_of_a_head_counts_from_its_first_byte() {
        let connections = Connections::new(1);
        let opened = opened(&connections);
        let state = |opened: &OpenConnection| *lock(&opened.connection.state);
        opened.connection.received(b"P");
        assert_eq!(state(&opened).phase, Phase::Head);
        let since = state(&opened).since;
        opened.connection.received(b"O");
        assert_eq!(state(&opened).since, since);
        let let_pass = |phase: Phase, limit: Duration| {
            let long_ago = Instant::now().checked_sub(limit + Duration::from_secs(1));
            let mut state = lock(&opened.connection.state);
            (state.phase, state.since) = (phase, long_ago.unwrap());
            drop(state);
            connections.tick();
            is_closing(&opened)
        };
        assert!(let_pass(Phase::Head, MAX_HEAD_TIME));
        // As long, but between two requests.
        assert!(!let_pass(Phase::Idle, MAX_HEAD_TIME));
        assert!(let_pass(Phase::Idle, MAX_IDLE_TIME));
    }
}
