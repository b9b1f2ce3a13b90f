//! The recorded requests of the real agent: read, filled in, and sent again.

use super::http::HttpTarget;
use super::mackerel::MackerelCall;
use super::pod::{AdmittedPod, PLUGIN};
use super::runc::output;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::time::SystemTime;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Recorded {
    requests: Vec<MackerelCall>,
    /// The names of the first metrics, without those of interfaces.
    metrics: Vec<String>,
    by_settings: RecordedSource,
    by_file: RecordedSource,
    pub(super) situations: Vec<Situation>,
}

/// The place of what is posted, and the values that reach Mackerel from there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedSource {
    #[serde(default)]
    pub(super) settings: Vec<String>,
    #[serde(default)]
    pub(super) file: String,
    posted: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Situation {
    pub(super) name: String,
    pub(super) settings: Vec<String>,
    /// The agent has its settings from its file.
    #[serde(default)]
    pub(super) file: bool,
    /// A field of the pod.
    #[serde(default)]
    pub(super) pod: String,
    #[serde(default = "yes")]
    pub(super) fine_grained: bool,
    /// The kubelet has made its certificate itself.
    #[serde(default)]
    pub(super) self_signed: bool,
    /// The agent's container runs commands.
    #[serde(default)]
    pub(super) commands: bool,
    /// A file that another container of the pod has written into a volume.
    #[serde(default)]
    pub(super) written: String,
    /// The metrics of plugins, each with its value.
    #[serde(default)]
    pub(super) plugins: BTreeMap<String, f64>,
    /// The paths of the kubelet, each with the permission that it took.
    pub(super) asked: BTreeMap<String, Option<String>>,
}

impl Situation {
    /// The permissions that the agent used.
    pub(super) fn used(&self) -> BTreeSet<&str> {
        self.asked.values().flatten().map(String::as_str).collect()
    }
}

fn yes() -> bool {
    true
}

impl Recorded {
    pub(super) fn read() -> Self {
        serde_yaml::from_str(include_str!("recorded.yaml")).unwrap()
    }

    pub(super) fn source(&self, situation: &Situation) -> &RecordedSource {
        if situation.file {
            &self.by_file
        } else {
            &self.by_settings
        }
    }

    /// The agent's configuration file.
    fn file(&self, situation: &Situation) -> Option<&str> {
        let plugin = (!situation.plugins.is_empty()).then_some(PLUGIN[0].1);
        let values = situation.file.then(|| &*self.source(situation).file);
        values.or(plugin)
    }

    /// The names of the first metrics, without those of interfaces.
    pub(super) fn metrics<'n>(&'n self, situation: &'n Situation) -> BTreeSet<&'n str> {
        let own = self.metrics.iter();
        own.chain(situation.plugins.keys())
            .map(String::as_str)
            .collect()
    }

    /// The requests to Mackerel for this pod and host.
    pub(super) fn requests(
        &self,
        situation: &Situation,
        pod: &AdmittedPod,
        host: &str,
    ) -> Vec<MackerelCall> {
        let metadata = &pod.object["metadata"];
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let mut known = BTreeMap::from([
            ("pod", metadata["name"].clone()),
            ("namespace", metadata["namespace"].clone()),
            ("uid", metadata["uid"].clone()),
            ("host", host.into()),
        ]);
        let posted = self.source(situation).posted.iter();
        let posted: Vec<_> = posted
            .map(|(name, value)| (name.as_str(), filled(value, &known)))
            .collect();
        known.extend(posted);
        let metrics = self.metrics.iter();
        let metrics: Vec<Value> = metrics
            .map(|name| json!({"hostId": host, "name": name, "time": now, "value": 25.5}))
            .collect();
        let fill = |call: &MackerelCall| {
            let request = filled(&call.request.as_str().into(), &known);
            let body = if call.request.ends_with("/tsdb") {
                metrics.clone().into()
            } else {
                filled(&call.body, &known)
            };
            MackerelCall {
                request: request.as_str().unwrap().to_owned(),
                body,
                status: 200,
            }
        };
        self.requests.iter().map(fill).collect()
    }
}

/// A value with known names for its placeholders; a text that is nothing but one becomes that value.
fn filled(value: &Value, known: &BTreeMap<&str, Value>) -> Value {
    match value {
        Value::String(text) => {
            let whole = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'));
            whole
                .and_then(|name| known.get(name))
                .cloned()
                .unwrap_or_else(|| {
                    let texts = known
                        .iter()
                        .filter_map(|(name, value)| Some((name, value.as_str()?)));
                    texts
                        .fold(text.clone(), |text, (name, value)| {
                            text.replace(&format!("{{{name}}}"), value)
                        })
                        .into()
                })
        }
        Value::Array(values) => values.iter().map(|value| filled(value, known)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), filled(value, known)))
            .collect(),
        _ => value.clone(),
    }
}

