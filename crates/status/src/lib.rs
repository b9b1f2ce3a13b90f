//! The agents of living pods: from what `kubectl get pods -o json` prints to one row for each workload and state. It asks no cluster.
//!
//! A pod is decided about as the webhook would, see `pod.rs`. Rules about kinds and names of resources apply to its topmost owner among
//! the objects of the input, see `owners.rs`.

mod cause;
mod container;
mod next_step;
mod owners;
mod pod;
mod read;
mod reporter;
mod state;
pub mod text;

pub use next_step::NextStep;
pub use reporter::{Row, StatusError, StatusReport, report, report_on_namespaces};
pub use state::State;
