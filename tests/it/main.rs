//! The one integration test binary: a module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod acknowledged;
#[cfg(unix)]
mod admission;
#[cfg(target_os = "linux")]
mod agent;
mod annotated;
mod any_text;
mod architecture;
#[cfg(target_os = "linux")]
mod browser;
mod cli;
mod commands;
#[cfg(unix)]
mod docs;
#[cfg(unix)]
mod examples;
mod explain;
#[cfg(unix)]
mod free_ports;
mod front_ends_agree;
mod growth;
mod hostile_input;
#[cfg(unix)]
mod hostile_names;
#[cfg(unix)]
mod http_server;
mod krm_fn;
#[cfg(unix)]
mod kubernetes;
mod kustomizations;
#[cfg(unix)]
mod migration;
mod nothing_is_lost;
#[cfg(unix)]
mod packages;
#[cfg(unix)]
mod policy;
mod post_renderer;
mod program;
mod rbac;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod real_tools;
mod screens;
#[cfg(unix)]
mod secrets;
mod settings;
mod shown;
#[cfg(unix)]
mod status;
mod threads;
mod tools;
mod uninject_after_reprint_by_tools;
mod wait_for;
#[cfg(unix)]
mod webhook;
mod writers;
