//! `configuration.md` of both books: every setting, from the doc comments that the schema carries.
//!
//! `docs/config/reference.ja.yaml` has the Japanese sentences, each beside the English one that it translates, so that a test
//! fails when the English has changed, and an example of each setting.

use config::{Sources, load};
use configurations::json_schema::schema;
use mackerel::annotations::Annotation;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use support::root;

/// One setting, or a group of them.
pub(super) struct SettingEntry {
    /// The dotted path below `spec`.
    pub(super) path: String,
    schema: Value,
}

impl SettingEntry {
    /// The text of the doc comment.
    pub(super) fn sentence(&self) -> &str {
        self.schema["description"].as_str().unwrap()
    }

    /// The sentence before those about the choices, and those, each with its value.
    fn split<'s>(&self, sentence: &'s str) -> (&'s str, Vec<&'s str>) {
        let choices = self.schema["enum"].as_array().into_iter().flatten();
        let mut starts: Vec<usize> = choices
            .filter_map(Value::as_str)
            .filter_map(|choice| sentence.rfind(&format!("`{choice}`: ")))
            .collect();
        starts.sort_unstable();
        let ends = starts.iter().skip(1).copied().chain([sentence.len()]);
        let about = &sentence[..starts.first().copied().unwrap_or(sentence.len())];
        let choices = starts.iter().zip(ends);
        (
            about.trim_end(),
            choices
                .map(|(start, end)| sentence[*start..end].trim_end())
                .collect(),
        )
    }

    fn is_group(&self) -> bool {
        self.schema.get("default").is_none()
    }

    fn annotation(&self) -> Option<&'static str> {
        let found = Annotation::ALL
            .iter()
            .find(|annotation| config::Setting::path_of(**annotation) == Some(&self.path));
        found.map(|annotation| annotation.name())
    }
}

/// Every setting in the order of the table, groups before their members.
fn entries(schema: &Value, inside: &str, found: &mut Vec<SettingEntry>) {
    for (name, setting) in schema["properties"].as_object().unwrap() {
        let entry = SettingEntry {
            path: format!("{inside}{name}"),
            schema: setting.clone(),
        };
        let below = entry.is_group().then(|| format!("{}.", entry.path));
        found.push(entry);
        if let Some(below) = below {
            entries(setting, &below, found);
        }
    }
}

pub(super) fn all() -> Vec<SettingEntry> {
    let mut found = Vec::new();
    entries(&schema()["properties"]["spec"], "", &mut found);
    assert!(found.len() > 40);
    found
}

/// The type of a setting, as an index into the words of a language.
fn kind(schema: &Value) -> usize {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect(),
        _ => vec!["choice"],
    };
    match types[..] {
        ["choice"] => 0,
        ["string"] => 1,
        ["integer"] => 2,
        ["boolean"] => 3,
        ["array"] => 4,
        ["object"] => 5,
        _ => 6,
    }
}

