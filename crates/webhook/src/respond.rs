//! Requests to the hooks, and their HTTP status.

use crate::connection::{Connection, Phase};
use crate::engine::{Engine, Reply, Review, Unanswered};
use crate::limits::{Body, MAX_BODY_TIME, NoRoom, Traffic, UnreadAnswer};
use crate::metrics::{Limit, Metrics};
use admission::Hook;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER,
};
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::task::spawn_local;
use tokio::time::timeout;

/// Shared by the requests of all connections.
pub struct Responder {
    pub engine: Engine,
    pub traffic: Arc<Traffic>,
    pub metrics: Arc<Metrics>,
    /// Connections are to close, so that clients come back to another server.
    pub is_draining: Arc<AtomicBool>,
}

/// A request that is answered without a review.
#[derive(Debug, PartialEq, Eq)]
enum RequestError {
    NotFound,
    NotPost,
    NotJson,
    TooLong,
    /// The body did not come in time.
    Slow,
    /// The body did not come whole.
    Broken,
    Busy(Limit),
    Malformed(String),
    /// The engine's thread is gone.
    Lost,
}

impl RequestError {
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            RequestError::Broken | RequestError::Malformed(_) => (StatusCode::BAD_REQUEST, "400"),
            RequestError::NotFound => (StatusCode::NOT_FOUND, "404"),
            RequestError::NotPost => (StatusCode::METHOD_NOT_ALLOWED, "405"),
            RequestError::Slow => (StatusCode::REQUEST_TIMEOUT, "408"),
            RequestError::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "413"),
            RequestError::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "415"),
            RequestError::Busy(_) => (StatusCode::TOO_MANY_REQUESTS, "429"),
            // The API server takes 503 with `Retry-After` as it takes 429.
            RequestError::Lost => (StatusCode::SERVICE_UNAVAILABLE, "503"),
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            RequestError::NotPost => Some((ALLOW, HeaderValue::from_static("POST"))),
            RequestError::Busy(_) | RequestError::Lost => {
                Some((RETRY_AFTER, HeaderValue::from_static("1")))
            }
            _ => None,
        }
    }

    fn sentence(&self) -> &str {
        match self {
            RequestError::NotFound => "unknown path; the hooks are /mutate, /warn and /wait-for",
            RequestError::NotPost => "hooks support POST only",
            RequestError::NotJson => "hooks require the content type application/json",
            RequestError::TooLong => {
                "the body is longer than 7 MiB, and does not begin as an AdmissionReview"
            }
            RequestError::Slow => "the body was not received in time",
            RequestError::Broken => "the body is incomplete",
            RequestError::Busy(_) => "too many requests; try again",
            RequestError::Malformed(message) => message,
            RequestError::Lost => "the review was not answered",
        }
    }
}

impl Responder {
    /// Answers one request.
    pub async fn respond(
        &self,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        let mut response = match self.review(request, connection, started).await {
            Ok(body) => json(body),
            Err(error) => {
                self.metrics.refused(error.status().1);
                // The connection that closes for another is counted there.
                if let RequestError::Busy(limit) = error
                    && !connection.is_evicted()
                {
                    self.metrics.shed(limit);
                }
                text(&error)
            }
        };
        if self.is_draining.load(Ordering::Relaxed) {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn review(
        &self,
        request: Request<Incoming>,
        connection: &Connection,
        started: Instant,
    ) -> Result<Bytes, RequestError> {
        let hook = Hook::ALL
            .into_iter()
            .find(|hook| hook.path() == request.uri().path())
            .ok_or(RequestError::NotFound)?;
        if request.method() != Method::POST {
            return Err(RequestError::NotPost);
        }
        if !is_json(request.headers()) {
            return Err(RequestError::NotJson);
        }
        let length = content_length(request.headers());
        let body = timeout(MAX_BODY_TIME, self.read(request.into_body(), length))
            .await
            .map_err(|_| RequestError::Slow)??;
        connection.enter(Phase::Waiting);
        let is_cut = body.is_cut();
        let review = Review {
            hook,
            body,
            _in_flight: self.metrics.in_flight(),
        };
        let turn = tokio::select! {
            turn = self.engine.turn(review.body.size()) => turn?,
            () = connection.evicted() => return Err(RequestError::Busy(Limit::Connections)),
        };
        connection.enter(Phase::Review);
        let reply = turn
            .review(review)
            .await
            .map_err(|unanswered| match unanswered {
                Unanswered::Malformed(_) if is_cut => RequestError::TooLong,
                other => other.into(),
            })?;
        let Reply {
            body,
            decision,
            is_dry_run,
            line,
        } = reply;
        // The log's thread often takes the processor from this one, so the answer goes to the client before the line is written.
        spawn_local(async move { drop(line) });
        let answer = UnreadAnswer::new(body, &self.traffic)
            .map_err(|NoRoom| RequestError::Busy(Limit::Answers))?;
        self.metrics
            .reviewed(hook.name(), decision, is_dry_run, started.elapsed());
        Ok(Bytes::from_owner(answer))
    }

    async fn read(
        &self,
        mut incoming: Incoming,
        promised: Option<usize>,
    ) -> Result<Body, RequestError> {
        let mut body = Some(Body::new(promised, &self.traffic));
        while let Some(frame) = incoming.frame().await {
            let Ok(data) = frame.map_err(|_| RequestError::Broken)?.into_data() else {
                continue;
            };
            // The rest is read all the same: closing a connection with unread bytes resets it, and the API server would see
            // that instead of the status after which it tries again.
            if body
                .as_mut()
                .is_some_and(|body| body.extend(&data).is_err())
            {
                body = None;
            }
        }
        body.ok_or(RequestError::Busy(Limit::Bodies))
    }
}

impl From<Unanswered> for RequestError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Busy => RequestError::Busy(Limit::Reviews),
            Unanswered::Malformed(malformed) => RequestError::Malformed(malformed.to_string()),
            Unanswered::Lost => RequestError::Lost,
        }
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// `application/json`, with or without parameters such as the charset.
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|content_type| content_type.split(';').next())
        .is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

fn json(body: Bytes) -> Response<Full<Bytes>> {
    with_content_type(body, "application/json")
}

fn text(error: &RequestError) -> Response<Full<Bytes>> {
    let (status, _) = error.status();
    let mut response = plain(status, error.sentence());
    if let Some((name, value)) = error.header() {
        response.headers_mut().insert(name, value);
    }
    response
}

/// One sentence.
pub fn plain(status: StatusCode, sentence: &str) -> Response<Full<Bytes>> {
    let body = format!("{sentence}\n").into();
    let mut response = with_content_type(body, "text/plain; charset=utf-8");
    *response.status_mut() = status;
    response
}

pub fn with_content_type(body: Bytes, content_type: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_may_have_parameters() {
        let with = |value: &'static str| {
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))])
        };
        for value in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON ;a=b",
        ] {
            assert!(is_json(&with(value)), "{value}");
        }
        for value in [
            "",
            "application/yaml",
            "application/json-patch+json",
            "text/plain; application/json",
        ] {
            assert!(!is_json(&with(value)), "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
