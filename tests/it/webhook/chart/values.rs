//! Values: their schema, and the chart's errors for wrong ones.

use super::{
    CERT_MANAGER, OPENSHIFT, PROVIDED, Rendered, chart, helms, name, objects, refused, rendered,
    root, run,
};
use config::{Sources, load};
use configurations::json_schema::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::expected;

fn values_schema() -> Value {
    serde_json::from_str(&fs::read_to_string(chart().join("values.schema.json")).unwrap()).unwrap()
}

/// `UPDATE_EXPECTED=1 cargo test chart` writes the schema of the configuration anew.
#[test]
fn the_schema_has_that_of_the_configuration_as_config_schema_prints_it() {
    let mut expected = values_schema();
    expected["definitions"]["AgentInjector"] = schema();
    let expected = serde_json::to_string_pretty(&expected).unwrap() + "\n";
    let path = chart().join("values.schema.json");
    expected::assert_is(&path, &expected, "cargo test chart");
}

/// Names of maps that the chart copies as they are.
const FREE: [&str; 4] = ["/resources", "/livenessProbe", "/readinessProbe", "/config"];

fn names(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        if !FREE.contains(&&*at) {
            names(value, &at, found);
        }
        found.insert(at);
    }
}

fn schema_names(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        schema_names(property, &at, found);
        found.insert(at);
    }
}

#[test]
fn values_yaml_shows_each_value_of_the_schema() {
    let values: Value =
        serde_yaml::from_str(&fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap();
    let (mut shown, mut known) = (BTreeSet::new(), BTreeSet::new());
    names(&values, "", &mut shown);
    schema_names(&values_schema(), "", &mut known);
    // Helm's own, and parts of what is empty by default.
    let elsewhere = [
        "/global",
        "/tls/certManager/issuerRef/",
        "/tls/clientCA/",
        "/webhook/namespaceSelector/",
        "/webhook/objectSelector/",
    ];
    known.retain(|name| {
        !elsewhere
            .iter()
            .any(|elsewhere| name.starts_with(elsewhere))
    });
    assert_eq!(shown, known);
}

#[test]
fn chart_and_program_have_one_version() {
    let text = fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    let chart: Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(
        [&chart["version"], &chart["appVersion"]],
        [env!("CARGO_PKG_VERSION"); 2]
    );
}

#[test]
fn helm_lint_passes_in_each_mode() {
    for helm in helms() {
        for set in ["tls.mode=generated", PROVIDED, CERT_MANAGER, OPENSHIFT] {
            let said = run(&helm, &["lint", "--strict", "webhook/chart", "--set", set]);
            assert!(
                said.is_ok_and(|said| said.contains("0 chart(s) failed")),
                "{}: {set}",
                helm.display()
            );
        }
    }
}

#[test]
fn generated_without_a_cluster_names_the_other_ways() {
    for said in refused(&[]) {
        let ways = [
            "no cluster here",
            "cert-manager",
            "`mackerel-agent-injector webhook certificate`",
            "openshift",
        ];
        assert!(ways.iter().all(|way| said.contains(way)), "{said}");
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    for (set, named) in [
        ("tls.mode=none", "tls"),
        ("tls.mode=provided", "tls.provided."),
        (
            "tls.mode=provided,tls.provided.caBundle=QUJD",
            "tls.provided.secretName",
        ),
        (
            "tls.mode=provided,tls.provided.secretName=server",
            "tls.provided.caBundle",
        ),
        ("workloads=mutate", "workloads"),
        ("config.injektion=always", "injektion"),
        ("config.injection=sometimes", "injection"),
        ("config.agent.imagePullPolicy=1", "imagePullPolicy"),
        ("replica=3", "replica"),
        ("drain=5m", "drain"),
        ("drain=46s", "drain"),
        ("image.digest=abc", "digest"),
        (
            "tls.mode=openshift,hostNetwork=true",
            "set port to another one",
        ),
        (
            "tls.mode=openshift,config.select.kinds={Deployment}",
            "add `--set config.select.kinds=null`",
        ),
        (
            "tls.mode=openshift,config.select.exclude[0].kind=Job",
            "add `--set config.select.exclude=null`",
        ),
        (
            "tls.mode=openshift,config.select.exclude[0].name=web",
            "add `--set config.select.exclude=null`",
        ),
        (
            "tls.mode=openshift,config.select.exclude[0].group=apps",
            "add `--set config.select.exclude=null`",
        ),
        (
            "tls.mode=openshift,port=8080",
            "metricsPort needs a port of its own",
        ),
        (
            "tls.mode=openshift,metricsPort=443",
            "metricsPort needs a port of its own",
        ),
        (
            "tls.mode=openshift,policy.actions={Deny,Audit,Warn}",
            "policy.actions has Deny and Warn",
        ),
        (
            "tls.mode=openshift,fullnameOverride=a b",
            "fullnameOverride",
        ),
        (
            "tls.mode=openshift,tls.clientCA.secret.secretName=a,tls.clientCA.configMap.name=b",
            "clientCA",
        ),
    ] {
        for said in refused(&[set]) {
            assert!(said.contains(named), "{set}: {said}");
        }
    }
}

/// The places of strings for which the schema has no rule.
fn free_strings(schema: &Value, at: &str, found: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let at = if at.is_empty() {
            name.clone()
        } else {
            format!("{at}.{name}")
        };
        if property["type"] == "string" && property.get("pattern").is_none() {
            found.push(at.clone());
        }
        free_strings(property, &at, found);
        free_strings(&property["items"], &format!("{at}[0]"), found);
    }
}

fn pointers(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    let fields = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value));
    let items = value
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, value)| (index.to_string(), value));
    for (name, value) in fields.chain(items) {
        let at = format!("{at}/{name}");
        pointers(value, &at, found);
        found.insert(at);
    }
}

