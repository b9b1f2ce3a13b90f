//! The open connections of a port: the phase of each, the time that a phase may take, and which one closes for a new one.

use crate::webhook::limits::{
    MAX_ANSWER_TIME, MAX_ANSWER_TIME_WHEN_FULL, MAX_HANDSHAKE_TIME, MAX_HEAD_TIME, MAX_IDLE_TIME,
};
use std::collections::BTreeMap;
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

#[derive(Debug, Clone, Copy)]
struct ConnectionState {
    phase: Phase,
    since: Instant,
    /// A request has been answered.
    has_served: bool,
    /// It closes after its next answer, for a new connection.
    is_evicted: bool,
}

/// The order in which connections close for new ones. Those that never brought a request are first: kube-apiserver may be about
/// to use one of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Eviction {
    NeverServed,
    Idle,
    /// A part of a request has come.
    Incomplete,
    /// The client does not read its answer.
    Unread,
    /// The review is answered with 429, after which the API server tries again.
    Waiting,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    state: Mutex<ConnectionState>,
    close: Notify,
    evict: Notify,
}

impl Connection {
    fn new(phase: Phase) -> Self {
        let state = ConnectionState {
            phase,
            since: Instant::now(),
            has_served: false,
            is_evicted: false,
        };
        Self {
            state: Mutex::new(state),
            close: Notify::new(),
            evict: Notify::new(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let mut state = lock(&self.state);
        (state.phase, state.since) = (phase, Instant::now());
    }

    /// Notes that bytes have come: in an idle connection, those of a head.
    pub(crate) fn received(&self) {
        let mut state = lock(&self.state);
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that everything written so far has left: the answer, if there was one.
    pub(crate) fn flushed(&self) {
        let mut state = lock(&self.state);
        if state.phase == Phase::Answer {
            *state = ConnectionState {
                phase: Phase::Idle,
                since: Instant::now(),
                has_served: true,
                ..*state
            };
        }
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

    /// Returns the place in the order in which connections close; none if it must not.
    fn eviction(&self) -> Option<(Eviction, Instant)> {
        let ConnectionState {
            phase,
            since,
            has_served,
            is_evicted,
        } = *lock(&self.state);
        let eviction = match phase {
            _ if is_evicted => return None,
            Phase::Review => return None,
            Phase::Answer if since.elapsed() < MAX_ANSWER_TIME_WHEN_FULL => return None,
            Phase::Answer => Eviction::Unread,
            Phase::Waiting => Eviction::Waiting,
            Phase::Handshake | Phase::Idle | Phase::Head | Phase::Body if !has_served => {
                Eviction::NeverServed
            }
            Phase::Handshake | Phase::Idle => Eviction::Idle,
            Phase::Head | Phase::Body => Eviction::Incomplete,
        };
        Some((eviction, since))
    }

    fn evict(&self, eviction: Eviction) {
        lock(&self.state).is_evicted = true;
        match eviction {
            Eviction::Waiting => self.evict.notify_one(),
            _ => self.close.notify_one(),
        }
    }

    fn is_over(&self) -> bool {
        let ConnectionState { phase, since, .. } = *lock(&self.state);
        phase.limit().is_some_and(|limit| since.elapsed() > limit)
    }
}

/// The open connections of a port.
#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    open: Mutex<OpenConnections>,
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
    /// Reviews of all others run.
    Full,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
        })
    }

    /// Counts a new connection. Where there are too many, the one that has waited longest for its client closes.
    pub(crate) fn open(self: &Arc<Self>, phase: Phase) -> Opened {
        let mut open = lock(&self.open);
        let is_full = open.connections.len() >= self.max && open.count() >= self.max;
        if is_full {
            let connections = open.connections.values();
            let evictable =
                connections.filter_map(|connection| Some((connection.eviction()?, connection)));
            let Some(((eviction, _), connection)) = evictable.min_by_key(|(order, _)| *order)
            else {
                return Opened::Full;
            };
            connection.evict(eviction);
        }
        let (number, connection) = (open.next, Arc::new(Connection::new(phase)));
        open.next += 1;
        open.connections.insert(number, Arc::clone(&connection));
        let opened = OpenConnection {
            number,
            connection,
            connections: Arc::clone(self),
        };
        if is_full {
            Opened::InPlaceOfAnother(opened)
        } else {
            Opened::Open(opened)
        }
    }

