//! The kustomizations of the input and of its parent folders.
//!
//! - `graph`, `entry_path`: the kustomizations, and the files and folders that they name
//! - `builds`: the names that their builds give
//! - `elsewhere`: resources of their builds that the input has not
//! - `functions`: configurations of functions
//! - `injectors`: those of this program, whose builds inject the agent
//! - `annotations`: annotations that they set

mod annotations;
mod builds;
mod elsewhere;
mod entry_path;
mod functions;
mod graph;
mod injectors;

pub use annotations::set_annotations;
pub use builds::{Build, Builds};
pub use elsewhere::{RenderedElsewhere, rendered_elsewhere};
pub use functions::Functions;
pub use graph::Graph;
pub use injectors::{Injector, Injectors};