/// The words of a language.
struct Language {
    file: &'static str,
    title: &'static str,
    introduction: &'static str,
    kinds: [&'static str; 7],
    annotation: &'static str,
    example: &'static str,
}

const ENGLISH: Language = Language {
    file: "docs/en/configuration.md",
    title: "Configuration reference",
    introduction: "This page lists every setting below `spec` by its dotted path. Use the same path for `--set` and in the data of a \
                   ConfigMap. If an annotation is named, it sets the same for one pod template: see [Annotations](annotations.md). The \
                   agent's own configuration file ([`agent.config`](#agentconfig)) wins over settings and annotations. \
                   `mackerel-agent-injector config example` prints all settings as a configuration. `mackerel-agent-injector config schema` \
                   prints the JSON Schema for editors.",
    kinds: [
        "one of these",
        "text",
        "whole number",
        "`true` or `false`",
        "list",
        "mapping",
        "quantity",
    ],
    annotation: "annotation",
    example: "Example:",
};

const JAPANESE: Language = Language {
    file: "docs/ja/configuration.md",
    title: "設定リファレンス",
    introduction: "`spec` の下のすべての設定です。\n\n\
                   - 見出しのドット区切りのパスは、`--set` や ConfigMap の data にそのまま使えます。\n\
                   - アノテーション名のあるものは、同じことを 1 つの Pod テンプレートだけに指定できます（[アノテーション](annotations.md)）。\n\
                   - エージェント自身の設定ファイル（[`agent.config`](#agentconfig)）に書かれた値は、設定よりもアノテーションよりも優先されます。\n\n\
                   すべての設定を設定ファイルの形にしたものは `mackerel-agent-injector config example` で、エディター用の JSON Schema は \
                   `mackerel-agent-injector config schema` で出力できます。",
    kinds: [
        "次のいずれか",
        "文字列",
        "整数",
        "`true` か `false`",
        "リスト",
        "マッピング",
        "数量（Quantity）",
    ],
    annotation: "アノテーション",
    example: "例:",
};

fn page(language: &Language, entries: &[SettingEntry], sentences: &[String]) -> String {
    let mut page = format!("# {}\n\n{}\n", language.title, language.introduction);
    let written = written();
    for ((entry, sentence), written) in entries.iter().zip(sentences).zip(&written) {
        let marks = if entry.path.contains('.') {
            "###"
        } else {
            "##"
        };
        write!(page, "\n{marks} `{}`\n\n", entry.path).unwrap();
        if !entry.is_group() {
            write!(page, "*{}*", language.kinds[kind(&entry.schema)]).unwrap();
            if let Some(name) = entry.annotation() {
                write!(
                    page,
                    " · {} [`{name}`](annotations.md#{})",
                    language.annotation,
                    name.replace('.', "").to_lowercase()
                )
                .unwrap();
            }
            page.push_str("\n\n");
        }
        let (about, choices) = entry.split(sentence);
        page.push_str(about);
        page.push('\n');
        if !choices.is_empty() {
            page.push('\n');
        }
        for choice in choices {
            writeln!(page, "- {choice}").unwrap();
        }
        if let Some(example) = written["example"].as_str() {
            let name = entry.path.rsplit('.').next().unwrap();
            write!(page, "\n{} `{name}: {example}`\n", language.example).unwrap();
        }
    }
    page
}

/// The entries of `docs/config/reference.ja.yaml`.
fn written() -> Vec<Value> {
    let text = fs::read_to_string(root().join("docs/config/reference.ja.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// The Japanese sentence of each setting, in the order of [`all`].
pub(super) fn japanese(entries: &[SettingEntry]) -> Vec<String> {
    let sentences = written();
    let paths: Vec<&str> = sentences
        .iter()
        .map(|sentence| sentence["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        entries
            .iter()
            .map(|entry| entry.path.as_str())
            .collect::<Vec<_>>()
    );
    for (entry, sentence) in entries.iter().zip(&sentences) {
        assert_eq!(
            sentence["en"],
            entry.sentence(),
            "{}: say it in Japanese anew, in reference.ja.yaml",
            entry.path
        );
    }
    sentences
        .iter()
        .map(|sentence| sentence["ja"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_english_page_says_what_the_doc_comments_say() {
    let entries = all();
    let sentences: Vec<String> = entries
        .iter()
        .map(|entry| entry.sentence().to_owned())
        .collect();
    super::expect(ENGLISH.file, &page(&ENGLISH, &entries, &sentences));
}

#[test]
fn the_japanese_page_is_in_step() {
    let entries = all();
    super::expect(
        JAPANESE.file,
        &page(&JAPANESE, &entries, &japanese(&entries)),
    );
}

/// Every setting has an example, which is valid and differs from the default.
#[test]
fn each_example_can_be_set() {
    for (entry, written) in all().iter().zip(written()) {
        let Some(example) = written["example"].as_str() else {
            assert!(entry.is_group(), "{} lacks an example", entry.path);
            continue;
        };
        // The key of a ConfigMap wants one.
        let (path, value) = match entry.path.strip_suffix("Ref.key") {
            Some(before) if before.starts_with("agent.") => (
                format!("{before}Ref"),
                format!("{{name: agent, key: {example}}}"),
            ),
            _ => (entry.path.clone(), example.to_owned()),
        };
        let inside = path
            .rsplit('.')
            .fold(value, |inside, part| format!("{{{part}: {inside}}}"));
        let document = format!(
            "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {inside}\n"
        );
        let read = load(&Sources::of_text("agent-injector.yaml", &document));
        assert!(read.is_ok(), "{document}{read:?}");
        let default: Value = entry.schema["default"].clone();
        let given: Value = serde_yaml::from_str(example).unwrap();
        assert_ne!(given, default, "{}", entry.path);
    }
}

#[test]
fn choices_are_split_from_the_sentence() {
    let entry = SettingEntry {
        path: "a".to_owned(),
        schema: serde_json::json!({"enum": ["b", "c", null]}),
    };
    assert_eq!(
        entry.split("Text with `b`. Default: `b`. `b`: One. `c`: Two: `d`."),
        (
            "Text with `b`. Default: `b`.",
            vec!["`b`: One.", "`c`: Two: `d`."]
        )
    );
    assert_eq!(entry.split("Text."), ("Text.", vec![]));
}
