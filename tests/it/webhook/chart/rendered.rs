//! The rendered objects, by values.

use super::{CERT_MANAGER, OPENSHIFT, PROVIDED, Rendered, name, rendered};
use mackerel::annotations::PREFIX;
use serde_json::{Value, json};

/// Kubernetes' own namespaces, as the configuration has them.
const SYSTEM: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// The values of a condition on that key.
fn condition<'a>(selector: &'a Value, key: &str, operator: &str) -> Option<&'a Value> {
    let conditions = selector["matchExpressions"].as_array()?;
    let mut found = conditions
        .iter()
        .filter(|condition| condition["key"] == key && condition["operator"] == operator);
    found.next().map(|condition| &condition["values"])
}

const NAMESPACE: &str = "kubernetes.io/metadata.name";

#[test]
fn by_default_there_are_these_objects() {
    let Some(rendered) = rendered(&[PROVIDED]) else {
        return;
    };
    let names: Vec<String> = rendered.0.iter().map(name).collect();
    let expected = [
        "ConfigMap/mackerel-agent-injector",
        "Deployment/mackerel-agent-injector",
        "MutatingWebhookConfiguration/mackerel-agent-injector.mackerel",
        "NetworkPolicy/mackerel-agent-injector",
        "PodDisruptionBudget/mackerel-agent-injector",
        "Service/mackerel-agent-injector",
        "ValidatingAdmissionPolicy/mackerel-agent-injector.mackerel",
        "ValidatingAdmissionPolicyBinding/mackerel-agent-injector.mackerel",
        "ValidatingWebhookConfiguration/mackerel-agent-injector.mackerel",
    ];
    assert_eq!(names, expected);
    let image = crate::packages::published::image();
    assert_eq!(
        rendered.configuration()["spec"],
        json!({"onError": "skip", "waitFor": {"image": image}})
    );
}

#[test]
fn each_mode_has_one_writer_of_certificate_and_ca() {
    for (mode, annotation) in [
        (PROVIDED, None),
        (
            CERT_MANAGER,
            Some((
                "cert-manager.io/inject-ca-from",
                "mackerel/mackerel-agent-injector",
            )),
        ),
        (
            OPENSHIFT,
            Some(("service.beta.openshift.io/inject-cabundle", "true")),
        ),
    ] {
        let Some(rendered) = rendered(&[mode]) else {
            return;
        };
        for webhook in rendered.webhooks() {
            let expected = if annotation.is_none() {
                json!("QUJD")
            } else {
                Value::Null
            };
            assert_eq!(webhook["clientConfig"]["caBundle"], expected, "{mode}");
        }
        for kind in [
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ] {
            let annotations = &rendered.of_kind(kind).unwrap()["metadata"]["annotations"];
            let expected = annotation.map_or(Value::Null, |(key, value)| json!({key: value}));
            assert_eq!(*annotations, expected, "{mode}");
        }
        assert!(rendered.of_kind("Secret").is_none(), "{mode}");
    }
}

#[test]
fn cert_manager_issues_for_the_service_by_a_ca_that_lasts_or_by_yours() {
    let find = |rendered: &Rendered, wanted: &str| {
        rendered
            .0
            .iter()
            .find(|object| name(object) == wanted)
            .cloned()
    };
    let Some(own) = rendered(&[CERT_MANAGER]) else {
        return;
    };
    let leaf = find(&own, "Certificate/mackerel-agent-injector").unwrap();
    assert_eq!(
        leaf["spec"]["dnsNames"],
        json!(["mackerel-agent-injector.mackerel.svc"])
    );
    assert_eq!(
        leaf["spec"]["secretName"],
        own.at(
            "Deployment",
            "/spec/template/spec/volumes/0/secret/secretName"
        )
        .clone()
    );
    let ca = find(&own, "Certificate/mackerel-agent-injector-ca").unwrap();
    assert_eq!(ca["spec"]["privateKey"]["rotationPolicy"], "Never");
    let issuer = find(&own, "Issuer/mackerel-agent-injector-ca").unwrap();
    assert_eq!(issuer["spec"]["ca"]["secretName"], ca["spec"]["secretName"]);
    assert_eq!(
        leaf["spec"]["issuerRef"]["name"],
        "mackerel-agent-injector-ca"
    );

    let yours =
        "tls.certManager.issuerRef.name=internal,tls.certManager.issuerRef.kind=ClusterIssuer";
    let yours = rendered(&[CERT_MANAGER, yours]).unwrap();
    assert!(yours.of_kind("Issuer").is_none());
    let issuer = yours.at("Certificate", "/spec/issuerRef");
    assert_eq!(
        *issuer,
        json!({"name": "internal", "kind": "ClusterIssuer"})
    );
}

