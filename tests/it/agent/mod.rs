//! The agent as it is injected, with fakes of a kubelet and of the Mackerel API.
//!
//! `recorded.yaml` says what the real agent asks and posts. The fakes and the permissions are always held against it. The real
//! agent is held against it where `MACKEREL_AGENT` names its binary: runc runs it with the injected environment, files and user.

mod http;
mod kubelet;
mod mackerel;
mod pod;
mod recorded;
mod runc;

use crate::kubernetes::certificates::Authority;
use crate::kubernetes::cluster::{Cluster, cluster, user};
use crate::kubernetes::permissions::{permit, permitted};
use crate::program::Folder;
use crate::tools;
use http::{HttpTarget, serve, tls};
use kubelet::FakeKubelet;
use mackerel::Mackerel;
use pod::{AdmittedPod, PodInputs};
use recorded::{Recorded, Situation, replay};
use runc::RuncContainer;
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The Mackerel API's name in the agent's default configuration.
const API: &str = "api.mackerelio.com";
const API_KEY: &str = "a-key-of-mackerel";

/// A workload of two containers that the Pod Security standard "restricted" accepts.
const WEB: &str = include_str!("web.yaml");

/// The first metrics come with the second minute.
const FIRST_METRICS: Duration = Duration::from_secs(240);
/// The grace period of a pod.
const GRACE: Duration = Duration::from_secs(30);

/// A pod that is about to run, and the servers that its agent will find.
struct Stage {
    namespace: String,
    address: Ipv4Addr,
    pod: AdmittedPod,
    kubelet: Arc<FakeKubelet>,
    mackerel: Arc<Mackerel>,
    /// The address of Mackerel, and the authority of its certificate.
    api: SocketAddr,
    authority: String,
}

/// Sets the stage for a situation. None where this machine cannot have it.
///
/// The port of Mackerel is 443 for the real agent, which root may have; else any.
fn stage(
    cluster: &'static Cluster,
    recorded: &Recorded,
    situation: &Situation,
    address: Ipv4Addr,
    port: u16,
) -> Option<Stage> {
    if situation.commands && !runc::is_usable() {
        return None;
    }
    let namespace = format!(
        "agent-{}-{}",
        situation.name,
        if port == 0 { "recorded" } else { "real" }
    );
    let is_fargate = situation
        .settings
        .iter()
        .any(|setting| setting == "platform=eks-fargate");
    let kubelet = if is_fargate {
        // The API server is no proxy for loopback addresses.
        let Some(address) = own_address() else {
            tools::not_checked("the agent on Fargate", "this machine has no network");
            return None;
        };
        FakeKubelet::start_as_node(cluster, &namespace, address)
    } else {
        FakeKubelet::start(
            cluster,
            &namespace,
            address,
            situation.fine_grained,
            situation.self_signed,
        )
    };
    let source = recorded.source(situation);
    let mackerel = Arc::new(Mackerel::new(API_KEY));
    let authority = Authority::new("public");
    let (api, file) = (Arc::clone(&mackerel), source.file.clone().into_bytes());
    let certificate = tls(&authority.sign("", API, &[API]), &authority.pem);
    let api = serve(
        SocketAddr::from((address, port)),
        Some(certificate),
        move |request| api.answer(request),
    );
    serve(SocketAddr::from((address, 8080)), None, move |_| {
        (200, file.clone())
    });

    cluster.namespace(
        &namespace,
        &json!({"pod-security.kubernetes.io/enforce": "restricted"}),
    );
    let manifest = WEB
        .replace("the-namespace", &namespace)
        .replace("# FIELD", &situation.pod);
    let settings = source.settings.iter().chain(&situation.settings);
    let settings: Vec<String> = settings
        .map(|setting| setting.replace("{address}", &address.to_string()))
        .collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    permit(cluster, &namespace, &settings, &manifest);
    let given = PodInputs {
        host: address,
        node: &namespace,
        api_key: API_KEY,
        file: &source.file,
    };
    let pod = AdmittedPod::admit(cluster, &manifest, &settings, &given);
    if let Some(file) = pod.on_host(&situation.written) {
        fs::write(file, "").unwrap();
    }
    kubelet.run(pod.running(address));
    Some(Stage {
        namespace,
        address,
        pod,
        kubelet,
        mackerel,
        api,
        authority: authority.pem,
    })
}

/// A loopback address of this process and situation, so that each can have a kubelet's ports.
fn address(number: usize) -> Ipv4Addr {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | high, low, u8::try_from(number + 1).unwrap())
}

