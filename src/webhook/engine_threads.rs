//! The threads on which reviews are decided about, a few at a time. A panic ends one review, not the server.

use crate::admission::{self, Answer, Hook, Malformed, Reviewer, Subject};
use crate::config::Config;
use crate::webhook::limits::{Body, MAX_LARGE_REVIEWS, MAX_ORDINARY_REVIEWS, MAX_WAIT_TIME, Size};
use crate::webhook::log;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// Bytes of a thread's stack, as many as the main thread has: documents may be nested deeply.
const STACK: usize = 8 << 20;
/// Reviews after which a thread forgets what it shares between them, so that memory stays bounded.
const MAX_SHARED_REVIEWS: usize = 1000;

/// Decides about one review. Tests give one that panics.
pub(crate) type Decide = for<'r, 'c> fn(&'r Reviewer<'c>, Hook, &[u8]) -> Result<Answer, Malformed>;

/// The configuration that reviews are decided by.
#[derive(Debug)]
pub(crate) struct CurrentConfig(RwLock<Arc<Config>>);

/// The engine's threads.
pub(crate) struct EngineThreads {
    ordinary: Lane,
    large: Lane,
}

/// Threads for reviews of one size.
struct Lane {
    turns: Arc<Semaphore>,
    idle: IdleThreads,
}

/// The channels of the threads that have nothing to do. The last one to finish is the first to get a job: its caches are
/// warm, and threads that are not needed take no memory.
type IdleThreads = Arc<Mutex<Vec<Sender<Job>>>>;

struct Job {
    hook: Hook,
    body: Body,
    reply: oneshot::Sender<Result<Reply, Malformed>>,
    turn: OwnedSemaphorePermit,
}

/// The answer to a review.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    pub(crate) decision: &'static str,
    pub(crate) is_dry_run: bool,
}

/// Reviews that are not answered.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// There was no turn in time.
    Busy,
    Malformed(Malformed),
    /// The thread is gone. It does not happen: panics are caught.
    Lost,
}

impl CurrentConfig {
    pub(crate) fn new(config: Config) -> Self {
        Self(RwLock::new(Arc::new(config)))
    }

    pub(crate) fn get(&self) -> Arc<Config> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, config: Config) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}

impl EngineThreads {
    /// Starts the threads.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub(crate) fn start(config: &Arc<CurrentConfig>, decide: Decide) -> io::Result<Self> {
        let ordinary = Lane::start("review", MAX_ORDINARY_REVIEWS, config, decide)?;
        let large = Lane::start("large-review", MAX_LARGE_REVIEWS, config, decide)?;
        Ok(Self { ordinary, large })
    }

    /// Waits for a turn, and for the answer.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(crate) async fn review(&self, hook: Hook, body: Body) -> Result<Reply, Unanswered> {
        let lane = match body.size() {
            Size::Ordinary => &self.ordinary,
            Size::Large => &self.large,
        };
        let turn = timeout(MAX_WAIT_TIME, Arc::clone(&lane.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Unanswered::Busy)?.map_err(|_| Unanswered::Lost)?;
        let (reply, answer) = oneshot::channel();
        // A turn stands for an idle thread.
        let thread = lock(&lane.idle).pop().ok_or(Unanswered::Lost)?;
        thread.send(Job { hook, body, reply, turn }).map_err(|_| Unanswered::Lost)?;
        answer.await.map_err(|_| Unanswered::Lost)?.map_err(Unanswered::Malformed)
    }
}

impl Lane {
    fn start(name: &str, threads: usize, config: &Arc<CurrentConfig>, decide: Decide) -> io::Result<Self> {
        let idle = IdleThreads::default();
        for _ in 0..threads {
            let (jobs, queue) = channel();
            lock(&idle).push(jobs.clone());
            let (idle, config) = (Arc::clone(&idle), Arc::clone(config));
            let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
            thread.spawn(move || work(&queue, &jobs, &idle, &config, decide))?;
        }
        Ok(Self { turns: Arc::new(Semaphore::new(threads)), idle })
    }
}

