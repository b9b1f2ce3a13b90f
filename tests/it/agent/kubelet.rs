//! A fake kubelet of one node with one pod of interest. It decides about requests as kubelets do: the API server says who a token
//! is, and what that user may get.

use super::http::{HttpRequest, StatusAndBody, serve, tls};
use crate::kubernetes::certificates::{Authority, Signed};
use crate::kubernetes::cluster::Cluster;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// The kubelet's port with TLS, unless the agent reaches it by the API server.
const PORT: u16 = 10250;
const READ_ONLY_PORT: u16 = 10255;

pub(super) struct FakeKubelet {
    cluster: &'static Cluster,
    node: String,
    /// Kubernetes 1.33 and later: a permission for `/pods` alone.
    fine_grained: bool,
    certificate: Signed,
    /// The authority of its certificate.
    pub(super) authority: String,
    pod: Mutex<Option<Value>>,
    asked: Mutex<BTreeSet<Asked>>,
}

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) path: String,
    /// The permission, None on the read-only port.
    pub(super) by: Option<String>,
}

impl FakeKubelet {
    /// Starts it on both of its ports.
    pub(super) fn start(
        cluster: &'static Cluster,
        node: &str,
        address: Ipv4Addr,
        fine_grained: bool,
        self_signed: bool,
    ) -> Arc<Self> {
        // A kubelet that has no other certificate makes one for the name of its node.
        let own = self_signed.then(|| (Authority::new("self-signed"), node.to_owned()));
        let (authority, name) = own.as_ref().map_or(
            (&cluster.kubelets, address.to_string()),
            |(authority, name)| (authority, name.clone()),
        );
        let kubelet = Self::new(cluster, node, fine_grained, authority, &name);
        let read_only = Arc::clone(&kubelet);
        serve(
            SocketAddr::from((address, READ_ONLY_PORT)),
            None,
            move |request| read_only.content(request, None),
        );
        kubelet.serve_tls(SocketAddr::from((address, PORT)));
        kubelet
    }

    /// Starts it on an address that the API server accepts for a node, and registers the node.
    pub(super) fn start_as_node(
        cluster: &'static Cluster,
        node: &str,
        address: Ipv4Addr,
    ) -> Arc<Self> {
        let kubelet = Self::new(cluster, node, true, &cluster.kubelets, &address.to_string());
        let port = kubelet.serve_tls(SocketAddr::from((address, 0))).port();
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }});
        cluster.ask("/api/v1/nodes", &object);
        kubelet
    }

    fn new(
        cluster: &'static Cluster,
        node: &str,
        fine_grained: bool,
        authority: &Authority,
        name: &str,
    ) -> Arc<Self> {
        let certificate = authority.sign("system:nodes", &format!("system:node:{node}"), &[name]);
        let (authority, node) = (authority.pem.clone(), node.to_owned());
        let (pod, asked) = (Mutex::default(), Mutex::default());
        Arc::new(Self {
            cluster,
            node,
            fine_grained,
            certificate,
            authority,
            pod,
            asked,
        })
    }

    fn serve_tls(self: &Arc<Self>, address: SocketAddr) -> SocketAddr {
        let tls = tls(&self.certificate, &self.cluster.kubelets.pem);
        let kubelet = Arc::clone(self);
        serve(address, Some(tls), move |request| {
            match kubelet.permission(request) {
                Ok(permission) => kubelet.content(request, Some(permission)),
                Err((status, why)) => (status, why.into_bytes()),
            }
        })
    }

    /// Shows this pod from now on.
    pub(super) fn run(&self, pod: Value) {
        *self.pod.lock().unwrap() = Some(pod);
    }

    pub(super) fn asked(&self) -> BTreeSet<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The permission by which the client may get this path.
    ///
    /// # Errors
    /// Returns a status and a reason: the token is not valid, or the user has no permission.
    fn permission(&self, request: &HttpRequest) -> Result<String, (u16, String)> {
        let (user, groups) = if request.certified {
            (
                "kube-apiserver-kubelet-client".to_owned(),
                json!(["system:masters"]),
            )
        } else {
            let token = request
                .header("Authorization")
                .and_then(|value| value.strip_prefix("Bearer "));
            let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token.unwrap_or("none")}});
            let status = &self
                .cluster
                .ask("/apis/authentication.k8s.io/v1/tokenreviews", &review)["status"];
            if status["authenticated"] != true {
                return Err((401, "Unauthorized".to_owned()));
            }
            (
                status["user"]["username"].as_str().unwrap().to_owned(),
                status["user"]["groups"].clone(),
            )
        };
        // As Kubernetes 1.37 maps paths; the agent asks for no other ones.
        let parts: &[&str] = match &*request.path {
            "/pods" if self.fine_grained => &["pods", "proxy"],
            path if path.starts_with("/stats/") => &["stats"],
            _ => &["proxy"],
        };
        let may_get = |part: &&&str| {
            let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": user, "groups": groups,
                "resourceAttributes": {"verb": "get", "resource": "nodes", "subresource": part, "name": self.node},
            }});
            self.cluster.ask(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                &review,
            )["status"]["allowed"]
                == true
        };
        let part = parts.iter().find(may_get);
        // The API server has asked for the permission to use it as a proxy.
        let part = part.map(|part| if request.certified { "proxy" } else { part });
        let forbidden = || {
            format!("Forbidden (user={user}, verb=get, resource=nodes, subresource(s)={parts:?})\n")
        };
        part.map(str::to_owned).ok_or_else(|| (403, forbidden()))
    }

    fn content(&self, request: &HttpRequest, by: Option<String>) -> StatusAndBody {
        let pods: Vec<Value> = self
            .pod
            .lock()
            .unwrap()
            .iter()
            .flat_map(|pod| [neighbour(pod), pod.clone()])
            .collect();
        let content = match &*request.path {
            "/pods" => {
                json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods})
            }
            "/stats/summary" => {
                json!({"node": {"nodeName": self.node}, "pods": pods.iter().map(stats).collect::<Vec<_>>()})
            }
            _ => return (404, b"404 page not found\n".to_vec()),
        };
        self.asked.lock().unwrap().insert(Asked {
            path: request.path.clone(),
            by,
        });
        (200, content.to_string().into_bytes())
    }
}

/// A pod of the same name in another namespace.
fn neighbour(pod: &Value) -> Value {
    let mut pod = pod.clone();
    pod["metadata"]["namespace"] = "elsewhere".into();
    pod["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
    pod
}

/// The usage of a pod's containers: 250 m of CPU and 100 MiB of memory each.
fn stats(pod: &Value) -> Value {
    let now = Timestamp::now();
    let started = &pod["metadata"]["creationTimestamp"];
    let since: Timestamp = started.as_str().unwrap().parse().unwrap();
    let used =
        u64::try_from(now.as_millisecond() - since.as_millisecond()).unwrap_or_default() * 250_000;
    let time = now.to_string();
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    let containers: Vec<Value> = lists
        .into_iter()
        .flatten()
        .flatten()
        .map(|container| {
            json!({"name": container["name"], "startTime": started,
                "cpu": {"time": time, "usageNanoCores": 250_000_000, "usageCoreNanoSeconds": used},
                "memory": {"time": time, "usageBytes": 200 << 20, "workingSetBytes": 100 << 20}})
        })
        .collect();
    let metadata = &pod["metadata"];
    json!({"startTime": started, "containers": containers, "podRef": {
        "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
    }})
}
