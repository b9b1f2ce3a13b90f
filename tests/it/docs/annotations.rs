//! `annotations.md` of both books: every annotation, from `crates/mackerel/src/annotations.rs` and the doc comments of the settings.
//!
//! `docs/annotations.yaml` has the Japanese sentences, each beside the English one that it translates, and an example of each.

use super::configuration::{self, SettingEntry};
use config::annotations::{overlay, request};
use mackerel::annotations::Annotation;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use support::root;

struct AnnotationPageWords {
    file: &'static str,
    title: &'static str,
    introduction: &'static str,
    sets: &'static str,
    /// The words with which the default begins in the sentence about a setting; its choices follow.
    default: &'static str,
    full_stop: &'static str,
    /// The end of a sentence that another one follows.
    end: &'static str,
    /// The section about fields that messages name.
    fields: &'static str,
}

const ENGLISH: AnnotationPageWords = AnnotationPageWords {
    file: "docs/en/annotations.md",
    title: "Annotations",
    introduction: "Annotations override the [configuration](configuration.md) for a single workload. Set them on the \
                   **pod template** (`spec.template.metadata.annotations`). As labels, or on the workload itself, the `jobTemplate` of a CronJob, a Namespace or any other object, they have no effect and \
                   cause the warning `misplaced-annotation`. Namespaces are selected by [`select.namespaces`](configuration.md#selectnamespaces), \
                   not by annotation. Each name begins with `agent-injector.contrib.mackerel.io/`. Values are strings of at most 4096 bytes: write \
                   numbers and `true` in quotes. The agent's own configuration file wins over all annotations: see \
                   [`agent.config`](configuration.md#agentconfig).\n\n\
                   In the values of `memo`, `display-name`, `agent-config-location` and `env.NAME`, `$(MACKEREL_KUBERNETES_POD_NAME)` and `$(MACKEREL_KUBERNETES_NAMESPACE)` become the names of the pod and of its namespace. \
                   References to all other variables are text, since they could publish a secret: `env.DSN: \"mysql://root:$(DB_PASSWORD)@db\"` \
                   is not expanded. Set such a variable in [`agent.env`](configuration.md#agentenv).\n\n\
                   Where people may set annotations and not images, list those that they may use in \
                   [`annotations.allow`](configuration.md#annotationsallow): [Threat model](threat-model.md#annotations) says which to leave out.",
    sets: "Sets",
    default: "Default: ",
    full_stop: ".",
    end: ". ",
    fields: "## Fields of the agent\n\nMessages name fields of the agent's container (`hand-edited`, `updated`, `adopt-refused`). These set them:\n\n\
             | field | annotation | setting |\n\
             | --- | --- | --- |\n\
             | `env: MACKEREL_…` | the one whose setting [names the variable](configuration.md#agent), such as `roles` | the same; without one, `agent.env` |\n\
             | `env: MACKEREL_APIKEY` | `api-key-secret-name`, `api-key-secret-key` | `apiKey` |\n\
             | `env: MACKEREL_KUBERNETES_KUBELET_…` | `kubelet-port`, `kubelet-read-only-port`, `kubelet-insecure-tls` | `kubelet` |\n\
             | `env: NAME` | `env.NAME` | `agent.env` |\n\
             | `image`, `imagePullPolicy` | `image` | `agent.image`, `agent.imagePullPolicy` |\n\
             | `resources.…` | `cpu-request`, `cpu-limit`, `memory-request`, `memory-limit` | `agent.resources` |\n\
             | `restartPolicy` | `sidecar` | `sidecar` |\n\
             | `securityContext.…` | | `agent.securityContext` |\n\
             | `volumeMounts: PATH` | | `agent.volumeMounts` |\n\
             | `mackerel-agent-tmp.emptyDir` | | `agent.tmp` |\n\
             | `mackerel-agent-token.projected` | | `agent.token` |\n\
             | `mackerel-agent-config.configMap` | `agent-config-configmap-name`, `agent-config-configmap-key` | `agent.config` |\n\
             | `args` (of wait-for) | `wait-for` | `waitFor` |\n\
             | any other, such as `command` or `envFrom` | | none |\n",
};

