//! A real API server judges injected objects: it accepts, warns of and stores them.

mod accepts;
pub(crate) mod certificates;
pub(crate) mod cluster;
mod immutable;
pub(crate) mod injected;
pub(crate) mod judge;
pub(crate) mod permissions;
mod pod_resources;
mod probes;
mod reads;
mod refuses;
mod sample;
mod stores;