/// Sends the recorded requests as the agent of this pod would, with its environment and files. An agent that verifies no kubelet
/// trusts the name and authority `unverified`.
pub(super) fn replay(
    recorded: &Recorded,
    situation: &Situation,
    pod: &AdmittedPod,
    mackerel: &HttpTarget<'_>,
    unverified: (&str, &str),
) {
    let variable = |name: &str| pod.environment.get(name).map(String::as_str);
    let needed = |name: &str| {
        variable(name).unwrap_or_else(|| panic!("{}: {name} is not set", situation.name))
    };
    let agent_file = variable("MACKEREL_AGENT_CONFIG").map(|location| {
        let url = location.strip_prefix("http://");
        let Some((address, path)) = url.and_then(|url| url.split_once('/')) else {
            return fs::read_to_string(pod.on_host(location).unwrap()).unwrap();
        };
        let server = HttpTarget {
            address: address.parse().unwrap(),
            tls: None,
        };
        let (status, file) = server.ask(&format!("GET /{path}"), None, None);
        assert_eq!(status, 200);
        String::from_utf8(file).unwrap()
    });
    assert_eq!(agent_file.as_deref(), recorded.file(situation));

    let is_fargate = needed("MACKEREL_CONTAINER_PLATFORM") == "eks_fargate";
    let (host, port, prefix) = if is_fargate {
        let prefix = format!(
            "/api/v1/nodes/{}/proxy",
            needed("MACKEREL_KUBERNETES_NODE_NAME")
        );
        (
            needed("KUBERNETES_SERVICE_HOST"),
            needed("KUBERNETES_SERVICE_PORT"),
            prefix,
        )
    } else {
        let port = match variable("MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT").unwrap_or("10255") {
            "0" => variable("MACKEREL_KUBERNETES_KUBELET_PORT").unwrap_or("10250"),
            port => port,
        };
        (
            needed("MACKEREL_KUBERNETES_KUBELET_HOST"),
            port,
            String::new(),
        )
    };
    let address: SocketAddr = format!("{host}:{port}").parse().unwrap();
    let is_secure = port != "10255";
    let file = |name: &str| {
        pod.service_account(name)
            .unwrap_or_else(|| panic!("{}: no {name}", situation.name))
    };
    let (authorities, token) = if is_secure {
        (file("ca.crt"), format!("Bearer {}", file("token")))
    } else {
        Default::default()
    };
    let is_verified = variable("MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS").is_none();
    let trusted = if is_verified {
        (host, &*authorities)
    } else {
        unverified
    };
    let kubelet = HttpTarget {
        address,
        tls: is_secure.then_some(trusted),
    };
    for path in situation.asked.keys() {
        let header = is_secure.then_some(("Authorization", &*token));
        let (status, body) = kubelet.ask(&format!("GET {prefix}{path}"), header, None);
        assert_eq!(
            status,
            200,
            "{}: {path}: {}",
            situation.name,
            String::from_utf8_lossy(&body)
        );
    }

    let key = needed("MACKEREL_APIKEY");
    let stores_id = variable("MACKEREL_HOST_ID_STORE") == Some("file");
    let mut id = String::new();
    for index in 0..recorded.requests.len() {
        let mut requests = recorded.requests(situation, pod, &id);
        let MackerelCall { request, body, .. } = &mut requests[index];
        if request.ends_with("/tsdb") {
            let values = body.as_array_mut().unwrap();
            let plugins = plugins(agent_file.as_deref().unwrap_or_default());
            for (name, value) in plugins.iter().flat_map(|plugin| measured(pod, plugin)) {
                values.push(json!({"hostId": id, "name": name, "time": 0, "value": value}));
            }
        }
        let body = Some(&*body).filter(|_| !request.starts_with("GET "));
        let (status, answer) = mackerel.ask(request, Some(("X-Api-Key", key)), body);
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(
            status, 200,
            "{}: {request} {body:?}: {answer}",
            situation.name
        );
        if let Some(given) = answer["id"].as_str() {
            given.clone_into(&mut id);
            if stores_id {
                let file = pod.on_host(HOST_ID).unwrap();
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, given).unwrap();
            }
        }
    }
}

/// The file in which the agent keeps the host's id.
const HOST_ID: &str = "/var/tmp/mackerel-container-agent/id";

/// The commands of the metric plugins in the agent's configuration file.
fn plugins(file: &str) -> Vec<String> {
    let file: Value = serde_yaml::from_str(file).unwrap_or_default();
    let plugins = file["plugin"]["metrics"].as_object().into_iter().flatten();
    plugins
        .map(|(_, plugin)| plugin["command"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs a plugin as the agent does: a shell of its container reads the command. Each line of the output has a name, a value and a time.
fn measured(pod: &AdmittedPod, command: &str) -> Vec<(String, f64)> {
    let ran = output(pod, &["/bin/sh", "-c", command].map(str::to_owned));
    let metric = |line: &str| {
        let mut words = line.split_whitespace();
        let name = format!("custom.{}", words.next().unwrap());
        (name, words.next().unwrap().parse().unwrap())
    };
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{text}");
    text.lines().map(metric).collect()
}