const JAPANESE: AnnotationPageWords = AnnotationPageWords {
    file: "docs/ja/annotations.md",
    title: "アノテーション",
    introduction: "アノテーションは、1 つのワークロードについて[設定](configuration.md)を上書きします。\n\n\
                   - 書く場所は **Pod テンプレート**（`spec.template.metadata.annotations`）です。\
                   ラベルとして書いたり、ワークロード、CronJob の `jobTemplate`、Namespace などに書いたりしても効果はなく、警告 `misplaced-annotation` が出ます。Namespace はアノテーションではなく \
                   [`select.namespaces`](configuration.md#selectnamespaces) で選びます。\n\
                   - どの名前にも接頭辞 `agent-injector.contrib.mackerel.io/` が付きます。値は 4096 バイトまでの文字列なので、数値や `true` は引用符で囲んでください。\n\
                   - エージェント自身の設定ファイルに書かれた値は、どのアノテーションよりも優先されます（[`agent.config`](configuration.md#agentconfig)）。\n\n\
                   `memo`、`display-name`、`agent-config-location`、`env.NAME` の値の中の `$(MACKEREL_KUBERNETES_POD_NAME)` と `$(MACKEREL_KUBERNETES_NAMESPACE)` は、Pod の名前と Namespace の名前に置き換わります。\n\n\
                   ほかの変数への参照は、秘密の値が漏れないように、ただの文字列として扱います。`env.DSN: \"mysql://root:$(DB_PASSWORD)@db\"` は展開されません。\
                   このような変数は [`agent.env`](configuration.md#agentenv) で設定してください。\n\n\
                   アノテーションは付けられてもイメージは選べない人がいるなら、使わせてよいアノテーションを [`annotations.allow`](configuration.md#annotationsallow) に挙げてください。\
                   何を外すべきかは[脅威モデル](threat-model.md#アノテーション)にあります。",
    sets: "対応する設定:",
    default: "デフォルト: ",
    full_stop: "。",
    end: "。",
    fields: "## エージェントのフィールド\n\nメッセージ（`hand-edited`、`updated`、`adopt-refused`）は、エージェントのコンテナのフィールドを挙げます。それぞれ次のもので設定します。\n\n\
             | フィールド | アノテーション | 設定 |\n\
             | --- | --- | --- |\n\
             | `env: MACKEREL_…` | 設定が[その環境変数を挙げている](configuration.md#agent)もの（`roles` など） | 同じもの。なければ `agent.env` |\n\
             | `env: MACKEREL_APIKEY` | `api-key-secret-name`、`api-key-secret-key` | `apiKey` |\n\
             | `env: MACKEREL_KUBERNETES_KUBELET_…` | `kubelet-port`、`kubelet-read-only-port`、`kubelet-insecure-tls` | `kubelet` |\n\
             | `env: NAME` | `env.NAME` | `agent.env` |\n\
             | `image`、`imagePullPolicy` | `image` | `agent.image`、`agent.imagePullPolicy` |\n\
             | `resources.…` | `cpu-request`、`cpu-limit`、`memory-request`、`memory-limit` | `agent.resources` |\n\
             | `restartPolicy` | `sidecar` | `sidecar` |\n\
             | `securityContext.…` | | `agent.securityContext` |\n\
             | `volumeMounts: PATH` | | `agent.volumeMounts` |\n\
             | `mackerel-agent-tmp.emptyDir` | | `agent.tmp` |\n\
             | `mackerel-agent-token.projected` | | `agent.token` |\n\
             | `mackerel-agent-config.configMap` | `agent-config-configmap-name`、`agent-config-configmap-key` | `agent.config` |\n\
             | `args`（wait-for） | `wait-for` | `waitFor` |\n\
             | ほかのフィールド（`command`、`envFrom` など） | | なし |\n",
};

/// A manifest with some of them, the same in both languages.
const EXAMPLE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        agent-injector.contrib.mackerel.io/inject: \"true\"
        agent-injector.contrib.mackerel.io/roles: shop:web
        agent-injector.contrib.mackerel.io/memory-limit: 256Mi
    spec:
      containers:
        - name: web
          image: web:1
";

