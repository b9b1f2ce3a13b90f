//! See `tests/it/any_text/review.rs`.
#![no_main]

#[path = "../../tests/it/any_text/review.rs"]
mod review;

libfuzzer_sys::fuzz_target!(|text: &str| review::hold(text));
