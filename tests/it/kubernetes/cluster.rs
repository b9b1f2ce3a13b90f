//! etcd and kube-apiserver, as `tests/tools/install` has them, started once for all tests of this program.

use super::certificates::Authority;
use crate::free_ports;
use crate::tools;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use support::root;
use ureq::Agent;

/// A cluster without nodes and controllers: what is created stays as it is.
pub(crate) struct Cluster {
    /// The address of `kubectl proxy`.
    address: String,
    http: Agent,
    kubectl: PathBuf,
    folder: PathBuf,
    /// The address of kube-apiserver.
    pub(crate) server: SocketAddr,
    /// The authority of kubelets' certificates, and of the certificate by which kube-apiserver calls kubelets.
    pub(crate) kubelets: Authority,
    /// Namespace and name of the ServiceAccounts that have been created.
    service_accounts: Mutex<BTreeSet<(String, String)>>,
    /// The script that runs the programs. It ends them when its standard input ends, that is with this process.
    _programs: Child,
}

/// The API server's answer to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiVerdict {
    /// The API server accepts it.
    Accepted {
        /// The object as the API server would store it, with its defaults.
        object: Value,
        /// The API server's warnings.
        warnings: BTreeSet<String>,
    },
    /// The API server refuses it, for this reason.
    Refused(String),
}

/// A dry run, or one that stores the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// The API server makes all its checks and stores nothing.
    Dry,
    /// The API server stores the object.
    Wet,
}

/// The warnings that an object has, or why it is refused.
pub(crate) type DryRunAnswer = Result<BTreeSet<String>, String>;

/// Asks for the object as it would be stored.
const WHOLE: &str = "application/json";

/// Asks for its metadata only, which costs the API server and all between less.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A namespace that enforces the Pod Security standard "restricted".
pub(crate) const RESTRICTED: &str = "enforces-restricted";
/// A namespace that enforces nothing and warns of what "restricted" would refuse.
pub(crate) const UNENFORCED: &str = "warns-of-restricted";

/// A namespace that neither enforces nor warns.
pub(crate) const SILENT: &str = "silent";

/// The most time that the programs may take to start, on a machine that is busy with other things.
const START: Duration = Duration::from_secs(180);

/// The API server of all tests. None, with a line on standard error, if a program is missing.
pub(crate) fn cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let etcd = tools::find("etcd", "")?;
    let kube_apiserver = tools::find("kube-apiserver", "")?;
    let kubectl = tools::find("kubectl", "")?;
    Some(CLUSTER.get_or_init(|| Cluster::start(&etcd, &kube_apiserver, &kubectl)))
}