/// The entries of `docs/annotations.yaml`, in the order of the code.
pub(crate) fn sentences() -> Vec<Value> {
    let text = fs::read_to_string(root().join("docs/annotations.yaml")).unwrap();
    let sentences: Vec<Value> = serde_yaml::from_str(&text).unwrap();
    let names: Vec<&str> = sentences
        .iter()
        .map(|sentence| sentence["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        Annotation::ALL
            .iter()
            .map(|annotation| annotation.name())
            .collect::<Vec<_>>()
    );
    for (annotation, sentence) in Annotation::ALL.iter().zip(&sentences) {
        let name = annotation.name();
        assert_eq!(
            sentence["en"],
            annotation.sentence(),
            "{name}: say it in Japanese anew, in docs/annotations.yaml"
        );
    }
    sentences
}

/// The setting, or the one that holds it.
fn setting<'e>(entries: &'e [SettingEntry], path: &str) -> (usize, &'e SettingEntry) {
    let holds = |entry: &SettingEntry| {
        path.strip_prefix(&entry.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    entries
        .iter()
        .enumerate()
        .rfind(|(_, entry)| holds(entry))
        .unwrap()
}

fn page(words: &AnnotationPageWords, language: &str, said: &[String]) -> String {
    let entries = configuration::all();
    let mut page = format!(
        "# {}\n\n{}\n\n```yaml\n{EXAMPLE}```\n\n{}",
        words.title, words.introduction, words.fields
    );
    for (annotation, sentence) in Annotation::ALL.iter().zip(sentences()) {
        let name = annotation.name();
        write!(
            page,
            "\n## `{name}`\n\n{}{}",
            sentence[language].as_str().unwrap(),
            words.full_stop
        )
        .unwrap();
        if let Some(path) = config::Setting::path_of(*annotation) {
            let (number, entry) = setting(&entries, path);
            let anchor = entry.path.replace('.', "").to_lowercase();
            // What is before the default, the annotation's sentence has said; what is behind it, the configuration's page says.
            let of_itself = Some(&said[number]).filter(|_| entry.path == path);
            let default = of_itself.and_then(|said| said.split_once(words.default));
            let default = default.map_or_else(String::new, |(_, default)| {
                let choices = format!("{}`", words.end);
                let default = default.split(&choices).next().unwrap_or_default();
                let default = default.strip_suffix(words.full_stop).unwrap_or(default);
                format!("{}{}{default}", words.end, words.default)
            });
            write!(
                page,
                "\n\n{} [`{path}`](configuration.md#{anchor}){default}{}",
                words.sets, words.full_stop
            )
            .unwrap();
        }
        page.push('\n');
        if let Some(example) = sentence["example"].as_str() {
            write!(
                page,
                "\n```yaml\n{}: {}\n```\n",
                annotation.key().replace("env.NAME", "env.HTTPS_PROXY"),
                quoted(example)
            )
            .unwrap();
        }
    }
    page
}

/// A value as a manifest has it, where annotations are strings.
fn quoted(value: &str) -> String {
    let is_string = serde_yaml::from_str::<Value>(value).is_ok_and(|read| read.is_string());
    if is_string && !value.contains(": ") {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

#[test]
fn the_english_page_is_that_of_the_code() {
    let said: Vec<String> = configuration::all()
        .iter()
        .map(|entry| entry.sentence().to_owned())
        .collect();
    super::expect(ENGLISH.file, &page(&ENGLISH, "en", &said));
}

#[test]
fn the_japanese_page_is_in_step() {
    super::expect(
        JAPANESE.file,
        &page(
            &JAPANESE,
            "ja",
            &configuration::japanese(&configuration::all()),
        ),
    );
}

/// Every annotation has an example that is accepted, but for the two that the injector writes.
#[test]
fn each_example_can_be_set() {
    for (annotation, sentence) in Annotation::ALL.iter().zip(sentences()) {
        let Some(example) = sentence["example"].as_str() else {
            assert!(
                matches!(annotation, Annotation::Status | Annotation::Record),
                "{} lacks one",
                annotation.name()
            );
            continue;
        };
        let given = [(annotation.key(), example, 0)];
        // The key of a ConfigMap wants one.
        let config = laws::of_spec("agent: {config: {configMapKeyRef: {name: agent}}}");
        overlay(&config, &given).unwrap_or_else(|wrong| panic!("{}: {wrong:?}", annotation.name()));
        request(&given).unwrap();
    }
}
