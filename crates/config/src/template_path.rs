//! `podTemplates`: paths to the pod templates of further kinds.

use crate::checked::{Group, Kind, texts};
use crate::violation::Violation;
use json_patch::jsonptr::PointerBuf;
use manifest::Step;
use manifest::dotted_path::{self, escape};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A kind with pod templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PodTemplatePath {
    /// The API group, without version.
    pub group: Group,
    /// The kind.
    pub kind: Kind,
    /// Path from the resource to the pod template, dotted (`spec.template`, a dot within a key as `\.`) or as JSON Pointer (`/spec/template`); `*` stands for every item of a list and every member of a map.
    pub path: TemplatePath,
    /// True if the pods run to completion although the template has no `restartPolicy`, so that `sidecar: auto` injects a native sidecar. Default: `false`.
    #[serde(default)]
    pub completes: bool,
}

/// A dotted path or JSON Pointer in which `*` stands for every item of a list and every member of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TemplatePath {
    /// From the resource to the pod template; never empty once read.
    pub steps: Vec<Step>,
}

impl fmt::Display for TemplatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            match step {
                // Unescaped, a slash in the first key would make it a JSON Pointer.
                Step::Key(key) if index == 0 => f.write_str(&escape(key).replace('/', "\\/"))?,
                Step::Key(key) => write!(f, "{dot}{}", escape(key))?,
                Step::Each => write!(f, "{dot}*")?,
            }
        }
        Ok(())
    }
}

texts! { TemplatePath: "pattern" = r"^((/([^/~]|~[01])+)+|(\\.|[^./\\])(\\.|[^.\\])*(\.(\\.|[^.\\])+)*)$"; }

impl FromStr for TemplatePath {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let violation = |help: &str| Violation::found("a path", text).with_help(help);
        let step = |key: String| {
            if key == "*" {
                Step::Each
            } else {
                Step::Key(key)
            }
        };
        if text.starts_with('/') {
            let keys: Vec<String> = PointerBuf::parse(text)
                .map_err(|_| violation("write `~` as `~0` and `/` within a key as `~1`"))?
                .tokens()
                .map(|token| token.decoded().into_owned())
                .collect();
            if keys.iter().any(String::is_empty) {
                return Err(violation("remove the empty part after `/`"));
            }
            return Ok(TemplatePath {
                steps: keys.into_iter().map(step).collect(),
            });
        }
        if text.contains("[*]") || text.starts_with('.') {
            return Err(violation(&format!(
                "write `{}`",
                text.replace("[*]", ".*").trim_start_matches('.')
            )));
        }
        if text.contains('/') && !text.contains(['.', '\\']) {
            return Err(violation(&format!("write `{}`", text.replace('/', "."))));
        }
        let keys = dotted_path::parts(text);
        if keys.iter().any(String::is_empty) {
            return Err(violation("remove the extra `.`"));
        }
        Ok(TemplatePath {
            steps: keys.into_iter().map(step).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_dotted_or_a_json_pointer_with_stars() {
        let key = |key: &str| Step::Key(key.to_owned());
        let read = |text: &str| TemplatePath::from_str(text).map(|path| path.steps);
        assert_eq!(
            read("/spec/template"),
            Ok(vec![key("spec"), key("template")])
        );
        assert_eq!(
            read("/spec/jobs/*/a~1b~0c"),
            Ok(vec![key("spec"), key("jobs"), Step::Each, key("a/b~c")])
        );
        assert_eq!(read("spec.template"), read("/spec/template"));
        assert_eq!(
            read("spec.jobs.*.a\\.b/c"),
            Ok(vec![key("spec"), key("jobs"), Step::Each, key("a.b/c")])
        );
        for (path, dotted) in [
            ("/a~1b/*", "a\\/b.*"),
            ("/a~1b", "a\\/b"),
            ("/a.b/c", "a\\.b.c"),
            ("/~1a/b", "\\/a.b"),
        ] {
            assert_eq!(TemplatePath::from_str(path).unwrap().to_string(), dotted);
            assert_eq!(read(dotted), read(path));
        }
        let help = |text: &str| TemplatePath::from_str(text).unwrap_err().help.unwrap();
        assert_eq!(
            help("spec.jobs[*].template"),
            "write `spec.jobs.*.template`"
        );
        assert_eq!(help(".spec.template"), "write `spec.template`");
        assert_eq!(help("spec/template"), "write `spec.template`");
        assert!(help("spec..template").contains("extra `.`"));
        assert!(help("/spec//template").contains("empty part"));
        assert!(help("/spec/").contains("empty part"));
        assert!(help("/a~2b").contains("~0"));
    }
}
