//! Decisions about reviews: those of one size never wait for larger ones. A panic ends one review, not the server.

use crate::current::Current;
use crate::limits::{Body, LARGE_THREADS, MAX_WAIT_TIME, ORDINARY_THREADS, Size};
use crate::log;
use crate::metrics::InFlight;
use admission::{Answer, Hook, Malformed, Reviewer, Subject};
use config::Config;
use report::visible;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// Stack of the threads for reviews, as much as the main thread has: documents may be nested deeply.
const STACK: usize = 8 << 20;
/// Reviews after which a thread forgets what it shares between them, so that memory stays bounded.
const MAX_SHARED_REVIEWS: usize = 1000;

/// Decides about one review. Tests give one that panics.
pub type Decide = fn(&Reviewer, Hook, &[u8]) -> Result<Answer, Malformed>;

/// Answers reviews.
pub struct Engine {
    /// Works on the thread of the connections: to wake another one takes longer than to decide about a small review.
    small: RefCell<Worker>,
    ordinary: Threads,
    large: Threads,
}

/// A review, in flight until it is dropped.
pub struct Review {
    pub hook: Hook,
    pub body: Body,
    pub _in_flight: InFlight,
}

/// The answer to a review.
#[derive(Debug)]
pub struct Reply {
    pub body: Vec<u8>,
    pub decision: &'static str,
    pub is_dry_run: bool,
    pub line: DecisionLine,
}

/// The line of the log about a decision, which is written when it is dropped: also for a client that has left.
#[derive(Debug)]
pub struct DecisionLine {
    hook: Hook,
    decision: &'static str,
    subject: Subject,
    reason: String,
    is_fault: bool,
}

/// Reviews that are not answered.
#[derive(Debug)]
pub enum Unanswered {
    /// There was no turn in time.
    Busy,
    Malformed(Malformed),
    /// The thread is gone. It does not happen: panics are caught.
    Lost,
}

/// The place where a review is decided.
pub enum Turn<'e> {
    /// The caller's thread.
    Here(&'e RefCell<Worker>),
    /// A free thread.
    Thread {
        threads: &'e Threads,
        permit: OwnedSemaphorePermit,
    },
}

/// The threads for the reviews of one size.
pub struct Threads {
    free: Arc<Semaphore>,
    jobs: Sender<Job>,
}

struct Job {
    review: Review,
    permit: OwnedSemaphorePermit,
    reply: oneshot::Sender<Result<Reply, Malformed>>,
}

/// Decides about reviews on one thread, and shares work between them.
pub struct Worker {
    config: Arc<Current<Config>>,
    decide: Decide,
    reviewer: Reviewer,
    /// The number of reviews until the thread forgets what it shares.
    left: usize,
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn start(config: &Arc<Current<Config>>, decide: Decide) -> io::Result<Self> {
        let threads = |count| Threads::start(count, config, decide);
        Ok(Self {
            small: RefCell::new(Worker::new(Arc::clone(config), decide)),
            ordinary: threads(ORDINARY_THREADS)?,
            large: threads(LARGE_THREADS)?,
        })
    }

    /// Waits for a thread; a small review needs none.
    ///
    /// # Errors
    /// [`Unanswered::Busy`].
    pub async fn turn(&self, size: Size) -> Result<Turn<'_>, Unanswered> {
        let threads = match size {
            Size::Small => return Ok(Turn::Here(&self.small)),
            Size::Ordinary => &self.ordinary,
            Size::Large | Size::TooLarge => &self.large,
        };
        let free = Arc::clone(&threads.free).acquire_owned();
        match timeout(MAX_WAIT_TIME, free).await {
            Ok(Ok(permit)) => Ok(Turn::Thread { threads, permit }),
            Ok(Err(_)) => Err(Unanswered::Lost),
            Err(_) => Err(Unanswered::Busy),
        }
    }
}

impl Turn<'_> {
    /// Answers a review. A caller that waits no longer ends a review that has not begun.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn review(self, review: Review) -> Result<Reply, Unanswered> {
        let answer = match self {
            Turn::Here(worker) => worker.borrow_mut().review(&review),
            Turn::Thread { threads, permit } => {
                let (reply, answered) = oneshot::channel();
                let job = Job {
                    review,
                    permit,
                    reply,
                };
                threads.jobs.send(job).map_err(|_| Unanswered::Lost)?;
                answered.await.ok()
            }
        };
        answer
            .ok_or(Unanswered::Lost)?
            .map_err(Unanswered::Malformed)
    }
}

