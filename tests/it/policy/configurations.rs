//! Policies of many configurations: each one applies, compiles and gives the engine's pods, or `policy` says why there is none.

use super::equal::{corpus_pods, generated_pods, subjects};
use super::tally::Tally;
use super::{Policy, Settings, plain_pod};
use configurations::configurations;
use laws::configuration;
use std::fs;

/// Each configuration is compared with one of so many pods, and the next one with others.
const STEP: usize = 4;

/// Applies the policies, and compares generated pods, some of the corpus, and one that asks for the agent.
fn compare(name: &str, all: &[(String, Settings)]) -> Option<Vec<(String, String)>> {
    let mut all_pods = generated_pods(40 * STEP);
    all_pods.extend(corpus_pods(name, 20 * STEP).unwrap_or_default());
    let mut plain = plain_pod();
    plain["metadata"]["labels"] = serde_json::json!({"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/name": "web", "app": "web", "tier": "web"});
    let settings: Vec<Settings> = all.iter().map(|(_, settings)| settings.clone()).collect();
    let mut without_policy = Vec::new();
    let mut tally = Tally::default();
    let policies = Policy::apply_all(name, &settings)?;
    for (number, (policy, (name, settings))) in policies.iter().zip(all).enumerate() {
        let policy = match policy {
            Ok(policy) => policy,
            Err(why) => {
                without_policy.push((name.clone(), why.clone()));
                continue;
            }
        };
        let config = configuration(settings.file.as_deref(), &settings.sets, None);
        let others = all_pods.iter().skip(number % STEP).step_by(STEP);
        let mut pods: Vec<_> = others.cloned().collect();
        pods.push(("plain".to_owned(), plain.clone()));
        let before = tally.equal;
        tally.add(policy, &subjects(&pods, policy, &config));
        assert!(tally.equal > before, "no pod is injected: {name}\n{tally}");
    }
    tally.holds(15);
    Some(without_policy)
}

#[test]
fn settings_of_the_agent_and_of_the_cluster() {
    let sets: [&[&str]; 17] = [
        &["sidecar=native"],
        &["sidecar=container"],
        &["kubelet.readOnlyPort=10255"],
        &["platform=eks-fargate"],
        &[
            "platform=kubernetes",
            "agent.roles=[$(namespace):$(label:app)]",
        ],
        &["agent.token.mount=always"],
        &[
            "agent.env=[{name: ZONE, value: \"it's $(A) \\\\\"}, {name: KEY, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
        ],
        &["injection=annotated"],
        &[
            "agent.resources={requests: {cpu: 20m, memory: 96Mi}, limits: {cpu: 100m, memory: 256Mi}}",
        ],
        &[
            "agent.resources=null",
            "agent.tmp.sizeLimit=null",
            "agent.tmp.medium=null",
            "agent.securityContext.runAsUser=null",
        ],
        &["qos=keep"],
        &["agent.tmp=null"],
        &["onError=fail"],
        &["qos=refuse", "hooks=inject"],
        &[
            "agent.imagePullSecrets=[team, mirror]",
            "agent.volumeMounts=[{name: cache, mountPath: /cache}]",
        ],
        &[
            "agent.volumes=[{name: tmp-1, emptyDir: {}}, {name: plugin, configMap: {name: plugin}}]",
            "agent.volumeMounts=[{name: plugin, mountPath: /plugin}]",
            "agent.envFrom=[{secretRef: {name: proxy}}]",
            "agent.readinessProbe={exec: {command: [test, -d, /var/tmp]}}",
            "agent.lifecycle={preStop: {sleep: {seconds: 1}}}",
        ],
        &[
            r#"agent.displayName=it's \ "$(A)" ${{ b }} 監視"#,
            "agent.memo='+variables.record+'",
            "agent.roles=[shop:web]",
        ],
    ];
    let all = sets.map(|sets| (sets.join(" "), Settings::of_sets(sets)));
    if let Some(without_policy) = compare("policy-setting", &all) {
        assert!(without_policy.is_empty(), "{without_policy:#?}");
    }
}

#[test]
fn valid_configurations() {
    let mut all = Vec::new();
    for (name, path) in configurations("valid") {
        let settings = Settings {
            file: Some(fs::read_to_string(path).unwrap()),
            // The pods are in another namespace.
            sets: ["kinds", "exclude", "namespaces"]
                .map(|list| format!("select.{list}=null"))
                .to_vec(),
        };
        all.push((name, settings));
    }
    if let Some(without_policy) = compare("policy-valid", &all) {
        let [(name, why)] = &without_policy[..] else {
            panic!("{without_policy:#?}")
        };
        assert_eq!(name, "metadata-belongs-to-the-tool.yaml");
        assert!(why.starts_with("error: `injection` is `disabled`"), "{why}");
    }
}