/// An address of this machine that is no loopback address. None without a network.
fn own_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: this asks for the route.
    socket.connect("198.51.100.1:9").ok()?;
    match socket.local_addr().ok()?.ip() {
        std::net::IpAddr::V4(address) => Some(address),
        std::net::IpAddr::V6(_) => None,
    }
}

impl Stage {
    /// The metrics that were posted, without those of interfaces.
    fn metrics(&self) -> BTreeMap<String, Value> {
        let calls = self.mackerel.calls().into_iter();
        let posted = calls.filter(|call| call.request == "POST /api/v0/tsdb");
        let metrics = posted.flat_map(|call| call.body.as_array().cloned().unwrap_or_default());
        let named = metrics.map(|metric| {
            (
                metric["name"].as_str().unwrap().to_owned(),
                metric["value"].clone(),
            )
        });
        named
            .filter(|(name, _)| !name.starts_with("interface."))
            .collect()
    }

    /// True if everything that is recorded was posted.
    fn has_metrics(&self, recorded: &Recorded, situation: &Situation) -> bool {
        let posted = self.metrics();
        let expected = recorded.metrics(situation);
        expected.iter().all(|name| posted.contains_key(*name))
    }

    /// Runs the command of the readiness probe in a container like the agent's. None without a probe.
    fn is_ready(&self) -> Option<bool> {
        let command = self.pod.probe()?;
        Some(runc::output(&self.pod, &command).status.success())
    }

    /// Panics unless the fakes have seen what is recorded, and nothing else.
    #[track_caller]
    fn has_seen(&self, cluster: &Cluster, recorded: &Recorded, situation: &Situation) {
        let name = &situation.name;
        let asked: Vec<(String, Option<String>)> = self
            .kubelet
            .asked()
            .into_iter()
            .map(|asked| (asked.path, asked.by))
            .collect();
        assert_eq!(
            asked,
            situation.asked.clone().into_iter().collect::<Vec<_>>(),
            "{name}"
        );
        let may: BTreeSet<&str> = permitted(cluster, &self.namespace, "default")
            .into_iter()
            .collect();
        assert_eq!(
            may,
            situation.used(),
            "{name}: the permissions of `rbac` are those that the agent used"
        );

        let hosts = self.mackerel.hosts();
        let [host] = &hosts[..] else {
            panic!("{name}: one pod is one host: {hosts:?}")
        };
        assert_eq!(host["isRetired"], true, "{name}");
        let calls = self.mackerel.calls();
        let refused: Vec<_> = calls.iter().filter(|call| call.status != 200).collect();
        assert!(refused.is_empty(), "{name}: {refused:?}");
        let expected = recorded.requests(situation, &self.pod, host["id"].as_str().unwrap());
        let mut seen: Vec<&str> = Vec::new();
        for call in &calls {
            let request = first_parameter(&call.request);
            if !seen.contains(&request) {
                seen.push(request);
            }
        }
        assert_eq!(
            seen,
            expected
                .iter()
                .map(|call| first_parameter(&call.request))
                .collect::<Vec<_>>(),
            "{name}"
        );
        for expected in &expected {
            let call = calls
                .iter()
                .find(|call| first_parameter(&call.request) == first_parameter(&expected.request));
            let body = &call.unwrap().body;
            if expected.request.ends_with("/tsdb") {
                let posted = self.metrics();
                let names: BTreeSet<&str> = posted.keys().map(String::as_str).collect();
                assert_eq!(names, recorded.metrics(situation), "{name}");
                for (metric, value) in &situation.plugins {
                    assert_eq!(posted[metric].as_f64(), Some(*value), "{name}: {metric}");
                }
            } else {
                has_fields(name, body, &expected.body);
            }
        }
    }
}

/// A request without the parameters behind the first.
fn first_parameter(request: &str) -> &str {
    request.split('&').next().unwrap()
}

/// Panics unless a value has these fields; those of an array's items count likewise.
#[track_caller]
fn has_fields(name: &str, value: &Value, expected: &Value) {
    match expected {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, expected)| has_fields(name, &value[key], expected)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            assert_eq!(
                value.as_array().map(Vec::len),
                Some(items.len()),
                "{name}: {value} is not {expected}"
            );
            items
                .iter()
                .enumerate()
                .for_each(|(index, expected)| has_fields(name, &value[index], expected));
        }
        _ => assert_eq!(value, expected, "{name}"),
    }
}

