//! What is wrong around the injected pods, so that they would not start or their agents not report: warnings, each with a
//! place and what to do.

mod agent_config;
mod missing_key;
mod plain_api_key;
mod quota;
mod service_account;

pub(crate) use plain_api_key::findings as plain_api_keys;

use crate::config::Config;
use crate::report::Remark;
use crate::surroundings::{Objects, Part, Requirement};

/// What is wrong with the objects of the input, each remark with the number of its text.
pub(crate) fn surroundings(
    parts: &[Part<'_>],
    objects: &Objects<'_>,
    requirements: &[Requirement],
    config: &Config,
) -> Vec<(usize, Remark)> {
    let mut remarks = missing_key::remarks(objects, requirements);
    remarks.extend(agent_config::remarks(parts, objects, config));
    remarks.extend(quota::remarks(parts, objects, config));
    remarks.extend(service_account::remarks(parts, objects, config));
    remarks.sort_by_key(|(part, remark)| (*part, remark.finding.offset));
    remarks
}