#[test]
fn no_value_adds_a_field() {
    let mut free = Vec::new();
    free_strings(&values_schema(), "", &mut free);
    // The server may have one source of it only.
    free.retain(|place| !place.starts_with("tls.clientCA.configMap"));
    for place in [
        "priorityClassName",
        "image.tag",
        "listenAddress",
        "serviceMonitor.interval",
        "tls.provided.secretName",
    ] {
        assert!(free.iter().any(|free| free == place), "{place}: {free:?}");
    }
    for mode in [PROVIDED, CERT_MANAGER] {
        let fields = |text: &str| {
            let mut sets = vec![mode.to_owned()];
            sets.push("serviceMonitor.enabled=true,prometheusRule.enabled=true,config.injection=annotated".to_owned());
            let operator = "matchExpressions[0].operator=Exists";
            sets.push(format!(
                "webhook.namespaceSelector.{operator},webhook.objectSelector.{operator}"
            ));
            sets.extend(free.iter().map(|place| format!("{place}={text}")));
            let rendered = rendered(&sets.iter().map(String::as_str).collect::<Vec<_>>())?;
            let mut found = BTreeSet::new();
            rendered
                .0
                .iter()
                .for_each(|object| pointers(object, &name(object), &mut found));
            Some(found)
        };
        assert_eq!(fields("x"), fields("x\n  injected: true"), "{mode}");
    }
}

#[test]
fn names_that_look_like_numbers_stay_names() {
    for helm in helms() {
        let arguments = [
            "template",
            "12",
            "webhook/chart",
            "--namespace=34",
            "--kube-version=1.30",
            "--set",
            PROVIDED,
        ];
        let rendered = Rendered(objects(&run(&helm, &arguments).unwrap()));
        assert_eq!(rendered.configuration()["metadata"]["name"], "12");
        for object in &rendered.0 {
            let metadata = &object["metadata"];
            assert_eq!(metadata["labels"]["app.kubernetes.io/instance"], "12");
            assert!(
                metadata["namespace"] == "34"
                    || metadata["name"].as_str().unwrap().ends_with(".34"),
                "{metadata}"
            );
        }
    }
}

#[test]
fn kubernetes_before_1_30_is_refused() {
    for helm in helms() {
        let said = run(
            &helm,
            &[
                "template",
                "webhook/chart",
                "--kube-version=1.29",
                "--set",
                OPENSHIFT,
            ],
        );
        assert!(
            said.is_err_and(|said| said.contains("kubeVersion: >=1.30")),
            "{}",
            helm.display()
        );
    }
}

/// A field that is removed by null, as Pod Security or OpenShift want it.
#[test]
fn null_in_the_configuration_arrives() {
    let Some(rendered) = rendered(&[PROVIDED, "config.agent.securityContext.runAsUser=null"])
    else {
        return;
    };
    let context = &rendered.configuration()["spec"]["agent"]["securityContext"];
    assert_eq!(*context, serde_json::json!({"runAsUser": null}));
}

/// Settings that the webhook cannot follow, in values that manifests share.
#[test]
fn null_resets_what_shared_values_set() {
    let shared = "config.select.kinds={Deployment},config.select.exclude[0].kind=Job";
    let null = "config.select.kinds=null,config.select.exclude=null";
    let Some(rendered) = rendered(&[PROVIDED, shared, null]) else {
        return;
    };
    let text = rendered
        .at("ConfigMap", "/data/agent-injector.yaml")
        .as_str()
        .unwrap();
    assert!(
        load(&Sources::of_text("agent-injector.yaml", text).for_webhook()).is_ok(),
        "{text}"
    );
}

/// The command of its README that needs no cluster, with both Helms.
#[test]
fn the_example_is_for_the_pods_of_one_team_that_ask() {
    let readme = fs::read_to_string(root().join("examples/webhook-helm/README.md")).unwrap();
    let (_, command) = readme.split_once("```\nhelm ").unwrap();
    let (command, _) = command.split_once('\n').unwrap();
    for helm in helms() {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let rendered = Rendered(objects(
            &run(&helm, &arguments).unwrap_or_else(|said| panic!("{said}")),
        ));
        for webhook in rendered.webhooks() {
            assert_eq!(webhook["namespaceSelector"]["matchLabels"]["team"], "shop");
            assert!(webhook["clientConfig"].get("caBundle").is_none());
        }
        let asks = rendered.webhooks().any(|webhook| {
            webhook["matchConditions"]
                .to_string()
                .contains("startsWith")
        });
        assert!(asks);
        assert_eq!(
            rendered.configuration()["spec"]["apiKey"]["secretKeyRef"]["name"],
            "mackerel"
        );
    }
}