#[test]
fn fakes_and_permissions_are_right_for_what_the_agent_asked_and_posted() {
    let Some(cluster) = cluster() else { return };
    let recorded = Recorded::read();
    for (number, situation) in recorded.situations.iter().enumerate() {
        let Some(stage) = stage(cluster, &recorded, situation, address(number), 0) else {
            continue;
        };
        let mackerel = HttpTarget {
            address: stage.api,
            tls: Some((API, &stage.authority)),
        };
        assert_ne!(stage.is_ready(), Some(true), "{}", situation.name);
        replay(
            &recorded,
            situation,
            &stage.pod,
            &mackerel,
            (&stage.namespace, &stage.kubelet.authority),
        );
        assert_ne!(stage.is_ready(), Some(false), "{}", situation.name);
        stage.has_seen(cluster, &recorded, situation);
    }
}

/// The versions of Kubernetes for which permissions are compared: from before kubelets had a permission for `/pods` alone.
const MINORS: std::ops::RangeInclusive<u32> = 28..=37;

#[test]
fn rbac_prints_what_the_agent_used_at_each_version_of_kubernetes() {
    let recorded = Recorded::read();
    let folder = Folder::with(&[]);
    for minor in MINORS {
        for situation in &recorded.situations {
            // The others were recorded at one version of the kubelet.
            let is_of_every_version =
                situation.name == "fargate" || situation.name == "read-only-port";
            if !is_of_every_version && situation.fine_grained != (minor >= 33) {
                continue;
            }
            let version = format!("kubernetesVersion=1.{minor}");
            let settings = situation
                .settings
                .iter()
                .filter(|setting| !setting.starts_with("kubernetesVersion"));
            let settings = settings
                .chain([&version])
                .flat_map(|setting| ["--set", setting]);
            let ran = folder.run_with(
                &["rbac", "-"]
                    .into_iter()
                    .chain(settings)
                    .collect::<Vec<_>>(),
                WEB,
            );
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let documents = serde_yaml::Deserializer::from_str(&ran.stdout);
            let documents = documents.map(|document| Value::deserialize(document).unwrap());
            let roles: Vec<Value> = documents
                .filter(|document| document["kind"] == "ClusterRole")
                .collect();
            let rules = roles
                .iter()
                .filter_map(|role| role["rules"].as_array())
                .flatten();
            let resources = rules
                .filter_map(|rule| rule["resources"].as_array())
                .flatten();
            let printed: BTreeSet<&str> = resources
                .filter_map(|name| name.as_str()?.strip_prefix("nodes/"))
                .collect();
            assert_eq!(printed, situation.used(), "{} at 1.{minor}", situation.name);
        }
    }
}

#[test]
fn the_real_agent_asks_and_posts_what_is_recorded() {
    let binary = std::env::var_os("MACKEREL_AGENT").filter(|value| !value.is_empty());
    let binary = binary.map(|binary| PathBuf::from(binary).canonicalize().unwrap());
    let Some(binary) = binary else {
        return tools::not_checked(
            "the real agent",
            "MACKEREL_AGENT names no agent's binary, see .ci/real-agent",
        );
    };
    let Some(cluster) = cluster().filter(|_| tools::on_path(&["runc"])) else {
        return;
    };
    let recorded = Recorded::read();
    thread::scope(|scope| {
        for (number, situation) in recorded.situations.iter().enumerate() {
            // The other test may have the first addresses at the same time.
            let address = address(recorded.situations.len() + number);
            let (recorded, binary) = (&recorded, &binary);
            scope.spawn(move || {
                if let Some(stage) = stage(cluster, recorded, situation, address, 443) {
                    lives(&stage, binary, recorded, situation);
                    stage.has_seen(cluster, recorded, situation);
                }
            });
        }
    });
}

/// Runs the agent until it has posted metrics, and ends it.
fn lives(stage: &Stage, binary: &Path, recorded: &Recorded, situation: &Situation) {
    let name = &situation.name;
    let mut container = RuncContainer::run(binary, &stage.pod, stage.address, &stage.authority);
    let started = Instant::now();
    while !stage.has_metrics(recorded, situation) {
        let why = if container.has_ended() {
            "it has ended"
        } else {
            "it posts no metrics"
        };
        let waits = !container.has_ended() && started.elapsed() < FIRST_METRICS;
        assert!(
            waits,
            "{name}: {why}\n{}\n{:?}",
            container.log(),
            stage.mackerel.calls()
        );
        thread::sleep(Duration::from_millis(200));
    }
    if let Some(command) = stage.pod.probe() {
        let probed = container.output(&command);
        assert!(probed.status.success(), "{name}: {probed:?}");
    }
    let code = container.terminate(GRACE);
    assert_eq!(code, Some(0), "{name}: after SIGTERM\n{}", container.log());
}