impl Cluster {
    fn start(etcd: &Path, kube_apiserver: &Path, kubectl: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let [of_etcd, of_kube_apiserver] = free_ports::two();
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, of_kube_apiserver));
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "clusters": [{"name": "tests", "cluster": {
                "server": format!("https://{server}"), "insecure-skip-tls-verify": true,
            }}],
            "users": [{"name": "tests", "user": {"token": "tests"}}],
        });
        fs::write(folder.join("kubeconfig"), kubeconfig.to_string()).unwrap();
        fs::write(
            folder.join("tokens.csv"),
            "tests,tests,tests,system:masters\n",
        )
        .unwrap();
        fs::write(folder.join("service-account.key"), service_account_key()).unwrap();
        let kubelets = Authority::new("kubelets");
        let client = kubelets.sign("system:masters", "kube-apiserver-kubelet-client", &[]);
        fs::write(folder.join("kubelets.crt"), &kubelets.pem).unwrap();
        fs::write(folder.join("kubelet-client.crt"), client.certificate).unwrap();
        fs::write(folder.join("kubelet-client.key"), client.key).unwrap();

        let script = root().join("tests/it/kubernetes/cluster.sh");
        let mut programs = Command::new("sh");
        programs
            .arg(script)
            .arg(&folder)
            .args([etcd, kube_apiserver, kubectl])
            .args([of_etcd, of_kube_apiserver].map(|port| port.to_string()));
        programs
            .env("HOME", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Not in the process group of the tests: an interrupt of the terminal would end the script before it has tidied up.
        let programs = programs.process_group(0).spawn().unwrap();

        let http = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_idle_connections_per_host(support::parallel::THREADS)
            .timeout_global(Some(Duration::from_secs(120)))
            .build();
        let mut cluster = Self {
            address: String::new(),
            http: http.into(),
            kubectl: kubectl.to_owned(),
            folder,
            server,
            kubelets,
            service_accounts: Mutex::default(),
            _programs: programs,
        };
        let started = Instant::now();
        while !cluster.is_ready() {
            assert!(
                started.elapsed() < START,
                "kube-apiserver is not ready after {START:?}{}",
                cluster.logs()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        cluster.namespace(
            RESTRICTED,
            &json!({"pod-security.kubernetes.io/enforce": "restricted"}),
        );
        cluster.namespace(
            UNENFORCED,
            &json!({"pod-security.kubernetes.io/warn": "restricted"}),
        );
        cluster.namespace(SILENT, &json!({}));
        cluster.service_account("default", "default");
        cluster
    }

    fn is_ready(&mut self) -> bool {
        if self.address.is_empty() {
            let log = fs::read_to_string(self.folder.join("kubectl.log")).unwrap_or_default();
            let Some(address) = log
                .lines()
                .find_map(|line| line.strip_prefix("Starting to serve on "))
            else {
                return false;
            };
            self.address = format!("http://{address}");
        }
        self.http
            .get(format!("{}/readyz", self.address))
            .call()
            .is_ok_and(|answer| answer.status() == 200)
    }

    /// The ends of what the programs wrote.
    fn logs(&self) -> String {
        let end = |program: &str| {
            let log =
                fs::read_to_string(self.folder.join(format!("{program}.log"))).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            format!(
                "\n== {program}\n{}",
                lines[lines.len().saturating_sub(15)..].join("\n")
            )
        };
        ["etcd", "kube-apiserver", "kubectl"].map(end).concat()
    }

    /// Makes a namespace with these labels.
    pub(crate) fn namespace(&self, name: &str, labels: &Value) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        match self.post(
            "/api/v1/namespaces",
            "application/json",
            &namespace.to_string(),
        ) {
            ApiVerdict::Refused(why) => assert!(why.contains("already exists"), "{why}"),
            ApiVerdict::Accepted { .. } => {}
        }
        self.service_account(name, "default");
    }

    /// Makes a service account, if it is not there yet: a Pod that names another one is refused after a second. In a cluster
    /// with controllers each namespace has one from the beginning.
    fn service_account(&self, namespace: &str, name: &str) {
        let mut known = self.service_accounts.lock().unwrap();
        if known.insert((namespace.to_owned(), name.to_owned())) {
            let account =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
            let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
            // With a name that cannot be, the Pod cannot be either.
            self.post(&path, "application/json", &account.to_string());
        }
    }

    /// Creates or changes an object, as the owner of the fields that it has.
    #[track_caller]
    pub(crate) fn apply(&self, object: &Value) {
        let address = format!(
            "{}{}?fieldManager=tests&force=true",
            self.address,
            path(object)
        );
        let request = self
            .http
            .patch(address)
            .header("Content-Type", "application/apply-patch+yaml");
        let mut answer = request.send(object.to_string()).unwrap();
        let said = answer.body_mut().read_to_string().unwrap();
        assert!(answer.status().is_success(), "{said}");
    }

    /// Deletes an object, if it is there.
    pub(crate) fn delete(&self, object: &Value) {
        let _ = self
            .http
            .delete(format!("{}{}", self.address, path(object)))
            .call();
    }

    /// The object of this `apiVersion` and `kind`, name and namespace, if it is there.
    pub(crate) fn get(&self, object: &Value) -> Option<Value> {
        let mut answer = self
            .http
            .get(format!("{}{}", self.address, path(object)))
            .call()
            .unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        answer
            .status()
            .is_success()
            .then(|| serde_json::from_str(&text).unwrap())
    }

    /// Creates an object of a kind that [`collection`] knows, in this namespace whatever it says itself.
    pub(crate) fn create(&self, run: Run, namespace: &str, object: &Value) -> ApiVerdict {
        self.create_and_get(run, namespace, object, WHOLE)
    }

    /// Creates an object as a dry run. Returns the API server's warnings.
    pub(crate) fn would_take(&self, namespace: &str, object: &Value) -> DryRunAnswer {
        match self.create_and_get(Run::Dry, namespace, object, METADATA) {
            ApiVerdict::Accepted { warnings, .. } => Ok(warnings),
            ApiVerdict::Refused(why) => Err(why),
        }
    }

    fn create_and_get(
        &self,
        run: Run,
        namespace: &str,
        object: &Value,
        accept: &str,
    ) -> ApiVerdict {
        let path =
            collection(object).unwrap_or_else(|| panic!("Kubernetes has no such kind: {object}"));
        let mut object = object.clone();
        object["metadata"]["namespace"] = namespace.into();
        if let Some(account) = object
            .pointer("/spec/serviceAccountName")
            .and_then(Value::as_str)
        {
            self.service_account(namespace, account);
        }
        let path = path.replace("{namespace}", namespace);
        self.post_and_get(
            &format!("{path}{}", run.parameter()),
            "application/json",
            &object.to_string(),
            accept,
        )
    }

    /// Creates an object from its YAML text, as a dry run.
    pub(crate) fn create_text(&self, collection: &str, namespace: &str, text: &str) -> ApiVerdict {
        let path = collection.replace("{namespace}", namespace);
        self.post(
            &format!("{path}{}", Run::Dry.parameter()),
            "application/yaml",
            text,
        )
    }

    /// True if a ServiceAccount may get this subresource of the nodes.
    pub(crate) fn may_get(&self, namespace: &str, service_account: &str, part: &str) -> bool {
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": user(namespace, service_account),
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
            "resourceAttributes": {"verb": "get", "resource": "nodes", "subresource": part},
        }});
        self.ask(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            &review,
        )["status"]["allowed"]
            == true
    }

    /// The API server's answer to an object that it takes: a review, a request for a token, or a node.
    pub(crate) fn ask(&self, path: &str, object: &Value) -> Value {
        match self.post(path, "application/json", &object.to_string()) {
            ApiVerdict::Accepted { object, .. } => object,
            ApiVerdict::Refused(why) => panic!("{path}: {why}"),
        }
    }

    /// The certificates of the authorities of kube-apiserver and of kubelets: what `kube-root-ca.crt` has in a real cluster.
    pub(crate) fn authorities(&self) -> String {
        let server = fs::read_to_string(self.folder.join("certificates/apiserver.crt")).unwrap();
        server + &self.kubelets.pem
    }

    fn post(&self, path: &str, content_type: &str, body: &str) -> ApiVerdict {
        self.post_and_get(path, content_type, body, WHOLE)
    }

    fn post_and_get(&self, path: &str, content_type: &str, body: &str, accept: &str) -> ApiVerdict {
        let request = self
            .http
            .post(format!("{}{path}", self.address))
            .header("Content-Type", content_type);
        let mut answer = request.header("Accept", accept).send(body).unwrap();
        let warnings = answer
            .headers()
            .get_all("warning")
            .iter()
            .map(|value| warning(value.to_str().unwrap()))
            .collect();
        let text = answer.body_mut().read_to_string().unwrap();
        let object: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}: {text}", answer.status()));
        if answer.status().is_success() {
            ApiVerdict::Accepted { object, warnings }
        } else {
            ApiVerdict::Refused(object["message"].as_str().unwrap_or(&text).to_owned())
        }
    }

    /// The kubeconfig for programs that call the API server themselves.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Marks each Job of the namespace without a condition as complete, as the Job controller would.
    pub(crate) fn complete_jobs(&self, namespace: &str) {
        let path = format!("{}/apis/batch/v1/namespaces/{namespace}/jobs", self.address);
        let jobs: Value = serde_json::from_str(
            &self
                .http
                .get(&path)
                .call()
                .unwrap()
                .body_mut()
                .read_to_string()
                .unwrap(),
        )
        .unwrap();
        for job in jobs["items"].as_array().unwrap() {
            if job.pointer("/status/conditions").is_some() {
                continue;
            }
            let time = &job["metadata"]["creationTimestamp"];
            let condition =
                |name| json!({"type": name, "status": "True", "lastTransitionTime": time});
            let status = json!({
                "startTime": time, "completionTime": time, "succeeded": 1,
                "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
            });
            let name = job["metadata"]["name"].as_str().unwrap();
            let request = self.http.patch(format!("{path}/{name}/status"));
            let request = request.header("Content-Type", "application/merge-patch+json");
            let answer = request.send(json!({"status": status}).to_string()).unwrap();
            assert!(answer.status().is_success(), "{answer:?}");
        }
    }

    /// Runs kubectl with that on its standard input: whether it succeeded, standard output, standard error.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: &str) -> (bool, String, String) {
        let mut kubectl = Command::new(&self.kubectl);
        kubectl
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.folder.join("kubeconfig"))
            .env("HOME", &self.folder);
        let mut kubectl = kubectl
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It reads all of it before it writes.
        kubectl
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = kubectl.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

