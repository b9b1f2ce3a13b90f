//! Properties of the pod in the values of settings: `$(namespace)` and `$(label:KEY)`, by the downward API, so that what a tool
//! changes later counts.

use config::{NAMESPACE_REFERENCE, label_reference};
use mackerel::env::{NAMESPACE, POD_LABEL};
use manifest::expansion::references;

/// The labels that the values so far refer to, in the order of their variables.
#[derive(Debug, Default)]
pub struct PodProperties {
    pub labels: Vec<String>,
}

/// Returns the name of the variable of a label by its index: `MACKEREL_POD_LABEL_1`
pub fn label_variable(index: usize) -> String {
    format!("{POD_LABEL}{}", index + 1)
}

impl PodProperties {
    /// Returns the text with references to variables: `$(namespace)` -> `$(MACKEREL_KUBERNETES_NAMESPACE)`
    pub fn resolve(&mut self, text: &str) -> String {
        let mut parts = Vec::new();
        // `$$(namespace)` is text.
        for part in text.split("$$") {
            let mut part = part.to_owned();
            for reference in references(&part) {
                if let Some(variable) = self.variable(&reference) {
                    part = part.replace(&format!("$({reference})"), &format!("$({variable})"));
                }
            }
            parts.push(part);
        }
        parts.join("$$")
    }

    fn variable(&mut self, reference: &str) -> Option<String> {
        if reference == NAMESPACE_REFERENCE {
            return Some(NAMESPACE.to_owned());
        }
        let key = label_reference(reference)?;
        let index = self
            .labels
            .iter()
            .position(|label| *label == *key)
            .unwrap_or_else(|| {
                self.labels.push(key.to_string());
                self.labels.len() - 1
            });
        Some(label_variable(index))
    }
}

#[cfg(test)]
mod tests {
    use super::PodProperties;

    #[test]
    fn references_become_variables() {
        let mut properties = PodProperties::default();
        for (text, expected) in [
            ("$(label:app)", "$(MACKEREL_POD_LABEL_1)"),
            (
                "$(label:a/b) of $(namespace), $(label:app)",
                "$(MACKEREL_POD_LABEL_2) of $(MACKEREL_KUBERNETES_NAMESPACE), $(MACKEREL_POD_LABEL_1)",
            ),
            (
                "$$(namespace) $(A) $(label:a b) $ $(namespace",
                "$$(namespace) $(A) $(label:a b) $ $(namespace",
            ),
        ] {
            assert_eq!(properties.resolve(text), expected);
        }
        assert_eq!(properties.labels, ["app", "a/b"]);
    }
}
