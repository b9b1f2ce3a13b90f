//! A pod with resources of its own takes the agent, whatever its containers have used up of them.

use super::cluster::{SILENT, cluster};
use super::injected::pairs;
use configurations::from_arguments;
use laws::INJECT;

const PODS: [&str; 4] = [
    "requests: {cpu: 200m, memory: 100Mi}",
    "limits: {cpu: 200m, memory: 100Mi}",
    "requests: {cpu: 100m, memory: 50Mi}, limits: {cpu: 200m, memory: 100Mi}",
    "requests: {cpu: 200m, memory: 100Mi}, limits: {cpu: 200m, memory: 100Mi}",
];

/// The resources of the app, which may use up those of the pod.
const APPS: [&str; 3] = [
    "",
    "requests: {cpu: 50m, memory: 40Mi}",
    "requests: {cpu: 100m, memory: 50Mi}",
];

const AGENTS: [&str; 4] = [
    "agent.memo=default",
    "agent.resources={limits: {cpu: 1, memory: 256Mi}}",
    "agent.resources={requests: {cpu: 300m, memory: 128Mi}}",
    "qos=keep",
];

#[test]
fn kubernetes_accepts_the_agent_in_pods_with_resources() {
    let Some(cluster) = cluster() else { return };
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for (pod, app) in PODS.iter().flat_map(|pod| APPS.map(|app| (pod, app))) {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {{agent-injector.contrib.mackerel.io/wait-for: 'db:1'}}\nspec:\n  resources: {{{pod}}}\n  containers: [{{name: web, image: web, resources: {{{app}}}}}]\n"
        );
        for agent in AGENTS {
            for sidecar in ["sidecar=container", "sidecar=native"] {
                let config = from_arguments(&[agent, sidecar, "waitFor.image=wait:1"]).unwrap();
                let pair = pairs(&text, &config, INJECT).pop().unwrap();
                let (before, after) = pair.pods().next().unwrap();
                assert_eq!(cluster.would_take(SILENT, &before).err(), None, "{text}");
                match cluster.would_take(SILENT, &after) {
                    Ok(_) => accepted += 1,
                    Err(why) => wrong.push(format!("{pod} | {app} | {agent} | {sidecar}: {why}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(accepted, PODS.len() * APPS.len() * AGENTS.len() * 2);
}