impl Threads {
    fn start(count: usize, config: &Arc<Current<Config>>, decide: Decide) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..count {
            let (queue, config) = (Arc::clone(&queue), Arc::clone(config));
            let work = move || Worker::new(config, decide).work(&queue);
            thread::Builder::new().stack_size(STACK).spawn(work)?;
        }
        Ok(Self {
            free: Arc::new(Semaphore::new(count)),
            jobs,
        })
    }
}

impl Worker {
    fn new(config: Arc<Current<Config>>, decide: Decide) -> Self {
        let reviewer = Reviewer::new(config.get());
        Self {
            config,
            decide,
            reviewer,
            left: MAX_SHARED_REVIEWS,
        }
    }

    /// Answers reviews until the server ends.
    fn work(&mut self, queue: &Mutex<Receiver<Job>>) {
        loop {
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Job {
                review,
                permit,
                reply,
            }) = job
            else {
                return;
            };
            if reply.is_closed() {
                continue;
            }
            let answer = self.review(&review);
            drop((review, permit));
            if let Some(answer) = answer {
                // The client may have left: then the line of the log is written here.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(reply.send(answer))));
            }
        }
    }

    /// Answers a review. Even a panic in the answer to a panic ends one review: it has none.
    fn review(&mut self, review: &Review) -> Option<Result<Reply, Malformed>> {
        catch_unwind(AssertUnwindSafe(|| self.answer(review))).ok()
    }

    /// Decides about a review.
    fn answer(&mut self, review: &Review) -> Result<Reply, Malformed> {
        let config = self.config.get();
        if self.left == 0 || !Arc::ptr_eq(self.reviewer.config(), &config) {
            self.forget(config);
        }
        self.left -= 1;
        let (hook, body) = (review.hook, review.body.bytes());
        let decide = || match review.body.size() {
            Size::TooLarge => self.reviewer.too_large(hook, body),
            Size::Small | Size::Ordinary | Size::Large => (self.decide)(&self.reviewer, hook, body),
        };
        let answer = match catch_unwind(AssertUnwindSafe(decide)) {
            Ok(answer) => answer,
            Err(_) => {
                // The panic may have left the reviewer half changed.
                self.forget(self.config.get());
                admission::fault(body, log::last_panic())
            }
        };
        let Answer {
            body,
            decision,
            subject,
            message,
            is_fault,
        } = answer?;
        Ok(Reply {
            body,
            decision,
            is_dry_run: subject.is_dry_run,
            line: DecisionLine {
                hook,
                decision,
                subject,
                reason: message,
                is_fault,
            },
        })
    }

    /// Drops what the reviews so far share.
    fn forget(&mut self, config: Arc<Config>) {
        self.reviewer = Reviewer::new(config);
        self.left = MAX_SHARED_REVIEWS;
    }
}

impl Drop for DecisionLine {
    fn drop(&mut self) {
        /// As long as Kubernetes allows a name.
        const MAX_NAME: usize = 253;
        const MAX_REASON: usize = 1000;
        let Self {
            hook,
            decision,
            subject,
            reason,
            is_fault,
        } = self;
        let Subject {
            kind,
            namespace,
            name,
            is_dry_run: dry_run,
        } = subject;
        let hook = hook.name();
        let kind = &*visible(short(kind, MAX_NAME));
        let name = &*visible(short(name, MAX_NAME));
        let namespace = &*visible(short(namespace.as_deref().unwrap_or_default(), MAX_NAME));
        let reason = &*visible(short(reason, MAX_REASON));
        if *is_fault {
            tracing::error!(
                hook, decision, kind, namespace, name, dry_run, reason, "reviewed"
            );
        } else {
            tracing::info!(
                hook, decision, kind, namespace, name, dry_run, reason, "reviewed"
            );
        }
    }
}