#[test]
fn on_openshift_its_ranges_decide_about_users() {
    let Some(rendered) = rendered(&[OPENSHIFT]) else {
        return;
    };
    let server = rendered.at("Deployment", "/spec/template/spec/securityContext");
    assert_eq!(
        (&server["runAsUser"], &server["runAsNonRoot"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(
        rendered.configuration()["spec"]["agent"]["securityContext"],
        json!({"runAsUser": null})
    );
    let secret = rendered.at(
        "Deployment",
        "/spec/template/spec/volumes/0/secret/secretName",
    );
    let annotations = rendered.at("Service", "/metadata/annotations");
    assert_eq!(
        annotations["service.beta.openshift.io/serving-cert-secret-name"],
        *secret
    );
    // Unless the configuration says otherwise.
    let set = super::rendered(&[OPENSHIFT, "config.agent.securityContext.runAsUser=1000"]).unwrap();
    assert_eq!(
        set.configuration()["spec"]["agent"]["securityContext"],
        json!({"runAsUser": 1000})
    );
}

#[test]
fn pods_are_asked_about_when_they_are_created_and_other_webhooks_have_had_their_turn_once() {
    let Some(rendered) = rendered(&[PROVIDED]) else {
        return;
    };
    let webhook = rendered.webhook("/mutate");
    let rule = json!([{
        "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Namespaced",
    }]);
    for (field, expected) in [
        ("rules", rule),
        ("failurePolicy", json!("Ignore")),
        ("timeoutSeconds", json!(5)),
        ("sideEffects", json!("None")),
        ("reinvocationPolicy", json!("Never")),
        ("matchPolicy", json!("Equivalent")),
        ("admissionReviewVersions", json!(["v1"])),
        ("matchConditions", Value::Null),
    ] {
        assert_eq!(webhook[field], expected, "{field}");
    }
    let fail = super::rendered(&[
        PROVIDED,
        "webhook.failurePolicy=Fail,webhook.timeoutSeconds=3",
    ])
    .unwrap();
    let webhook = fail.webhook("/mutate");
    assert_eq!(
        (&webhook["failurePolicy"], &webhook["timeoutSeconds"]),
        (&json!("Fail"), &json!(3))
    );
    assert_eq!(fail.webhook("/warn")["failurePolicy"], "Ignore");
}

#[test]
fn the_configuration_chooses_namespaces_and_globs_are_left_to_the_server() {
    let system_and_team = json!([SYSTEM[0], SYSTEM[1], SYSTEM[2], "team-a"]);
    let cases = [
        ("config.injection=always", Some(json!(SYSTEM)), None),
        (
            "config.select.excludeNamespaces={team-a,dev-*}",
            Some(system_and_team),
            None,
        ),
        ("config.select.systemNamespaces=true", None, None),
        (
            "config.select.systemNamespaces=true,config.select.excludeNamespaces={a}",
            Some(json!(["a"])),
            None,
        ),
        (
            "config.select.namespaces={a,b}",
            Some(json!(SYSTEM)),
            Some(json!(["a", "b"])),
        ),
        (
            "config.select.namespaces={a,b-?}",
            Some(json!(SYSTEM)),
            None,
        ),
    ];
    for (set, excluded, only) in cases {
        let Some(rendered) = rendered(&[PROVIDED, set]) else {
            return;
        };
        let policy = rendered.at("ValidatingAdmissionPolicy", "/spec/matchConstraints");
        for selector in rendered
            .webhooks()
            .chain([policy])
            .map(|webhook| &webhook["namespaceSelector"])
        {
            assert_eq!(
                condition(selector, NAMESPACE, "NotIn"),
                excluded.as_ref(),
                "{set}"
            );
            assert_eq!(condition(selector, NAMESPACE, "In"), only.as_ref(), "{set}");
        }
    }
}

#[test]
fn values_add_to_both_selectors_and_own_pods_stay_out() {
    let sets = [
        PROVIDED,
        "webhook.namespaceSelector.matchLabels.mackerel=enabled",
        "webhook.objectSelector.matchExpressions[0].key=job-name,webhook.objectSelector.matchExpressions[0].operator=DoesNotExist",
    ];
    let Some(rendered) = rendered(&sets) else {
        return;
    };
    let policy = rendered.at("ValidatingAdmissionPolicy", "/spec/matchConstraints");
    for webhook in rendered.webhooks().chain([policy]) {
        let (namespaces, objects) = (&webhook["namespaceSelector"], &webhook["objectSelector"]);
        assert_eq!(namespaces["matchLabels"], json!({"mackerel": "enabled"}));
        assert_eq!(
            condition(namespaces, NAMESPACE, "NotIn"),
            Some(&json!(SYSTEM))
        );
        assert!(condition(objects, "job-name", "DoesNotExist").is_some());
        let own = condition(objects, "app.kubernetes.io/name", "NotIn").unwrap();
        let labels = rendered.at("Deployment", "/spec/template/metadata/labels");
        assert_eq!(*own, json!([labels["app.kubernetes.io/name"]]));
        assert_eq!(
            rendered.at("Deployment", "/metadata/labels")["app.kubernetes.io/name"],
            own[0]
        );
    }
}

#[test]
fn with_annotated_only_pods_that_ask_arrive() {
    for injection in ["annotated", "disabled"] {
        let set = format!(
            "config.injection={injection},config.waitFor.annotations={{example.com/wait,old/wait}}"
        );
        let Some(rendered) = rendered(&[PROVIDED, &set]) else {
            return;
        };
        let expression = rendered.webhook("/mutate")["matchConditions"][0]["expression"]
            .as_str()
            .unwrap();
        for part in [
            &*format!("k.startsWith('{PREFIX}')"),
            "k in ['example.com/wait', 'old/wait']",
        ] {
            assert!(expression.contains(part), "{expression}");
        }
    }
}

#[test]
fn workloads_are_warned_of_mutated_for_wait_for_or_left_alone() {
    let Some(warn) = rendered(&[PROVIDED]) else {
        return;
    };
    assert!(warn.webhook("/warn")["reinvocationPolicy"].is_null());
    let wait_for = rendered(&[PROVIDED, "workloads=wait-for"]).unwrap();
    assert!(wait_for.of_kind("ValidatingWebhookConfiguration").is_none());
    assert_eq!(wait_for.webhook("/wait-for")["reinvocationPolicy"], "Never");
    // The template of a Job is immutable, so nothing may be added to it by an update.
    let (both, create) = (json!(["CREATE", "UPDATE"]), json!(["CREATE"]));
    for (webhook, jobs) in [
        (warn.webhook("/warn"), &both),
        (wait_for.webhook("/wait-for"), &create),
    ] {
        assert_eq!(webhook["timeoutSeconds"], 2);
        let rules = webhook["rules"].as_array().unwrap();
        let of = |rule: &Value| (rule["resources"].clone(), rule["operations"].clone());
        let expected = [
            (
                json!(["deployments", "statefulsets", "daemonsets", "replicasets"]),
                both.clone(),
            ),
            (json!(["cronjobs"]), both.clone()),
            (json!(["jobs"]), jobs.clone()),
        ];
        assert_eq!(rules.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(webhook["matchConditions"].as_array().unwrap().len(), 3);
    }
    let off = rendered(&[PROVIDED, "workloads=off"]).unwrap();
    assert_eq!(off.webhooks().count(), 1);
}

#[test]
fn the_policy_is_about_pods_that_should_have_the_agent() {
    let Some(always) = rendered(&[PROVIDED]) else {
        return;
    };
    let condition = |rendered: &Rendered, name: &str| {
        let conditions = rendered
            .at("ValidatingAdmissionPolicy", "/spec/matchConditions")
            .as_array()
            .unwrap()
            .iter();
        let mut found = conditions.filter(|condition| condition["name"] == name);
        found
            .next()
            .map(|condition| condition["expression"].as_str().unwrap().to_owned())
    };
    assert!(
        condition(&always, "wanted")
            .unwrap()
            .ends_with("!= 'false'")
    );
    assert_eq!(
        *always.at("ValidatingAdmissionPolicy", "/spec/failurePolicy"),
        "Ignore"
    );
    assert_eq!(
        *always.at(
            "ValidatingAdmissionPolicyBinding",
            "/spec/validationActions"
        ),
        json!(["Warn", "Audit"])
    );

    let annotated =
        rendered(&[PROVIDED, "config.injection=annotated,policy.actions={Deny}"]).unwrap();
    assert!(
        condition(&annotated, "wanted")
            .unwrap()
            .ends_with("== 'true'")
    );
    assert!(condition(&always, "not-a-hook").is_some());
    let hooks = rendered(&[PROVIDED, "config.hooks=inject"]).unwrap();
    assert!(condition(&hooks, "not-a-hook").is_none());
    assert_eq!(
        *annotated.at("ValidatingAdmissionPolicy", "/spec/failurePolicy"),
        "Fail"
    );

    for off in ["policy.enabled=false", "config.injection=disabled"] {
        assert!(
            rendered(&[PROVIDED, off])
                .unwrap()
                .of_kind("ValidatingAdmissionPolicy")
                .is_none(),
            "{off}"
        );
    }
    let selected = [
        PROVIDED,
        "config.select.podSelector.matchLabels.tier=web,config.select.excludeNamespaces={dev-*}",
        "config.select.exclude[0].kind=Pod,config.select.exclude[0].name=probe,config.select.exclude[1].podSelector.matchLabels.job=yes",
    ];
    let selected = rendered(&selected).unwrap();
    let labels = selected.at(
        "ValidatingAdmissionPolicy",
        "/spec/matchConstraints/objectSelector",
    );
    assert_eq!(self::condition(labels, "tier", "In"), Some(&json!(["web"])));
    assert_eq!(
        condition(&selected, "not-an-excluded-namespace").unwrap(),
        "!request.namespace.matches('^(dev-.*)$')"
    );
    let excluded = condition(&selected, "not-excluded").unwrap();
    assert!(
        excluded.contains("'job'")
            && excluded.contains("'probe'")
            && excluded.matches(" || ").count() == 1,
        "{excluded}"
    );
}

#[test]
fn the_deployment_is_careful() {
    let Some(rendered) = rendered(&[PROVIDED]) else {
        return;
    };
    let pod = rendered.at("Deployment", "/spec/template/spec");
    let expected = [
        ("/spec/replicas", json!(2)),
        ("/spec/strategy/rollingUpdate/maxUnavailable", json!(0)),
        (
            "/spec/template/spec/automountServiceAccountToken",
            json!(false),
        ),
        (
            "/spec/template/spec/containers/0/resources/limits/memory",
            json!("256Mi"),
        ),
        (
            "/spec/template/spec/containers/0/securityContext/readOnlyRootFilesystem",
            json!(true),
        ),
        (
            "/spec/template/spec/volumes/0/secret/secretName",
            json!("server"),
        ),
    ];
    for (pointer, expected) in expected {
        assert_eq!(*rendered.at("Deployment", pointer), expected, "{pointer}");
    }
    assert!(pod["serviceAccountName"].is_null());
    let keys = pod["topologySpreadConstraints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|constraint| &constraint["topologyKey"]);
    assert!(keys.eq(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]));
    let policy = rendered.at("NetworkPolicy", "/spec");
    assert_eq!(
        (&policy["egress"], &policy["policyTypes"]),
        (&json!([]), &json!(["Ingress", "Egress"]))
    );
    let everyone = |port: &str| json!({"ports": [{"port": port, "protocol": "TCP"}]});
    assert_eq!(
        policy["ingress"],
        json!([everyone("https"), everyone("metrics")])
    );
    assert_eq!(*rendered.at("Service", "/spec/ports/0/port"), 443);
}

#[test]
fn values_reach_the_deployment() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let image = format!("image.repository=mirror/injector,image.digest={digest}");
    let sets = [
        PROVIDED,
        &image,
        "imagePullSecrets[0].name=mirror,priorityClassName=system-cluster-critical,nodeSelector.disk=ssd,port=10260,hostNetwork=true",
        "tolerations[0].operator=Exists,drain=20s,logFormat=text,podAnnotations.a=b,livenessProbe=null,service.port=8443",
    ];
    let Some(rendered) = rendered(&sets) else {
        return;
    };
    let pod = rendered.at("Deployment", "/spec/template/spec");
    let server = &pod["containers"][0];
    assert_eq!(server["image"], format!("mirror/injector@{digest}"));
    assert!(server["livenessProbe"].is_null() && server["readinessProbe"].is_object());
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "mirror"}]));
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(pod["nodeSelector"], json!({"disk": "ssd"}));
    assert_eq!(pod["tolerations"], json!([{"operator": "Exists"}]));
    assert_eq!(pod["hostNetwork"], true);
    for argument in ["--listen=0.0.0.0:10260", "--drain=20s", "--log-format=text"] {
        assert!(
            server["args"]
                .as_array()
                .unwrap()
                .contains(&json!(argument)),
            "{argument}"
        );
    }
    assert_eq!(
        rendered.webhook("/mutate")["clientConfig"]["service"]["port"],
        8443
    );
}

