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
mod cases;
mod cli;
mod commands;
mod configs;
mod corpus;
mod corpus_laws;
#[cfg(unix)]
mod docs;
mod every_setting_has_an_effect;
#[cfg(unix)]
mod examples;
mod explain;
mod force_restores;
#[cfg(unix)]
mod free_ports;
mod front_ends_agree;
mod generators;
mod growth;
mod hostile_input;
#[cfg(unix)]
mod hostile_names;
#[cfg(unix)]
mod http_server;
mod independent_reader;
mod istio;
mod json_schema;
mod krm_fn;
#[cfg(unix)]
mod kubernetes;
mod kustomizations;
mod laws;
#[cfg(unix)]
mod migration;
mod nothing_is_lost;
#[cfg(unix)]
mod packages;
mod parallel;
#[cfg(unix)]
mod policy;
mod post_renderer;
mod program;
mod properties;
mod rbac;
mod read;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod real_tools;
#[cfg(unix)]
mod secrets;
mod settings;
mod shown;
#[cfg(unix)]
mod status;
mod threads;
mod tools;
mod uninject_after_reprint;
mod uninject_after_reprint_by_tools;
mod wait_for;
#[cfg(unix)]
mod webhook;
mod writers;
