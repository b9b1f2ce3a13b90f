//! A real API server judges what we make: would it take the pods and workloads, what does it warn of, what does it store?

mod accepts;
pub(crate) mod cluster;
mod immutable;
pub(crate) mod injected;
mod judge;
mod permissions;
mod reads;
mod sample;
mod stores;