/// Returns the first `max` characters of a text: callers may send anything.
fn short(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use std::rc::Rc;
    use std::time::Duration;

    const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7","operation":"CREATE",
        "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
        "namespace":"shop","object":{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"web","image":"PLANTED"}]}}}}"#;

    fn planted(reviewer: &Reviewer, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        assert!(
            !body.windows(7).any(|window| window == b"PLANTED"),
            "a panic that quotes a password"
        );
        reviewer.answer(hook, body)
    }

    fn slow(reviewer: &Reviewer, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        if body.windows(7).any(|window| window == b"PLANTED") {
            thread::sleep(MAX_WAIT_TIME * 3 / 2);
        }
        reviewer.answer(hook, body)
    }

    fn review(text: &str) -> Review {
        let mut body = Body::new(None, &Arc::default());
        body.extend(text.as_bytes()).unwrap();
        Review {
            hook: Hook::Mutate,
            body,
            _in_flight: Metrics::new().in_flight(),
        }
    }

    /// A review of this size.
    fn padded(text: &str, size: Size) -> Review {
        let blanks = match size {
            Size::Small => 0,
            Size::Ordinary => 100 << 10,
            _ => 2 << 20,
        };
        let review = review(&(text.to_owned() + &" ".repeat(blanks)));
        assert_eq!(review.body.size(), size);
        review
    }

    fn engine(decide: Decide) -> Engine {
        Engine::start(&Arc::new(Current::new(Config::default())), decide).unwrap()
    }

    async fn answer(engine: &Engine, review: Review) -> Result<Reply, Unanswered> {
        engine.turn(review.body.size()).await?.review(review).await
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn a_panic_allows_the_pod_and_the_next_review_is_answered() {
        let engine = engine(planted);
        block_on(async {
            for size in [Size::Small, Size::Ordinary, Size::Large] {
                let reply = answer(&engine, padded(REVIEW, size)).await.unwrap();
                let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
                assert_eq!(reply.decision, "internal-error");
                assert_eq!(
                    (&body["response"]["allowed"], &body["response"]["uid"]),
                    (&true.into(), &"7".into())
                );
                assert_eq!(
                    body["response"]["auditAnnotations"]["decision"],
                    "internal-error"
                );
                assert!(body["response"].get("patch").is_none());
                assert!(!body.to_string().contains("password"));
                let reply =
                    answer(&engine, padded(&REVIEW.replace("PLANTED", "web:1"), size)).await;
                assert_eq!(reply.unwrap().decision, "injected");
            }
        });
    }

    #[test]
    fn a_large_review_waits_a_second_for_its_turn_and_others_do_not_wait_for_it() {
        let engine = Rc::new(engine(slow));
        let plain = REVIEW.replace("PLANTED", "web:1");
        block_on(tokio::task::LocalSet::new().run_until(async {
            let start = |review: Review| {
                let engine = Rc::clone(&engine);
                tokio::task::spawn_local(async move { answer(&engine, review).await })
            };
            let (busy, late) = (
                start(padded(REVIEW, Size::Large)),
                start(padded(&plain, Size::Large)),
            );
            for size in [Size::Small, Size::Ordinary] {
                assert_eq!(
                    start(padded(&plain, size)).await.unwrap().unwrap().decision,
                    "injected"
                );
            }
            assert!(!busy.is_finished());
            assert!(matches!(late.await.unwrap(), Err(Unanswered::Busy)));
            assert_eq!(busy.await.unwrap().unwrap().decision, "injected");
        }));
    }

    /// A client that leaves drops the future. Its review is in flight until the thread has finished it, and has its turn until then.
    #[test]
    fn a_review_whose_client_has_left_is_in_flight_until_it_ends() {
        let (engine, metrics) = (engine(slow), Metrics::new());
        let in_flight = || metrics.text().contains("requests_in_flight 1");
        block_on(async {
            let review = Review {
                _in_flight: metrics.in_flight(),
                ..padded(REVIEW, Size::Large)
            };
            let left = timeout(Duration::from_millis(200), answer(&engine, review)).await;
            assert!(left.is_err() && in_flight());
            assert!(matches!(
                answer(&engine, padded(REVIEW, Size::Large)).await,
                Err(Unanswered::Busy)
            ));
            let next = answer(
                &engine,
                padded(&REVIEW.replace("PLANTED", "web:1"), Size::Large),
            )
            .await;
            assert_eq!(next.unwrap().decision, "injected");
            assert!(!in_flight());
        });
    }

    #[test]
    fn a_changed_configuration_holds_from_the_next_review_on() {
        let current = Arc::new(Current::new(Config::default()));
        let engine =
            Engine::start(&current, |reviewer, hook, body| reviewer.answer(hook, body)).unwrap();
        let decision = || block_on(answer(&engine, review(REVIEW))).unwrap().decision;
        assert_eq!(decision(), "injected");
        let mut config = Config::default();
        config.spec.injection = config::InjectionMode::Disabled;
        current.set(config);
        assert_eq!(decision(), "disabled");
    }

    #[test]
    fn names_are_cut_at_a_character() {
        assert_eq!(short("web", 253), "web");
        assert_eq!(short(&"あ".repeat(300), 253), "あ".repeat(253));
    }
}
