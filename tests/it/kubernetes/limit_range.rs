//! What a LimitRange does to injected pods, and that our report says so before.

use super::cluster::cluster;
use crate::laws::INJECT;
use mackerel_agent_injector::config::Config;
use mackerel_agent_injector::edit;
use mackerel_agent_injector::inject::inject;
use mackerel_agent_injector::report::Reason;
use serde_json::json;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers:
    - name: main
      image: main:1
      resources: {limits: {cpu: 5m, memory: 80Mi}}
";

#[test]
fn kubernetes_refuses_the_pods_that_a_limit_range_is_warned_of() {
    let Some(cluster) = cluster() else { return };
    for (number, (limit, refuses)) in [
        ("{type: Container, max: {memory: 100Mi}}", true),
        ("{type: Container, max: {memory: 128Mi, cpu: 10m}}", false),
        ("{type: Container, max: {cpu: 9m}}", true),
        ("{type: Container, min: {memory: 65Mi}}", true),
        ("{type: Container, min: {memory: 64Mi}}", false),
        ("{type: Container, default: {cpu: 9m, memory: 1Mi}}", true),
        ("{type: Container, default: {cpu: 10m, memory: 80Mi}}", false),
        ("{type: Pod, max: {memory: 100Mi}}", true),
        ("{type: Pod, max: {memory: 1Gi}}", false),
        ("{type: Pod, min: {memory: 100Mi}}", false),
    ]
    .into_iter()
    .enumerate()
    {
        let range =
            format!("apiVersion: v1\nkind: LimitRange\nmetadata: {{name: bounds}}\nspec: {{limits: [{limit}]}}\n");
        let injection = inject(&format!("{range}---\n{POD}"), &Config::default(), INJECT);
        let warned = injection.remarks.iter().any(|remark| remark.finding.reason == Reason::Quota);
        assert_eq!(warned, refuses, "{limit}");

        let namespace = format!("limit-range-{number}");
        cluster.namespace(&namespace, &json!({}));
        let (applied, _, said) = cluster.kubectl(&["apply", "--namespace", &namespace, "--filename", "-"], &range);
        assert!(applied, "{said}");
        let refused = |manifest: &str| cluster.why_refused(&namespace, manifest);
        let why = refused(&edit::apply(POD, &inject(POD, &Config::default(), INJECT).edits));
        assert_eq!(why.is_some(), refuses, "{limit}: {why:?}");
        if let Some(why) = why {
            let is_about_amounts =
                [" usage per ", "must be less than or equal to cpu limit"].iter().any(|s| why.contains(s));
            assert!(is_about_amounts, "{limit}: {why}");
            assert_eq!(refused(POD), None, "{limit}: it is the agent that is refused");
        }
    }
}