/// The name of a ServiceAccount as a user.
pub(crate) fn user(namespace: &str, service_account: &str) -> String {
    format!("system:serviceaccount:{namespace}:{service_account}")
}

impl Run {
    fn parameter(self) -> &'static str {
        match self {
            Run::Dry => "?dryRun=All",
            Run::Wet => "",
        }
    }
}

/// The path of an object.
fn path(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (version, name) = (
        text("/apiVersion").unwrap(),
        text("/metadata/name").unwrap(),
    );
    let api = if version.contains('/') { "apis" } else { "api" };
    let kind = text("/kind").unwrap().to_lowercase();
    let kinds = kind
        .strip_suffix('y')
        .map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"));
    let namespace = text("/metadata/namespace")
        .map_or_else(String::new, |namespace| format!("namespaces/{namespace}/"));
    format!("/{api}/{version}/{namespace}{kinds}/{name}")
}

/// The path of the collection of Pods.
pub(crate) const PODS: &str = "/api/v1/namespaces/{namespace}/pods";

/// The path of the collection of an object's kind. None for a kind that Kubernetes does not have, or has no longer.
pub(crate) fn collection(object: &Value) -> Option<&'static str> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    Some(match (text("apiVersion")?, text("kind")?) {
        ("v1", "Pod") => PODS,
        ("v1", "PodTemplate") => "/api/v1/namespaces/{namespace}/podtemplates",
        ("v1", "ReplicationController") => "/api/v1/namespaces/{namespace}/replicationcontrollers",
        ("apps/v1", "Deployment") => "/apis/apps/v1/namespaces/{namespace}/deployments",
        ("apps/v1", "StatefulSet") => "/apis/apps/v1/namespaces/{namespace}/statefulsets",
        ("apps/v1", "DaemonSet") => "/apis/apps/v1/namespaces/{namespace}/daemonsets",
        ("apps/v1", "ReplicaSet") => "/apis/apps/v1/namespaces/{namespace}/replicasets",
        ("batch/v1", "Job") => "/apis/batch/v1/namespaces/{namespace}/jobs",
        ("batch/v1", "CronJob") => "/apis/batch/v1/namespaces/{namespace}/cronjobs",
        _ => return None,
    })
}

