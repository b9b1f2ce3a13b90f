//! The keys of the agent's configuration file, from the help page and the behaviour of version 0.13.2.
//!
//! The agent reads YAML into Go's types: any scalar is text, and a quoted number is no number.

/// The form of a key's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueForm {
    Text,
    ApiKey,
    Pattern,
    OneOf(&'static [&'static str]),
    Roles,
    Whole(Least),
    Port,
    /// Text for a shell, or a list of words.
    Command,
    User,
    Variables,
    Headers,
    Probe,
    /// A kind of probe, and the key that it requires.
    Way(Fields, &'static str),
    Plugins,
    /// Plugins by name.
    Named(Fields),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    Zero,
    Any,
}

pub(crate) type Fields = &'static [(&'static str, ValueForm)];

/// The keys that no setting gives; those of settings are in their rows.
pub(crate) const FILE_ONLY: Fields = &[
    ("apikey", ValueForm::ApiKey),
    ("root", ValueForm::Text),
    ("readinessProbe", ValueForm::Probe),
    ("plugin", ValueForm::Plugins),
];
pub(crate) const PROBE: Fields = &[
    ("exec", ValueForm::Way(EXEC, "command")),
    ("http", ValueForm::Way(HTTP, "path")),
    ("tcp", ValueForm::Way(TCP, "port")),
    ("initialDelaySeconds", ValueForm::Whole(Least::Zero)),
    ("periodSeconds", ValueForm::Whole(Least::Zero)),
    ("timeoutSeconds", ValueForm::Whole(Least::Zero)),
];
const EXEC: Fields = &[
    ("command", ValueForm::Command),
    ("user", ValueForm::User),
    ("env", ValueForm::Variables),
];
const HTTP: Fields = &[
    ("scheme", ValueForm::Text),
    ("method", ValueForm::Text),
    ("host", ValueForm::Text),
    ("port", ValueForm::Port),
    ("path", ValueForm::Text),
    ("headers", ValueForm::Headers),
    ("proxy", ValueForm::Text),
];
pub(crate) const HEADER: Fields = &[("name", ValueForm::Text), ("value", ValueForm::Text)];
const TCP: Fields = &[("host", ValueForm::Text), ("port", ValueForm::Port)];
pub(crate) const PLUGIN: Fields = &[
    ("metrics", ValueForm::Named(METRICS)),
    ("checks", ValueForm::Named(CHECKS)),
];
const METRICS: Fields = &[
    ("command", ValueForm::Command),
    ("user", ValueForm::User),
    ("env", ValueForm::Variables),
    ("timeoutSeconds", ValueForm::Whole(Least::Any)),
];
const CHECKS: Fields = &[
    ("command", ValueForm::Command),
    ("user", ValueForm::User),
    ("env", ValueForm::Variables),
    ("timeoutSeconds", ValueForm::Whole(Least::Any)),
    ("memo", ValueForm::Text),
];
