//! See `tests/it/any_text/configuration.rs`.
#![no_main]

#[path = "../../tests/it/any_text/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|text: &str| configuration::hold(text));
