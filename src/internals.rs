//! The door through which this package's own program, tests, benchmarks and fuzz targets come in. Not a part of the public
//! surface: what stands here changes in any version, and is what they use, no more.

pub use crate::cli::run;
pub use crate::find::built_in_kinds;
pub use crate::krm_fn::is_call;

use crate::config::{Base, Sources};
use yaml_json_patch as yaml;

/// A configuration that stands within a document, as the one of a function call does. The text of `tree` begins at `start`.
#[must_use]
pub fn sources_of_node<'a>(
    name: &'a str,
    text: &'a str,
    start: usize,
    tree: &'a yaml::Tree<'a>,
    node: yaml::NodeId,
) -> Sources<'a> {
    Sources { base: Base::Node { name, text, start, tree, node }, ..Sources::default() }
}

/// Annotations of a pod template.
pub mod annotations {
    pub use crate::annotations::{
        Annotation, Given, InvalidAnnotation, InvalidAnnotations, PREFIX, Request, UnknownAnnotation, overlay, request,
        unknown,
    };
}

/// Documents of a stream, items of a list.
pub mod read {
    pub use crate::read::{Glance, glance, list};
}
