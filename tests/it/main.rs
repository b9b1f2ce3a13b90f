//! The one integration test binary: a module per subject.
