//! `webhook/` and the command `webhook`.

mod chart;