/// Takes jobs for as long as the program runs.
fn work(queue: &Receiver<Job>, own: &Sender<Job>, idle: &IdleThreads, current: &CurrentConfig, decide: Decide) {
    let mut waiting = queue.recv().ok();
    while waiting.is_some() {
        let config = current.get();
        let reviewer = Reviewer::new(&config);
        for _ in 0..MAX_SHARED_REVIEWS {
            let Some(job) = waiting.take() else { return };
            let is_sound = job.run(&reviewer, decide, || lock(idle).push(own.clone()));
            waiting = queue.recv().ok();
            if !is_sound || !Arc::ptr_eq(&config, &current.get()) {
                break;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    /// Answers, then logs, then is done. Returns false after a panic, which may have left the reviewer half changed.
    fn run(self, reviewer: &Reviewer<'_>, decide: Decide, done: impl FnOnce()) -> bool {
        let Job { hook, body, reply, turn } = self;
        let decided = catch_unwind(AssertUnwindSafe(|| decide(reviewer, hook, body.bytes())));
        let is_sound = decided.is_ok();
        let answer = decided.unwrap_or_else(|_| {
            let place = log::panic_place().unwrap_or_else(|| "an unknown place".to_owned());
            admission::fault(body.bytes(), format!("panic at {place}"))
        });
        let (answer, logged) = match answer {
            Ok(Answer { body, decision, subject, message, is_fault }) => {
                let is_dry_run = subject.is_dry_run;
                (Ok(Reply { body, decision, is_dry_run }), Some((decision, subject, message, is_fault)))
            }
            Err(malformed) => (Err(malformed), None),
        };
        drop(body);
        // The client may be gone.
        let _ = reply.send(answer);
        if let Some((decision, subject, reason, is_fault)) = logged {
            let Subject { kind, namespace, name, is_dry_run } = subject;
            let (hook, dry_run) = (hook.name(), is_dry_run);
            let (kind, name) = (short(&kind), short(&name));
            let namespace = short(namespace.as_deref().unwrap_or_default());
            if is_fault {
                tracing::error!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
            } else {
                tracing::info!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
            }
        }
        // Before the turn ends, so that a turn always finds a thread.
        done();
        drop(turn);
        is_sound
    }
}

/// A name as long as Kubernetes allows one: callers may send anything.
fn short(name: &str) -> &str {
    const MAX_NAME: usize = 253;
    name.char_indices().nth(MAX_NAME).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::limits::Bodies;

    const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7","operation":"CREATE",
        "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
        "namespace":"shop","object":{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"web","image":"PLANTED"}]}}}}"#;

    fn planted(reviewer: &Reviewer<'_>, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        assert!(!body.windows(7).any(|window| window == b"PLANTED"), "a panic that quotes a password");
        reviewer.answer(hook, body)
    }

    fn slow(reviewer: &Reviewer<'_>, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        if body.windows(7).any(|window| window == b"PLANTED") {
            thread::sleep(MAX_WAIT_TIME * 3 / 2);
        }
        reviewer.answer(hook, body)
    }

    fn body(text: &str) -> Body {
        let mut body = Body::new(Some(text.len()), &Arc::new(Bodies::default()));
        body.extend(text.as_bytes()).unwrap();
        body
    }

    /// One turn after another, on the thread that panicked too.
    #[test]
    fn a_panic_allows_the_pod_and_the_threads_serve_on() {
        let config = Arc::new(CurrentConfig::new(Config::default()));
        let engine = EngineThreads::start(&config, planted).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            for _ in 0..2 * MAX_ORDINARY_REVIEWS {
                let reply = engine.review(Hook::Mutate, body(REVIEW)).await.unwrap();
                let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
                assert_eq!(reply.decision, "internal-error");
                assert_eq!((&answer["response"]["allowed"], &answer["response"]["uid"]), (&true.into(), &"7".into()));
                assert_eq!(answer["response"]["auditAnnotations"]["decision"], "internal-error");
                assert!(answer["response"].get("patch").is_none());
                assert!(!answer.to_string().contains("password"));
            }
            let reply = engine.review(Hook::Mutate, body(&REVIEW.replace("PLANTED", "web:1"))).await.unwrap();
            assert_eq!(reply.decision, "injected");
        });
    }

    #[test]
    fn a_review_waits_a_second_for_its_turn_and_large_ones_have_their_own() {
        let config = Arc::new(CurrentConfig::new(Config::default()));
        let engine = Arc::new(EngineThreads::start(&config, slow).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let review = |body: Body| {
                let engine = Arc::clone(&engine);
                tokio::spawn(async move { engine.review(Hook::Mutate, body).await })
            };
            let busy: Vec<_> = (0..MAX_ORDINARY_REVIEWS).map(|_| review(body(REVIEW))).collect();
            let late = review(body(&REVIEW.replace("PLANTED", "web:1")));
            let mut large = Body::new(None, &Arc::new(Bodies::default()));
            large.extend(REVIEW.replace("PLANTED", "web:1").as_bytes()).unwrap();
            assert_eq!(review(large).await.unwrap().unwrap().decision, "injected");
            assert!(matches!(late.await.unwrap(), Err(Unanswered::Busy)));
            for reply in busy {
                assert_eq!(reply.await.unwrap().unwrap().decision, "injected");
            }
        });
    }

    #[test]
    fn names_are_cut_at_a_character() {
        assert_eq!(short("web"), "web");
        assert_eq!(short(&"あ".repeat(300)), "あ".repeat(253));
    }
}
