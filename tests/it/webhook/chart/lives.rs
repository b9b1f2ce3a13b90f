//! Releases of each `tls.mode` from their installation to their end, with a server that runs as the Deployment says.

use super::release::{NAME, Release};
use super::server::{ChartServer, base64};
use super::{helms, with_helms};
use crate::kubernetes::cluster::{ApiVerdict, RESTRICTED, Run, cluster};
use crate::program::{Folder, Ran};
use serde_json::{Value, json};

impl Release<'_> {
    /// Applies the Secret that `webhook certificate` prints for the Service. Returns its data.
    fn issue(&self, secret: &str, old: Option<&str>) -> Value {
        let folder = Folder::with(&[("old.pem", old.unwrap_or_default())]);
        let mut arguments = vec![
            "webhook",
            "certificate",
            "--service",
            NAME,
            "--namespace",
            &self.namespace,
        ];
        if old.is_some() {
            arguments.extend(["--ca-bundle", "old.pem"]);
        }
        let Ran {
            code,
            stdout,
            stderr,
        } = folder.run(&arguments);
        assert_eq!(code, Some(0), "{stderr}");
        let mut object: Value = serde_yaml::from_str(&stdout).unwrap();
        object["metadata"]["name"] = secret.into();
        self.apply(&object);
        object["data"].clone()
    }

    /// Writes the CA into the webhook configurations, as cert-manager and OpenShift do.
    fn inject_ca(&self, ca: &Value) {
        for (kind, configuration) in self.webhook_configurations() {
            for (index, _) in configuration["webhooks"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
            {
                let patch = json!([{"op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": ca}]);
                let patch = format!("--patch={patch}");
                let name = self.cluster_name();
                let arguments = [
                    "patch",
                    kind,
                    &name,
                    "--type=json",
                    "--field-manager=cainjector",
                    &patch,
                ];
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
            assert_eq!(
                (self.secret_data(), self.ca_bundle()),
                (before.clone(), ca.clone()),
                "upgrade {round}"
            );
            assert!(self.injects(), "upgrade {round}");
        }
        self.helm(&["rollback", NAME, "1"]);
        assert_eq!(
            (self.secret_data(), self.ca_bundle()),
            (before, ca),
            "rollback"
        );
        assert!(self.injects(), "rollback");
    }

    /// The certificate of the server.
    fn secret_data(&self) -> Value {
        let deployment = self.get("deployment", NAME).unwrap();
        let volumes = deployment["spec"]["template"]["spec"]["volumes"]
            .as_array()
            .unwrap();
        let secret = volumes
            .iter()
            .find_map(|volume| volume["secret"]["secretName"].as_str())
            .unwrap();
        self.get("secret", secret).unwrap()["data"].clone()
    }
}

/// The number of certificates in a bundle.
fn certificates(bundle: &str) -> usize {
    String::from_utf8(base64(bundle))
        .unwrap()
        .matches("BEGIN CERTIFICATE")
        .count()
}

#[test]
fn generated_keeps_its_certificate_and_renews_it_without_a_missed_pod() {
    let Some(cluster) = cluster() else { return };
    with_helms(|helm| {
        let release = Release::new(cluster, helm, "generated");
        release.upgrade(&[]);
        let server = ChartServer::start(&release);
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
        release.until("the new certificate is served", || {
            server.has_reloaded(&release, 1)
        });
        assert!(release.injects(), "{}", server.log());
        release.upgrade(&["tls.generated.renew=now"]);
        assert_eq!((release.secret_data(), release.ca_bundle()), (new, ca));
        // After five years it is renewed without being asked, and so it is for another Service.
        for (times, note, value) in [
            (2, "issued", "2020-01-01T00:00:00Z"),
            (3, "host", "another.shop.svc"),
        ] {
            let before = release.secret_data();
            // As Helm 4 itself would have applied it.
            let mut secret = release.get("secret", &format!("{NAME}-tls")).unwrap();
            secret["metadata"]["annotations"]
                [format!("agent-injector.contrib.mackerel.io/{note}")] = value.into();
            secret["metadata"]["managedFields"] = Value::Null;
            let apply = [
                "apply",
                "--server-side",
                "--force-conflicts",
                "--field-manager=helm",
                "--filename=-",
            ];
            let (succeeded, said) = release.kubectl(&apply, &secret.to_string());
            assert!(succeeded, "{said}");
            release.upgrade(&["tls.generated.renew=now"]);
            assert_ne!(release.secret_data(), before, "{note}");
            server.update_volumes(&release);
            release.until("the new certificate is served", || {
                server.has_reloaded(&release, times)
            });
            release.until("pods are injected", || release.injects());
        }
        // The next renewal forgets the first CA.
        release.upgrade(&["tls.generated.renew=again"]);
        assert_eq!(certificates(&release.ca_bundle()), 2);
        assert!(release.injects(), "{}", server.log());
    });
}

#[test]
fn the_configuration_arrives_without_a_restart() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "configured");
    release.upgrade(&[]);
    let server = ChartServer::start(&release);
    release.until("pods are injected", || release.injects());
    let text = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {injection: disabled}\n";
    release.patch(
        "configmap",
        NAME,
        &json!({"data": {"agent-injector.yaml": text}}),
    );
    server.update_volumes(&release);
    release.until("injection is disabled", || !release.injects());
}

