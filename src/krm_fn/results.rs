//! Findings as the `results` of a ResourceList.

use crate::diagnostic::{Severity, visible, with_help};
use crate::inject::{Injection, ReportedFinding};
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::options::Tense;
use crate::report::Reason;
use serde_json::Value;
use std::collections::HashSet;
use yaml_json_patch::{self as yaml, Context, quote, to_json};

/// One result, borrowed from its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FunctionResult<'r> {
    pub(super) severity: Severity,
    message: &'r str,
    help: Option<&'r str>,
    resource: Option<ResultResource<'r>>,
    reason: Option<Reason>,
}

/// The resource that a result is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ResultResource<'r> {
    identity: &'r Identity,
    /// JSON Pointer of the field; empty for the resource as a whole.
    pointer: &'r str,
    file: Option<&'r (String, Option<i64>)>,
}

/// Returns the findings that become results, in the order of the text. Those for which `--check` fails are errors there.
pub(super) fn function_results(injection: &Injection, tense: Tense) -> Vec<FunctionResult<'_>> {
    let reported = injection.diagnostics().filter(becomes_result);
    let reported = reported.map(|reported| match tense {
        Tense::Past => reported,
        Tense::Conditional => reported.for_check(),
    });
    reported.map(FunctionResult::new).collect()
}

/// Returns false for acknowledged warnings, and for decisions that leave a template as it is: otherwise each run would list every
/// resource of a package. Without `unchanged`, a second run adds no results to the first.
fn becomes_result(reported: &ReportedFinding<'_>) -> bool {
    use Reason::{Disabled, LocalConfig, NotRequested, NotSelected, Unchanged};
    let is_quiet = matches!(
        reported.finding.reason,
        Unchanged | NotRequested | NotSelected | Disabled | LocalConfig
    );
    !is_quiet && !reported.is_acknowledged
}

/// The results of other functions or of an earlier run.
#[derive(Default)]
pub(super) struct EarlierResults(HashSet<Value>);

impl EarlierResults {
    pub(super) fn new(results: Vec<Value>) -> Self {
        Self(results.into_iter().collect())
    }

    /// Returns true for a result that repeats none of these.
    pub(super) fn is_new(&self, result: FunctionResult<'_>) -> bool {
        self.0.is_empty() || !self.0.contains(&result.value())
    }
}

impl<'r> FunctionResult<'r> {
    fn new(reported: ReportedFinding<'r>) -> Self {
        let finding = reported.finding;
        let resource = reported.subject.resource();
        let resource = resource.map(|resource| ResultResource {
            identity: resource.identity,
            pointer: if finding.pointer.is_empty() {
                resource.template
            } else {
                &finding.pointer
            },
            file: resource.file,
        });
        Self {
            severity: reported.severity,
            message: &finding.message,
            help: finding.help.as_deref(),
            resource,
            reason: Some(finding.reason),
        }
    }

    /// Returns an error about no item.
    pub(super) fn error(message: &'r str) -> Self {
        Self {
            severity: Severity::Error,
            message,
            help: None,
            resource: None,
            reason: None,
        }
    }

    /// Returns the result as JSON, as it is compared with earlier ones and added to them.
    pub(super) fn value(self) -> Value {
        let lines = block(&[self], "");
        let results = yaml::read(&lines).ok().and_then(|tree| {
            let item = tree.member(tree.root()?, "results")?;
            to_json(&tree, tree.items(item).next()?).ok()
        });
        results.unwrap_or_default()
    }

    /// Writes the result as an item of a block sequence.
    fn write(self, writer: &mut Writer<'_>) {
        writer.field("- message", &with_help(self.message, self.help));
        writer.field("  severity", self.severity.name());
        if let Some(resource) = self.resource {
            let identity = resource.identity;
            writer.key("  resourceRef");
            writer.field("    apiVersion", &identity.api_version);
            writer.field("    kind", &identity.kind);
            if let Some(namespace) = &identity.namespace {
                writer.field("    namespace", namespace);
            }
            writer.field("    name", &identity.name);
            let path = field_path(resource.pointer);
            if !path.is_empty() {
                writer.key("  field");
                writer.field("    path", &path);
            }
            if let Some((path, index)) = resource.file {
                writer.key("  file");
                writer.field("    path", path);
                if let Some(index) = index {
                    writer.key("    index");
                    writer.lines.push_str(&format!(" {index}"));
                }
            }
        }
        if let Some(reason) = self.reason {
            writer.key("  tags");
            writer.field("    reason", reason.id());
        }
    }
}

/// Writes lines of results.
struct Writer<'i> {
    /// The indentation of the results' dashes.
    indent: &'i str,
    lines: String,
}

impl Writer<'_> {
    /// Begins a line with a key.
    fn key(&mut self, key: &str) {
        self.lines.extend(["\n", self.indent, key, ":"]);
    }

    /// Adds a line with a key and a text.
    fn field(&mut self, key: &str, text: &str) {
        self.key(key);
        // The orchestrator prints it.
        self.lines
            .extend([" ", &quote(&visible(text), Context::Block)]);
    }
}

/// Returns the key with the results in block style, without a line break at the end; `indent` precedes each dash. The results are
/// written one by one, since as JSON the thousands of results of a long list would take more memory than the list.
pub(super) fn block(results: &[FunctionResult<'_>], indent: &str) -> String {
    let lines = "results:".to_owned();
    let mut writer = Writer { indent, lines };
    for result in results {
        result.write(&mut writer);
    }
    writer.lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_say_what_the_results_say() {
        let identity = Identity {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: None,
            name: "0x1".into(),
            is_generated: false,
        };
        let file = ("a: b.yaml".to_owned(), Some(12));
        let resource = ResultResource {
            identity: &identity,
            pointer: "/spec/0",
            file: Some(&file),
        };
        let about_pod = FunctionResult {
            resource: Some(resource),
            help: Some("do #this"),
            reason: Some(Reason::QosChanged),
            ..FunctionResult::error("no:\n\"quote\"")
        };
        let results = [about_pod, FunctionResult::error("null")];
        let values = json!([
            {
                "message": "no:␊\"quote\"; do #this",
                "severity": "error",
                "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "0x1"},
                "field": {"path": "spec[0]"},
                "file": {"path": "a: b.yaml", "index": 12},
                "tags": {"reason": "qos-changed"},
            },
            {"message": "null", "severity": "error"},
        ]);
        for indent in ["", "   "] {
            let text = block(&results, indent);
            let tree = yaml::read(&text).unwrap();
            assert_eq!(
                to_json(&tree, tree.root().unwrap()),
                Ok(json!({ "results": values })),
                "{text}"
            );
        }
        for (result, value) in results.iter().zip(values.as_array().unwrap()) {
            assert_eq!(result.value(), *value);
        }
    }
}
