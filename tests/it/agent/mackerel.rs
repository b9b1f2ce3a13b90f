//! A fake of the Mackerel API, as far as the agent calls it, with the rules that mackerel.io/api-docs publishes.

use super::http::{HttpRequest, StatusAndBody};
use regex_lite::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Mutex;

/// The statuses of a host that is not retired.
const STATUSES: [&str; 4] = ["working", "standby", "maintenance", "poweroff"];

/// An organization of Mackerel with one API key.
pub(super) struct Mackerel {
    key: String,
    /// The hosts as the API shows them.
    hosts: Mutex<Vec<Value>>,
    calls: Mutex<Vec<MackerelCall>>,
}

/// A request and the status of its answer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct MackerelCall {
    /// `POST /api/v0/hosts`, with the parameters.
    pub(super) request: String,
    #[serde(default)]
    pub(super) body: Value,
    #[serde(skip)]
    pub(super) status: u16,
}

/// The status and reason of a refusal.
type Refusal = (u16, &'static str);

impl Mackerel {
    pub(super) fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            hosts: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    pub(super) fn hosts(&self) -> Vec<Value> {
        self.hosts.lock().unwrap().clone()
    }

    pub(super) fn calls(&self) -> Vec<MackerelCall> {
        self.calls.lock().unwrap().clone()
    }

    pub(super) fn answer(&self, request: &HttpRequest) -> StatusAndBody {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let (status, answer) = match self.decide(request, &body) {
            Ok(answer) => (200, answer),
            Err((status, why)) => (status, json!({"error": {"message": why}})),
        };
        let question = if request.query.is_empty() { "" } else { "?" };
        let request = format!(
            "{} {}{question}{}",
            request.method, request.path, request.query
        );
        self.calls.lock().unwrap().push(MackerelCall {
            request,
            body,
            status,
        });
        (status, answer.to_string().into_bytes())
    }

    fn decide(&self, request: &HttpRequest, body: &Value) -> Result<Value, Refusal> {
        if request.header("X-Api-Key") != Some(&self.key) {
            return Err((403, "Authentication failed. Please try with valid Api Key."));
        }
        // The JSON text `null` is a body, as the agent sends it to retire its host.
        if request.method != "GET" && serde_json::from_slice::<IgnoredAny>(&request.body).is_err() {
            return Err((400, "the body is no JSON"));
        }
        let mut hosts = self.hosts.lock().unwrap();
        let path = request.path.strip_prefix("/api/v0/").unwrap_or_default();
        let words: Vec<&str> = path.split('/').collect();
        match (&*request.method, &*words) {
            ("GET", ["hosts"]) => Ok(json!({"hosts": found(&hosts, &request.query)})),
            ("POST", ["hosts"]) => {
                valid(body)?;
                let identifier =
                    Some(&body["customIdentifier"]).filter(|identifier| identifier.is_string());
                let mut in_use = hosts.iter().filter(|host| host["isRetired"] == false);
                if identifier.is_some()
                    && in_use.any(|host| Some(&host["customIdentifier"]) == identifier)
                {
                    return Err((400, "customIdentifier is taken"));
                }
                let id = format!("host{}", hosts.len() + 1);
                hosts.push(shown(&id, body));
                Ok(json!({"id": id}))
            }
            ("POST", ["tsdb"]) => {
                let values = body.as_array().ok_or((400, "metrics are an array"))?;
                values.iter().try_for_each(|value| metric(&hosts, value))?;
                Ok(json!({"success": true}))
            }
            (method, ["hosts", id, rest @ ..]) => {
                let known = |host: &&mut Value| host["id"] == *id && host["isRetired"] == false;
                let host = hosts
                    .iter_mut()
                    .find(known)
                    .ok_or((404, "host not found"))?;
                match (method, rest) {
                    ("GET", []) => Ok(json!({"host": host})),
                    ("PUT", []) => {
                        valid(body)?;
                        *host = shown(id, body);
                        Ok(json!({"id": id}))
                    }
                    ("POST", ["status"]) => {
                        let status = body["status"]
                            .as_str()
                            .filter(|status| STATUSES.contains(status));
                        host["status"] = status.ok_or((400, "status is invalid"))?.into();
                        Ok(json!({"success": true}))
                    }
                    ("POST", ["retire"]) => {
                        host["isRetired"] = true.into();
                        Ok(json!({"success": true}))
                    }
                    _ => Err((404, "no such method")),
                }
            }
            _ => Err((404, "no such path")),
        }
    }
}

/// The hosts that a search finds, by identifier and status.
fn found(hosts: &[Value], query: &str) -> Vec<Value> {
    let parameters: Vec<(&str, &str)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let given = |name: &str| -> Vec<&str> {
        parameters
            .iter()
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| *value)
            .collect()
    };
    let (identifiers, mut statuses) = (given("customIdentifier"), given("status"));
    if statuses.is_empty() {
        statuses = vec!["working", "standby"];
    }
    let is = |host: &Value, field: &str, values: &[&str]| {
        values.iter().any(|value| host[field] == **value)
    };
    let hosts = hosts
        .iter()
        .filter(|host| host["isRetired"] == false && is(host, "status", &statuses));
    hosts
        .filter(|host| identifiers.is_empty() || is(host, "customIdentifier", &identifiers))
        .cloned()
        .collect()
}