#[test]
fn the_fake_mackerel_refuses_what_mackerel_refuses() {
    let authority = Authority::new("public");
    let mackerel = Mackerel::new(API_KEY);
    let certificate = tls(&authority.sign("", API, &[API]), &authority.pem);
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let address = serve(local, Some(certificate), move |request| {
        mackerel.answer(request)
    });
    let server = HttpTarget {
        address,
        tls: Some((API, &authority.pem)),
    };
    let ask = |request: &str, body: Value| {
        server
            .ask(request, Some(("X-Api-Key", API_KEY)), Some(&body))
            .0
    };
    let host = |field: &str, value: Value| {
        let mut host = json!({"name": "web", "meta": {}, "customIdentifier": field});
        host[field] = value;
        ask("POST /api/v0/hosts", host)
    };
    assert_eq!(host("memo", "".into()), 200);
    for (field, value) in [
        ("name", json!("")),
        ("meta", Value::Null),
        ("displayName", json!(1)),
        ("roleFullnames", json!("shop:web")),
        // The real API said 400 to this one, and the agent ended.
        ("roleFullnames", json!(["web"])),
        ("roleFullnames", json!(["shop.jp:web"])),
        ("roleFullnames", json!(["shop:w"])),
        ("roleFullnames", json!(["-shop:web"])),
        ("interfaces", json!([{}])),
        ("checks", json!([{"name": "a b"}])),
        ("customIdentifier", json!("memo")),
    ] {
        assert_eq!(host(field, value.clone()), 400, "{field} {value}");
    }
    let metric = |host: &str, name: &str, value: Value| {
        ask(
            "POST /api/v0/tsdb",
            json!([{"hostId": host, "name": name, "time": 1, "value": value}]),
        )
    };
    assert_eq!(metric("host1", "custom.a", json!(1)), 200);
    assert_eq!(metric("host1", "custom a", json!(1)), 400);
    assert_eq!(metric("host1", "custom.a", json!("1")), 400);
    assert_eq!(metric("host2", "custom.a", json!(1)), 404);
    assert_eq!(
        ask("POST /api/v0/hosts/host1/status", json!({"status": "up"})),
        400
    );
    let empty = server.ask(
        "POST /api/v0/hosts/host1/retire",
        Some(("X-Api-Key", API_KEY)),
        None,
    );
    assert_eq!(empty.0, 400);
    // The agent sends `null`; the published API has an empty object.
    assert_eq!(ask("POST /api/v0/hosts/host1/retire", Value::Null), 200);
    assert_eq!(ask("POST /api/v0/hosts/host1/retire", Value::Null), 404);
    assert_eq!(host("displayName", "web".into()), 200);
    assert_eq!(ask("POST /api/v0/hosts/host2/retire", json!({})), 200);
    assert_eq!(
        metric("host1", "custom.a", json!(1)),
        404,
        "of a retired host"
    );
    let other = server.ask("GET /api/v0/hosts", Some(("X-Api-Key", "another")), None);
    assert_eq!(other.0, 403);
}

#[test]
fn the_fake_kubelet_refuses_as_kubelets_do() {
    let Some(cluster) = cluster() else { return };
    let (namespace, address) = ("agent-refused", address(200));
    cluster.namespace(namespace, &json!({}));
    FakeKubelet::start(cluster, namespace, address, true, false);
    let authorities = cluster.authorities();
    let name = address.to_string();
    let server = HttpTarget {
        address: SocketAddr::from((address, 10250)),
        tls: Some((&name, &authorities)),
    };
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token");
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let token = cluster.ask(&path, &request)["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let get = |path: &str, token: &str| {
        let (status, body) = server.ask(
            &format!("GET {path}"),
            Some(("Authorization", &format!("Bearer {token}"))),
            None,
        );
        (status, String::from_utf8(body).unwrap())
    };
    assert_eq!(server.ask("GET /pods", None, None).0, 401);
    assert_eq!(get("/pods", "no-token").0, 401);
    let (status, why) = get("/pods", &token);
    assert_eq!(status, 403);
    assert!(
        why.contains(&user(namespace, "default")) && why.contains(r#"["pods", "proxy"]"#),
        "{why}"
    );
    assert_eq!(get("/stats/summary", &token).0, 403);
}
