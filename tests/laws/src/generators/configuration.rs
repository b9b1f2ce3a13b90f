//! Generated configurations.

use super::Tape;
use config::Config;

/// A configuration, and its text.
pub fn configuration(tape: &mut Tape<'_>) -> (Config, String) {
    let text = configuration_text(tape);
    (crate::configuration(Some(&text), &[], None), text)
}

/// The text alone.
pub fn configuration_text(tape: &mut Tape<'_>) -> String {
    let mut spec = String::new();
    let mut say = |line: &str| {
        if !line.is_empty() {
            spec.push_str("  ");
            spec.push_str(line);
            spec.push('\n');
        }
    };
    say(tape.one_of(&[
        "",
        "",
        "",
        "injection: annotated",
        "injection: always",
        "injection: disabled",
    ]));
    say(tape.one_of(&[
        "",
        "",
        "",
        "kubernetesVersion: \"1.28\"",
        "kubernetesVersion: '1.30'",
        "kubernetesVersion: '1.33'",
        "sidecar: native",
        "sidecar: native",
        "sidecar: container",
    ]));
    say(tape.one_of(&[
        "",
        "",
        "kubelet: {readOnlyPort: 10255}",
        "kubelet: {port: 10350}",
        "kubelet: {insecureTLS: true}",
        "platform: eks-fargate",
    ]));
    say(tape.one_of(&[
        "",
        "",
        "podTemplates: [{group: example.com, kind: Widget, path: /spec/template}]",
    ]));
    say(tape.one_of(&["", "", "", "namespace: shop"]));
    say(tape.one_of(&["", "", "qos: keep", "qos: refuse"]));
    say(tape.one_of(&[
        "",
        "",
        "apiKey: {secretKeyRef: {name: other}}",
        "apiKey: {secretKeyRef: {key: key}}",
    ]));
    say(tape.one_of(&["", "", "onError: skip"]));
    say(tape.one_of(&[
        "",
        "",
        "",
        "select: {kinds: [Deployment]}",
        "select: {systemNamespaces: true}",
        "select: {podSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}",
    ]));
    say(tape.one_of(&[
        "",
        "",
        "waitFor: {image: a}",
        "waitFor: {image: b, position: first, annotations: [com.baeldung/wait-for-it]}",
        "waitFor: {image: a, timeoutSeconds: 30, annotations: [com.baeldung/wait-for-it]}",
        "waitFor: {image: a, position: first}",
    ]));
    say(tape.one_of(&[
        "",
        "",
        "",
        "annotations: {allow: []}",
        "annotations: {allow: [roles, wait-for, sidecar]}",
    ]));
    let choices: [&[&str]; 13] = [
        &[
            "",
            "",
            "imagePullSecrets: [team]",
            "imagePullSecrets: [mirror, team]",
        ],
        &["", "", "image: \"example/mackerel-container-agent:2\""],
        &["", "", "roles: [\"shop:web\"]"],
        &[
            "",
            "",
            "config: {configMapKeyRef: {name: shop}}",
            "config: {configMapKeyRef: {name: shop}, pollingMinutes: 5}",
            "config: {location: \"https://example.com/a.yaml\"}",
        ],
        &[
            "",
            "",
            "displayName: \"売り場 $(MACKEREL_KUBERNETES_POD_NAME)\"",
            "memo: \"- a\\n# b: c\\n\"",
        ],
        &[
            "",
            "",
            "",
            "hostStatusOnStart: standby",
            "hostIdStore: memory",
        ],
        &["", "", "", "ignoreContainer: '^(istio-proxy|a\\*)$(b)'"],
        &[
            "",
            "",
            "",
            "logLevel: DEBUG",
            "apiBase: 'https://mackerel.example.com/'",
        ],
        &["", "", "", "imagePullPolicy: Always"],
        &[
            "",
            "",
            "resources: {limits: null}",
            "resources: {limits: {cpu: 1}}",
            "resources: {requests: {cpu: 0.1}}",
        ],
        &["", "", "securityContext: {runAsUser: null}"],
        &["", "", "", "tmp: {sizeLimit: null}", "tmp: {medium: null}"],
        &[
            "",
            "",
            "env: [{name: HTTP_PROXY, value: \"yes: # '1'\"}, {name: TMPDIR, value: \"0644\"}]",
            "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a}}}, {name: MACKEREL_KUBERNETES_KUBELET_HOST, value: 'a'}]",
        ],
    ];
    let mut agent: Vec<&str> = choices
        .into_iter()
        .map(|choices| tape.one_of(choices))
        .collect();
    agent.retain(|setting| !setting.is_empty());
    say(&format!("agent: {{{}}}", agent.join(", ")));
    format!(
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nmetadata:\n  name: generated\nspec:\n{spec}"
    )
}
