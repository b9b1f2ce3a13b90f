//! Releases of each `tls.mode` from their installation to their end, with a server that runs as the Deployment says.

use super::helms;
use super::release::{NAME, Release, pod};
use crate::kubernetes::cluster::{RESTRICTED, Run, Verdict, cluster};
use crate::program::{Folder, Ran};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

/// The server, run as the kubelet would, from the objects that the API server has.
struct Server {
    folder: Folder,
    process: Child,
}

impl Server {
    fn start(release: &Release<'_>) -> Self {
        let folder = Folder::with(&[]);
        place_volumes(release, folder.root());
        let deployment = release.get("deployment", NAME).unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let arguments: Vec<String> = strings(&container["args"])
            .map(|argument| {
                // The container's files are below the folder of the test.
                match argument.split_once("=/") {
                    Some((flag, path)) => format!("{flag}={}", folder.path(path).display()),
                    None => argument.to_owned(),
                }
            })
            .collect();
        let mut command = folder.command(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for variable in container["env"].as_array().into_iter().flatten() {
            command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
        }
        let log = fs::File::create(folder.path("log")).unwrap();
        let process = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Self { folder, process };
        let probe = &container["readinessProbe"]["httpGet"];
        let ready = format!("http://127.0.0.1:{}{}", release.ports[1], probe["path"].as_str().unwrap());
        release.until("the server is ready", || ureq::get(&ready).call().is_ok());
        server
    }

    /// True if the server has reloaded its certificate so many times.
    fn has_reloaded(&self, release: &Release<'_>, times: usize) -> bool {
        let metrics = ureq::get(format!("http://127.0.0.1:{}/metrics", release.ports[1])).call();
        let metrics = metrics.unwrap().body_mut().read_to_string().unwrap();
        let mut lines = metrics.lines().filter(|line| line.ends_with(&format!(" {times}")));
        lines.any(|line| line.contains("_reloads_total{") && line.contains("certificate") && line.contains("done"))
    }

    fn log(&self) -> String {
        self.folder.read("log")
    }

    /// Does what the kubelet does when a Secret or ConfigMap has changed.
    fn update_volumes(&self, release: &Release<'_>) {
        place_volumes(release, self.folder.root());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Writes the files of the Deployment's volumes below the folder.
fn place_volumes(release: &Release<'_>, root: &Path) {
    let deployment = release.get("deployment", NAME).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    for mount in pod["containers"][0]["volumeMounts"].as_array().unwrap() {
        let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        let files: BTreeMap<String, Vec<u8>> = match (&volume["secret"], &volume["configMap"]) {
            (Value::Null, map) => {
                let map = release.get("configmap", map["name"].as_str().unwrap()).unwrap();
                let files = map["data"].as_object().unwrap().iter();
                files.map(|(name, text)| (name.clone(), text.as_str().unwrap().into())).collect()
            }
            (secret, _) => {
                let secret = release.get("secret", secret["secretName"].as_str().unwrap()).unwrap();
                let files = secret["data"].as_object().unwrap().iter();
                files.map(|(name, text)| (name.clone(), base64(text.as_str().unwrap()))).collect()
            }
        };
        let folder = root.join(mount["mountPath"].as_str().unwrap().trim_start_matches('/'));
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in files {
            // At once, as the kubelet's links do.
            fs::write(folder.join("new"), bytes).unwrap();
            fs::rename(folder.join("new"), folder.join(name)).unwrap();
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|digits| {
        let number = digits.iter().fold(0, |number, digit| number << 6 | u32::from(*digit)) << (6 * (4 - digits.len()));
        number.to_be_bytes()[1..digits.len()].to_vec()
    });
    bytes.collect()
}

impl Release<'_> {
    /// True if a pod that is created now gets the agent.
    fn injects(&self) -> bool {
        match self.creates(&pod(&json!({}))) {
            Verdict::Accepted { object, .. } => object.to_string().contains("mackerel/mackerel-container-agent"),
            Verdict::Refused(why) => panic!("{why}"),
        }
    }

    /// Applies the Secret that `webhook certificate` prints for the Service. Returns its data.
    fn issue(&self, secret: &str, old: Option<&str>) -> Value {
        let folder = Folder::with(&[("old.pem", old.unwrap_or_default())]);
        let mut arguments = vec!["webhook", "certificate", "--service", NAME, "--namespace", &self.namespace];
        if old.is_some() {
            arguments.extend(["--ca-bundle", "old.pem"]);
        }
        let Ran { code, stdout, stderr } = folder.run(&arguments);
        assert_eq!(code, Some(0), "{stderr}");
        let mut object: Value = serde_yaml::from_str(&stdout).unwrap();
        object["metadata"]["name"] = secret.into();
        self.apply(&object);
        object["data"].clone()
    }

    /// Writes the CA into the webhook configurations, as cert-manager and OpenShift do.
    fn inject_ca(&self, ca: &Value) {
        for (kind, configuration) in self.webhook_configurations() {
            for (index, _) in configuration["webhooks"].as_array().unwrap().iter().enumerate() {
                let patch =
                    json!([{"op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": ca}]);
                let patch = format!("--patch={patch}");
                let name = self.cluster_name();
                let arguments = ["patch", kind, &name, "--type=json", "--field-manager=cainjector", &patch];
                let (succeeded, said) = self.kubectl(&arguments, "");
                assert!(succeeded, "{said}");
            }
        }
    }

    /// Upgrades and rolls back, and each time the certificate is the same and pods are injected.
    fn upgrades_and_rolls_back(&self, sets: &[&str]) {
        let (before, ca) = (self.secret_data(), self.ca_bundle());
        for round in 0..2 {
            let changed = format!(
                "podAnnotations.round=number-{round},workloads={}",
                if round == 0 { "wait-for" } else { "warn" }
            );
            self.upgrade(&[sets, &[&changed]].concat());
            // What is new in this revision, cert-manager and OpenShift give a CA to.
            if self.ca_bundles().contains(&String::new()) {
                self.inject_ca(&ca.clone().into());
            }
            assert_eq!((self.secret_data(), self.ca_bundle()), (before.clone(), ca.clone()), "upgrade {round}");
            assert!(self.injects(), "upgrade {round}");
        }
        self.helm(&["rollback", NAME, "1"]);
        assert_eq!((self.secret_data(), self.ca_bundle()), (before, ca), "rollback");
        assert!(self.injects(), "rollback");
    }

    /// The certificate of the server.
    fn secret_data(&self) -> Value {
        let deployment = self.get("deployment", NAME).unwrap();
        let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        let secret = volumes.iter().find_map(|volume| volume["secret"]["secretName"].as_str()).unwrap();
        self.get("secret", secret).unwrap()["data"].clone()
    }
}

/// The number of certificates in a bundle.
fn certificates(bundle: &str) -> usize {
    String::from_utf8(base64(bundle)).unwrap().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn generated_keeps_its_certificate_and_renews_it_without_a_missed_pod() {
    let Some(cluster) = cluster() else { return };
    for helm in helms() {
        let release = Release::new(cluster, &helm, "generated");
        release.upgrade(&[]);
        let server = Server::start(&release);
        release.until("pods are injected", || release.injects());
        release.upgrades_and_rolls_back(&[]);

        let (old, old_ca) = (release.secret_data(), release.ca_bundle());
        release.upgrade(&["tls.generated.renew=now"]);
        let (new, ca) = (release.secret_data(), release.ca_bundle());
        assert_eq!((certificates(&old_ca), certificates(&ca)), (1, 2));
        assert_ne!(old["tls.crt"], new["tls.crt"]);
        assert_eq!(new["ca.crt"], ca);
        // The kubelet has not brought the new one yet.
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(release.injects(), "{}", server.log());
        server.update_volumes(&release);
        release.until("the new certificate is served", || server.has_reloaded(&release, 1));
        assert!(release.injects(), "{}", server.log());
        release.upgrade(&["tls.generated.renew=now"]);
        assert_eq!((release.secret_data(), release.ca_bundle()), (new, ca));
        // After five years it is renewed without being asked, and so it is for another Service.
        for (times, note, value) in [(2, "issued", "2020-01-01T00:00:00Z"), (3, "host", "another.shop.svc")] {
            let before = release.secret_data();
            // As Helm 4 itself would have applied it.
            let mut secret = release.get("secret", &format!("{NAME}-tls")).unwrap();
            secret["metadata"]["annotations"][format!("agent-injector.contrib.mackerel.io/{note}")] = value.into();
            secret["metadata"]["managedFields"] = Value::Null;
            let apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=helm", "--filename=-"];
            let (succeeded, said) = release.kubectl(&apply, &secret.to_string());
            assert!(succeeded, "{said}");
            release.upgrade(&["tls.generated.renew=now"]);
            assert_ne!(release.secret_data(), before, "{note}");
            server.update_volumes(&release);
            release.until("the new certificate is served", || server.has_reloaded(&release, times));
            release.until("pods are injected", || release.injects());
        }
        // The next renewal forgets the first CA.
        release.upgrade(&["tls.generated.renew=again"]);
        assert_eq!(certificates(&release.ca_bundle()), 2);
        assert!(release.injects(), "{}", server.log());
    }
}

#[test]
fn the_configuration_arrives_without_a_restart() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "configured");
    release.upgrade(&[]);
    let server = Server::start(&release);
    release.until("pods are injected", || release.injects());
    let text =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {injection: disabled}\n";
    release.patch("configmap", NAME, &json!({"data": {"agent-injector.yaml": text}}));
    server.update_volumes(&release);
    release.until("injection is disabled", || !release.injects());
}

#[test]
fn provided_takes_the_certificate_that_the_program_makes() {
    let Some(cluster) = cluster() else { return };
    for helm in helms() {
        let release = Release::new(cluster, &helm, "provided");
        let data = release.issue("my-tls", None);
        let mode = |ca: &Value| {
            format!("tls.mode=provided,tls.provided.secretName=my-tls,tls.provided.caBundle={}", ca.as_str().unwrap())
        };
        let set = mode(&data["ca.crt"]);
        release.upgrade(&[&set]);
        let server = Server::start(&release);
        release.until("pods are injected", || release.injects());
        release.upgrades_and_rolls_back(&[&set]);
        // Renewed: both CAs to the API server first, then the Secret to the server.
        let old = String::from_utf8(base64(data["ca.crt"].as_str().unwrap())).unwrap();
        let data = release.issue("my-tls", Some(&old));
        release.upgrade(&[&mode(&data["ca.crt"])]);
        assert_eq!(certificates(&release.ca_bundle()), 2);
        assert!(release.injects());
        server.update_volumes(&release);
        release.until("the new certificate is served", || server.has_reloaded(&release, 1));
        assert!(release.injects(), "{}", server.log());
    }
}

/// A kind of cert-manager's, as far as the API server must know it.
fn definition(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.cert-manager.io")},
        "spec": {
            "group": "cert-manager.io", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    })
}

/// Helm's upgrades leave a Secret and a CA alone that other tools made.
#[test]
fn cert_manager_and_openshift_write_certificate_and_ca_and_helm_leaves_them_alone() {
    let Some(cluster) = cluster() else { return };
    for helm in helms() {
        for mode in ["cert-manager", "openshift"] {
            let release = Release::new(cluster, &helm, mode);
            for (kind, plural) in [("Certificate", "certificates"), ("Issuer", "issuers")] {
                release.apply(&definition(kind, plural));
                release.until("the API server knows the kind", || {
                    release.kubectl(&["get", &format!("{plural}.cert-manager.io")], "").0
                });
            }
            let set = format!("tls.mode={mode}");
            release.upgrade(&[&set]);
            let data = release.issue(&format!("{NAME}-{mode}-tls"), None);
            release.inject_ca(&data["ca.crt"]);
            let _server = Server::start(&release);
            release.until("pods are injected", || release.injects());
            release.upgrades_and_rolls_back(&[&set]);
        }
    }
}

#[test]
fn its_pods_are_accepted_where_pod_security_restricted_is_enforced() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "restricted");
    for set in ["tls.mode=generated", "tls.mode=openshift"] {
        release.upgrade(&[set]);
        let mut pod = release.get("deployment", NAME).unwrap()["spec"]["template"].clone();
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["metadata"]["generateName"] = "webhook-".into();
        let verdict = cluster.create(Run::Dry, RESTRICTED, &pod);
        assert!(matches!(&verdict, Verdict::Accepted { warnings, .. } if warnings.is_empty()), "{set}: {verdict:?}");
    }
}

#[test]
fn its_notes_say_what_must_exist_and_what_to_restart() {
    let Some(cluster) = cluster() else { return };
    for helm in helms() {
        let release = Release::new(cluster, &helm, "notes");
        release.upgrade(&["config.apiKey.secretKeyRef.name=team-key,config.injection=annotated"]);
        let notes = release.helm(&["get", "notes", NAME]);
        for part in [
            "kubectl create secret generic team-key --namespace=NAMESPACE --from-literal=MACKEREL_APIKEY=KEY",
            "`mackerel-agent-injector rbac`",
            "kubectl rollout restart deployment,statefulset,daemonset",
            "inject --check --set onError=skip --set injection=annotated -",
        ] {
            assert!(notes.contains(part), "{part}, in:\n{notes}");
        }
    }
}