/// An object without what the API server says of it and of no other one.
pub(crate) fn without_identity(object: &Value) -> Value {
    let mut object = object.clone();
    let text = |field: &str| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    // Where there is a `generateName`, the name is a new one each time.
    let names = [
        text("uid"),
        if text("generateName").is_empty() {
            String::new()
        } else {
            text("name")
        },
    ];
    let parts = [
        ("", &["status"][..]),
        (
            "/metadata",
            &[
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "namespace",
                "managedFields",
            ],
        ),
    ];
    for (part, fields) in parts {
        let part = object
            .pointer_mut(part)
            .and_then(Value::as_object_mut)
            .unwrap();
        fields.iter().for_each(|field| drop(part.remove(*field)));
    }
    // A Job labels its Pods with its own uid and name, and a Pod mounts its token by a name of its own.
    let volumes = object
        .pointer("/spec/volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let volumes = volumes.filter_map(|volume| volume["name"].as_str());
    let names = names
        .iter()
        .map(String::as_str)
        .chain(volumes.filter(|name| name.starts_with("kube-api-access-")));
    let text = object.to_string();
    let text = names
        .filter(|name| !name.is_empty())
        .fold(text, |text, name| text.replace(name, "generated"));
    serde_json::from_str(&text).unwrap()
}

/// The text of a `Warning` header: `299 - "text"`.
fn warning(header: &str) -> String {
    let text = header.split_once('"').map_or(header, |(_, text)| text);
    text.strip_suffix('"').unwrap_or(text).replace("\\\"", "\"")
}

/// A key for the API server, which signs nothing with it here. It need not be secret: it is the number 1.
fn service_account_key() -> String {
    let label = "EC PRIVATE KEY";
    let number = "MDECAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABoAoGCCqGSM49AwEH";
    format!("-----BEGIN {label}-----\n{number}\n-----END {label}-----\n")
}
