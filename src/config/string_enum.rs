//! Enums that a configuration writes as one word.

/// Declares an enum with the word for each variant. The doc comments of the variants are shown to users.
macro_rules! string_enum {
    (
        $(#[doc = $doc:literal])*
        pub(crate) enum $Name:ident {
            $(#[doc = $variant_doc:literal] $Variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $Name {
            $(#[doc = $variant_doc] $Variant,)*
        }

        impl $Name {
            /// Every choice, in the order of the documentation.
            pub(crate) const ALL: &'static [$Name] = &[$($Name::$Variant,)*];

            pub(crate) fn as_str(self) -> &'static str {
                match self { $($Name::$Variant => $word,)* }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $crate::config::scalar::texts!($Name);

        impl $crate::config::scalar::Scalar for $Name {

            fn parse(text: &str) -> Result<Self, $crate::config::violation::Violation> {
                match $Name::ALL.iter().find(|choice| choice.as_str() == text) {
                    Some(choice) => Ok(*choice),
                    None => Err($crate::config::string_enum::unknown_word(text, &[$($word,)*])),
                }
            }

            fn schema() -> serde_json::Value {
                $crate::config::string_enum::schema(&[$(($word, $variant_doc),)*])
            }
        }
    };
}

pub(crate) use string_enum;

use crate::config::violation::{Violation, listed};
use crate::diagnostic::closest::closest;
use serde_json::{Value as Json, json};

/// Returns the violation about a word that is none of the choices.
pub(crate) fn unknown_word(text: &str, words: &[&str]) -> Violation {
    let is_cloud = ["aks", "eks", "gke"]
        .iter()
        .any(|cloud| text.eq_ignore_ascii_case(cloud));
    // `WARN` for `WARNING`
    let is_begun =
        |word: &&&str| text.len() > 2 && word.to_lowercase().starts_with(&text.to_lowercase());
    let help = match closest(text, words.iter().copied()) {
        Some(word) => Some(format!("did you mean `{word}`?")),
        // Not `eks-fargate`, which `eks` begins.
        None if is_cloud && words.contains(&"eks-fargate") => {
            Some("for nodes of AKS, EKS or GKE, use `kubernetes`".to_owned())
        }
        None => words
            .iter()
            .find(is_begun)
            .map(|word| format!("did you mean `{word}`?")),
    };
    Violation {
        what: format!("must be one of {}, found `{text}`", listed(words)),
        help,
    }
}

/// Returns the JSON Schema of the choices, each with its sentence.
pub(crate) fn schema(choices: &[(&'static str, &'static str)]) -> Json {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let sentences: Vec<String> = choices
        .iter()
        .map(|(word, doc)| format!("`{word}`: {}.", doc.trim()))
        .collect();
    json!({"enum": words, "description": sentences.join(" ")})
}

#[cfg(test)]
mod tests {
    use super::unknown_word;

    #[test]
    fn a_word_that_is_cut_short_is_recognised() {
        let help = |text| unknown_word(text, &["INFO", "WARNING"]).help;
        assert_eq!(help("warn").as_deref(), Some("did you mean `WARNING`?"));
        assert_eq!(help("w"), None);
    }
}