    /// Closes the connections whose phase takes too long.
    pub(crate) fn close_overdue(&self) {
        for connection in lock(&self.open)
            .connections
            .values()
            .filter(|connection| connection.is_over())
        {
            connection.close.notify_one();
        }
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
    }
}

/// Locks a mutex, also after a panic: the data of this module is consistent after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(connections: &Arc<Connections>) -> OpenConnection {
        match connections.open(Phase::Idle) {
            Opened::Open(opened) | Opened::InPlaceOfAnother(opened) => opened,
            Opened::Full => panic!("full"),
        }
    }

    fn is_closing(opened: &OpenConnection) -> bool {
        let close = std::pin::pin!(opened.connection.closed());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        close.poll(&mut context).is_ready()
    }

    fn serve(opened: &OpenConnection) {
        opened.connection.received();
        opened.connection.enter(Phase::Body);
        opened.connection.enter(Phase::Answer);
        opened.connection.flushed();
    }

    #[test]
    fn the_longest_idle_one_closes_and_those_that_never_served_come_first() {
        let connections = Connections::new(3);
        let old = opened(&connections);
        serve(&old);
        let (silent, busy) = (opened(&connections), opened(&connections));
        busy.connection.enter(Phase::Review);
        let new = opened(&connections);
        assert_eq!([&old, &silent, &busy].map(is_closing), [false, true, false]);
        serve(&new);
        let _newer = opened(&connections);
        assert_eq!([&old, &busy, &new].map(is_closing), [true, false, false]);
        drop(silent);
        assert_eq!(connections.count(), 3);
    }

    #[test]
    fn a_connection_whose_review_runs_never_closes_for_another() {
        let connections = Connections::new(1);
        let busy = opened(&connections);
        busy.connection.enter(Phase::Review);
        assert!(matches!(connections.open(Phase::Handshake), Opened::Full));
        assert!(!is_closing(&busy));
    }

    #[test]
    fn a_waiting_review_gives_its_connection_away_after_unread_answers() {
        let long_ago = |since: Duration| Instant::now().checked_sub(since).unwrap();
        let connections = Connections::new(2);
        let (waiting, unread) = (opened(&connections), opened(&connections));
        waiting.connection.enter(Phase::Waiting);
        unread.connection.enter(Phase::Answer);
        lock(&unread.connection.state).since = long_ago(2 * MAX_ANSWER_TIME_WHEN_FULL);
        let new = opened(&connections);
        assert_eq!(
            [&waiting, &unread].map(|one| one.connection.is_evicted()),
            [false, true]
        );
        // An answer that the client has had no time to read stays.
        new.connection.enter(Phase::Answer);
        let newer = opened(&connections);
        assert_eq!(
            [&waiting, &new].map(|one| one.connection.is_evicted()),
            [true, false]
        );
        assert!(!is_closing(&waiting), "it is answered first");
        newer.connection.enter(Phase::Review);
        assert!(matches!(connections.open(Phase::Handshake), Opened::Full));
        assert_eq!(connections.count(), 2);
    }

    #[test]
    fn the_time_of_a_head_counts_from_its_first_byte() {
        let connections = Connections::new(1);
        let opened = opened(&connections);
        let state = |opened: &OpenConnection| lock(&opened.connection.state).phase;
        opened.connection.received();
        assert_eq!(state(&opened), Phase::Head);
        let since = lock(&opened.connection.state).since;
        opened.connection.received();
        assert_eq!(lock(&opened.connection.state).since, since);
        let long_ago = |limit: Duration| {
            Instant::now()
                .checked_sub(limit + Duration::from_secs(1))
                .unwrap()
        };
        lock(&opened.connection.state).since = long_ago(MAX_HEAD_TIME);
        assert!(opened.connection.is_over());
        connections.close_overdue();
        assert!(is_closing(&opened));
        // As long, but between two requests.
        lock(&opened.connection.state).phase = Phase::Idle;
        assert!(!opened.connection.is_over());
        lock(&opened.connection.state).since = long_ago(MAX_IDLE_TIME);
        assert!(opened.connection.is_over());
    }
}