#[test]
fn the_server_checks_its_name_and_where_it_is_asked_for_its_clients() {
    let Some(plain) = rendered(&[PROVIDED]) else {
        return;
    };
    let arguments = |rendered: &Rendered| {
        let arguments = rendered
            .at("Deployment", "/spec/template/spec/containers/0/args")
            .as_array()
            .unwrap();
        arguments
            .iter()
            .map(|argument| argument.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(
        arguments(&plain)
            .contains(&"--server-name=mackerel-agent-injector.mackerel.svc".to_owned())
    );
    assert!(
        !arguments(&plain)
            .iter()
            .any(|argument| argument.starts_with("--client-ca"))
    );
    for (set, source) in [
        (
            "tls.clientCA.secret.secretName=clients",
            json!({"name": "client-ca", "secret": {"secretName": "clients"}}),
        ),
        (
            "tls.clientCA.configMap.name=clients",
            json!({"name": "client-ca", "configMap": {"name": "clients"}}),
        ),
    ] {
        let rendered = rendered(&[
            PROVIDED,
            set,
            "networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28",
        ])
        .unwrap();
        let pod = rendered.at("Deployment", "/spec/template/spec");
        assert_eq!(pod["volumes"][2], source);
        let mount = &pod["containers"][0]["volumeMounts"][2];
        assert_eq!(mount["name"], "client-ca");
        let file = format!(
            "--client-ca={}/ca.crt",
            mount["mountPath"].as_str().unwrap()
        );
        assert!(arguments(&rendered).contains(&file));
        let ingress = rendered.at("NetworkPolicy", "/spec/ingress");
        assert_eq!(
            ingress[0]["from"],
            json!([{"ipBlock": {"cidr": "10.0.0.0/28"}}])
        );
        assert!(ingress[1]["ports"][0]["port"] == "metrics" && ingress[1]["from"].is_null());
    }
}

#[test]
fn monitoring_is_there_where_it_is_asked_for() {
    let Some(rendered) = rendered(&[
        PROVIDED,
        "serviceMonitor.enabled=true,prometheusRule.enabled=true",
    ]) else {
        return;
    };
    assert_eq!(
        *rendered.at("ServiceMonitor", "/spec/endpoints/0/port"),
        "metrics"
    );
    let rules = rendered
        .at("PrometheusRule", "/spec/groups/0/rules")
        .as_array()
        .unwrap();
    let webhook = rendered.webhook("/mutate")["name"].as_str().unwrap();
    let missed = format!("apiserver_admission_webhook_fail_open_count{{name=\"{webhook}\"}}");
    let expected =
        format!("increase({missed}[10m]) > 0 or ({missed} unless {missed} offset 10m) > 0");
    assert_eq!(rules[0]["expr"], expected);

    // Without the ServiceMonitor there is no `up`, so the alert about its absence would always fire.
    let is_there = |rules: &[Value], alert: &str| rules.iter().any(|rule| rule["alert"] == alert);
    let down = |rules: &[Value]| is_there(rules, "MackerelAgentInjectorDown");
    assert!(is_there(rules, "MackerelAgentInjectorHandshakeFails"));
    assert!(down(rules));
    let alone = super::rendered(&[PROVIDED, "prometheusRule.enabled=true"]).unwrap();
    let rules = alone
        .at("PrometheusRule", "/spec/groups/0/rules")
        .as_array()
        .unwrap();
    assert!(rules.len() > 1 && !down(rules));
}
