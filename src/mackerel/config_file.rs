//! The keys of the agent's configuration file, from the help page and the behaviour of version 0.13.2.
//!
//! The agent reads YAML into Go's types: any scalar is text, and a quoted number is no number.

/// The form of a key's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
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

pub(crate) type Fields = &'static [(&'static str, Form)];

pub(crate) const ROOT: Fields = &[
    ("apibase", Form::Text),
    ("apikey", Form::ApiKey),
    ("root", Form::Text),
    ("roles", Form::Roles),
    ("displayName", Form::Text),
    ("memo", Form::Text),
    ("ignoreContainer", Form::Pattern),
    ("hostStatusOnStart", Form::OneOf(&["working", "standby", "maintenance", "poweroff"])),
    ("hostIdStore", Form::OneOf(&["file", "memory"])),
    ("readinessProbe", Form::Probe),
    ("plugin", Form::Plugins),
];
pub(crate) const PROBE: Fields = &[
    ("exec", Form::Way(EXEC, "command")),
    ("http", Form::Way(HTTP, "path")),
    ("tcp", Form::Way(TCP, "port")),
    ("initialDelaySeconds", Form::Whole(Least::Zero)),
    ("periodSeconds", Form::Whole(Least::Zero)),
    ("timeoutSeconds", Form::Whole(Least::Zero)),
];
const EXEC: Fields = &[("command", Form::Command), ("user", Form::User), ("env", Form::Variables)];
const HTTP: Fields = &[
    ("scheme", Form::Text),
    ("method", Form::Text),
    ("host", Form::Text),
    ("port", Form::Port),
    ("path", Form::Text),
    ("headers", Form::Headers),
    ("proxy", Form::Text),
];
pub(crate) const HEADER: Fields = &[("name", Form::Text), ("value", Form::Text)];
const TCP: Fields = &[("host", Form::Text), ("port", Form::Port)];
pub(crate) const PLUGIN: Fields = &[("metrics", Form::Named(METRICS)), ("checks", Form::Named(CHECKS))];
const METRICS: Fields = &[
    ("command", Form::Command),
    ("user", Form::User),
    ("env", Form::Variables),
    ("timeoutSeconds", Form::Whole(Least::Any)),
];
const CHECKS: Fields = &[
    ("command", Form::Command),
    ("user", Form::User),
    ("env", Form::Variables),
    ("timeoutSeconds", Form::Whole(Least::Any)),
    ("memo", Form::Text),
];