#[test]
fn provided_takes_the_certificate_that_the_program_makes() {
    let Some(cluster) = cluster() else { return };
    with_helms(|helm| {
        let release = Release::new(cluster, helm, "provided");
        let data = release.issue("my-tls", None);
        let mode = |ca: &Value| {
            format!(
                "tls.mode=provided,tls.provided.secretName=my-tls,tls.provided.caBundle={}",
                ca.as_str().unwrap()
            )
        };
        let set = mode(&data["ca.crt"]);
        release.upgrade(&[&set]);
        let server = ChartServer::start(&release);
        release.until("pods are injected", || release.injects());
        release.upgrades_and_rolls_back(&[&set]);
        // Renewed: both CAs to the API server first, then the Secret to the server.
        let old = String::from_utf8(base64(data["ca.crt"].as_str().unwrap())).unwrap();
        let data = release.issue("my-tls", Some(&old));
        release.upgrade(&[&mode(&data["ca.crt"])]);
        assert_eq!(certificates(&release.ca_bundle()), 2);
        assert!(release.injects());
        server.update_volumes(&release);
        release.until("the new certificate is served", || {
            server.has_reloaded(&release, 1)
        });
        assert!(release.injects(), "{}", server.log());
    });
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
    with_helms(|helm| {
        for mode in ["cert-manager", "openshift"] {
            let release = Release::new(cluster, helm, mode);
            for (kind, plural) in [("Certificate", "certificates"), ("Issuer", "issuers")] {
                cluster.apply(&definition(kind, plural));
                release.until("the API server knows the kind", || {
                    release
                        .kubectl(&["get", &format!("{plural}.cert-manager.io")], "")
                        .0
                });
            }
            let set = format!("tls.mode={mode}");
            release.upgrade(&[&set]);
            let data = release.issue(&format!("{NAME}-{mode}-tls"), None);
            release.inject_ca(&data["ca.crt"]);
            let _server = ChartServer::start(&release);
            release.until("pods are injected", || release.injects());
            release.upgrades_and_rolls_back(&[&set]);
        }
    });
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
        assert!(
            matches!(&verdict, ApiVerdict::Accepted { warnings, .. } if warnings.is_empty()),
            "{set}: {verdict:?}"
        );
    }
}

#[test]
fn its_notes_say_what_must_exist_and_what_to_restart() {
    let Some(cluster) = cluster() else { return };
    with_helms(|helm| {
        let release = Release::new(cluster, helm, "notes");
        release.upgrade(&["config.apiKey.secretKeyRef.name=team-key,config.injection=annotated"]);
        let notes = release.helm(&["get", "notes", NAME]);
        for part in [
            "kubectl create secret generic team-key --namespace=NAMESPACE --from-literal=MACKEREL_APIKEY=KEY",
            "\nLabel a namespace to opt in: kubectl label namespace NAMESPACE chart-test=",
            "The webhook of mackerel-agent-injector is installed.\n",
            "\nin the namespaces with the label chart-test=",
            "\n1. In each of their namespaces, create the Secret team-key",
            "\n2. For the ServiceAccounts of the pods",
            "\n   kubectl get configmap mackerel-agent-injector --namespace=",
            " -o jsonpath='{.data.agent-injector\\.yaml}' > injector.yaml\n",
            " | mackerel-agent-injector rbac --config injector.yaml - | kubectl apply -f -\n",
            "\n3. Pods that run already have no agent.",
            "kubectl rollout restart deployment,statefulset,daemonset",
            "\n   kubectl get pods,namespaces -A -o json | \
             mackerel-agent-injector status --config injector.yaml --namespace-selector chart-test=",
        ] {
            assert!(notes.contains(part), "{part}, in:\n{notes}");
        }
        let configuration = release.get("configmap", NAME).unwrap();
        assert!(configuration["data"]["agent-injector.yaml"].is_string());
    });
}
