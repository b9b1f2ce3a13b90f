//! The kustomizations of the input and of its parent folders, by what they say: what kustomize builds, it alone knows.
//!
//! - `files`, `entry_path`: the kustomizations, and the files and folders that they name
//! - `builds`: those whose builds differ from the files of the input
//! - `functions`: configurations of functions
//! - `injectors`: those of this program, whose builds inject the agent
//! - `annotations`: annotations that they set

mod annotations;
mod builds;
mod entry_path;
mod files;
mod functions;
mod injectors;

pub use annotations::set_annotations;
pub use builds::Build;
pub use files::Kustomizations;
pub use injectors::Injector;