fn shown(id: &str, body: &Value) -> Value {
    let mut host = body.clone();
    host["id"] = id.into();
    host["status"] = "working".into();
    host["isRetired"] = false.into();
    host["type"] = "agent".into();
    host["createdAt"] = 0.into();
    host["roles"] = json!({});
    host
}

/// Refuses a host that the API would refuse.
fn valid(body: &Value) -> Result<(), Refusal> {
    if body["name"].as_str().is_none_or(str::is_empty) {
        return Err((400, "name is a string"));
    }
    if !body["meta"].is_object() {
        return Err((400, "meta is an object"));
    }
    if ["displayName", "customIdentifier", "memo"]
        .iter()
        .any(|key| !body[*key].is_null() && !body[*key].is_string())
    {
        return Err((400, "displayName, customIdentifier and memo are strings"));
    }
    // The names of services and roles have 2 to 63 characters.
    let name = "[A-Za-z0-9][A-Za-z0-9_-]{1,62}";
    let role = Regex::new(&format!("^{name}:{name}$")).unwrap();
    every(body, "roleFullnames", |value| {
        value.as_str().is_some_and(|value| role.is_match(value))
    })?;
    every(body, "interfaces", |value| value["name"].is_string())?;
    let check = Regex::new("^[a-zA-Z0-9_-]+$").unwrap();
    every(body, "checks", |value| {
        value["name"]
            .as_str()
            .is_some_and(|name| check.is_match(name))
    })
}

/// Refuses a field that is there and no array of such values.
fn every(
    body: &Value,
    key: &'static str,
    is_valid: impl Fn(&Value) -> bool,
) -> Result<(), Refusal> {
    match &body[key] {
        Value::Null => Ok(()),
        Value::Array(values) if values.iter().all(is_valid) => Ok(()),
        _ => Err((400, key)),
    }
}

fn metric(hosts: &[Value], value: &Value) -> Result<(), Refusal> {
    let name = Regex::new("^[a-zA-Z0-9._-]+$").unwrap();
    if !value["name"]
        .as_str()
        .is_some_and(|value| name.is_match(value))
    {
        return Err((400, "the name of the metric is invalid"));
    }
    if !value["time"].is_u64() || !value["value"].is_number() {
        return Err((400, "time and value are numbers"));
    }
    let is_there = hosts
        .iter()
        .any(|host| host["id"] == value["hostId"] && host["isRetired"] == false);
    if is_there {
        Ok(())
    } else {
        Err((404, "host not found"))
    }
}
