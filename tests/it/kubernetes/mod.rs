//! A real API server judges what we make: would it take the pods and workloads, what does it warn of, what does it store?

mod accepts;
pub(crate) mod cluster;
mod immutable;
mod injected;
mod judge;
mod limit_range;
mod permissions;
mod pod_resources;
mod reads;
mod sample;
mod stores;
