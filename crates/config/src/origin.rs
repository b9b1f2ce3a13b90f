//! Origins of settings.

use std::fmt;
use std::ops::Range;

/// The origin of a setting's value. As text: `injector.yaml:5:12`, `--set #1`, `default`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// No source sets it.
    #[default]
    Default,
    /// A configuration file, functionConfig or ConfigMap.
    Configuration {
        /// The file's name, or a stand-in such as `<stdin>`.
        source: String,
        /// Bytes of the value in the source's text.
        range: Range<usize>,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
    /// A `path=value`: a `--set` argument.
    Argument {
        /// Its number, from 1.
        number: usize,
    },
    /// The `--namespace` argument.
    Namespace,
    /// An annotation of the pod template.
    Annotation {
        /// The full key.
        key: String,
        /// Byte offset of the value in the manifest.
        offset: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Configuration {
                source,
                line,
                column,
                ..
            } => write!(f, "{source}:{line}:{column}"),
            Origin::Argument { number } => write!(f, "--set #{number}"),
            Origin::Namespace => f.write_str("--namespace"),
            Origin::Annotation { key, .. } => write!(f, "annotation {key}"),
        }
    }
}
