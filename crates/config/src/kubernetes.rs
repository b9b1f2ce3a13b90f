//! Settings of Kubernetes types, and what Kubernetes checks of their values beyond the types.

use crate::grammar::{
    is_absolute_path, is_amount_of_memory, is_container_amount, is_data_key, is_divisor, is_header,
    is_inner_path, is_label, is_mount_path, is_pod_field, is_printable, is_subdomain, is_variable,
};
use crate::violation::Violation;
use Rule::{Needs, Number, OneOf, PassedThrough, Port, Refused, Since, Text, Word};
use manifest::dotted_path::is_at_or_below;
use manifest::nanos;

/// The settings that are a type of Kubernetes, or a list of it.
pub(super) const PATHS: [&str; 11] = [
    "agent.env",
    "agent.envFrom",
    "agent.livenessProbe",
    "agent.readinessProbe",
    "agent.startupProbe",
    "agent.lifecycle",
    "agent.volumes",
    "agent.volumeMounts",
    "agent.resources",
    "agent.securityContext",
    "waitFor.resources",
];

/// Returns the JSON Pointer of a setting: `agent.env` -> `/agent/env`
pub(super) fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// Returns true for a value of one of these settings.
pub(super) fn is_within(path: &str) -> bool {
    PATHS.iter().any(|setting| is_at_or_below(path, setting))
}

/// Returns true for an amount, which keeps the text of its number: `128e6`, `1.0`.
pub(super) fn is_amount(path: &str) -> bool {
    let is_field = |name: &str| path.ends_with(name);
    path.contains(".resources.") || is_field(".divisor") || is_field(".sizeLimit")
}

/// A rule about one value, and what an error about it says.
#[derive(Debug)]
pub(super) enum Rule {
    /// API servers have the field since this minor version by default or, where it has no default yet, by a feature gate. Older ones
    /// drop it, and refuse a volume that has nothing else.
    Since(u16),
    /// The field is not for the agent.
    Refused,
    /// The mapping needs these members.
    Needs(&'static [&'static str]),
    /// The mapping has exactly one of these members.
    OneOf(&'static [&'static str]),
    /// The members of the mapping are not checked.
    PassedThrough,
    /// The number is at least the first and at most the second one.
    Number(i64, i64),
    /// The port is a number, since the agent has no ports with names.
    Port,
    /// The text is one of these.
    Word(&'static [&'static str]),
    /// The text has this form.
    Text(&'static Form),
}

/// A form of text, and the help for another one.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) is_of_form: fn(&str) -> bool,
    pub(super) help: &'static str,
}

/// The help for a port that is none.
pub(super) const PORT: &str = "use a number from 1 to 65535: the agent has no ports with names";

const MAX_PORT: i64 = u16::MAX as i64;

/// The largest number of users, groups and seconds.
const MAX: i64 = i32::MAX as i64;

/// Declares forms of text: the name, the function that judges the whole text, and the help.
macro_rules! forms {
    ($($NAME:ident: $is_of_form:expr, $help:literal;)*) => {
        $(static $NAME: Form = Form {
            is_of_form: $is_of_form,
            help: $help,
        };)*

        /// The forms by their names.
        #[cfg(test)]
        pub(super) const FORMS: &[(&str, &Form)] = &[$((stringify!($NAME), &$NAME)),*];
    };
}

forms! {
    ABSOLUTE_PATH: is_absolute_path, "use an absolute path without `..`";
    AMOUNT: is_amount_of_memory, "for example `64Mi`";
    DATA_KEY: is_data_key, "use a key of the object";
    DIVISOR: is_divisor, "for example `1Mi`";
    FIELD: is_pod_field, "for example `spec.nodeName` or `metadata.labels['app']`";
    HEADER: is_header, "use the name of a header";
    INNER_PATH: is_inner_path, "use a relative path without `..`";
    MOUNT_PATH: is_mount_path, "use a path below `/`, without `:` and `..`";
    OBJECT_NAME: is_subdomain, "use the name of an object";
    PREFIX: |text| text.is_empty() || is_variable(text), "use letters, digits, `_`, `-` and `.`";
    PROFILE: is_printable, "use a name without spaces";
    RESOURCE: is_container_amount, "for example `limits.memory`";
    VARIABLE: is_variable, "use letters, digits, `_`, `-` and `.`";
    VOLUME: |text| text.len() <= 48 && is_label(text), "use at most 48 lower-case letters, digits and `-`";
}

const HOOK: Rule = OneOf(&["exec", "httpGet", "sleep", "tcpSocket"]);

const PROFILE_TYPE: Rule = Word(&["RuntimeDefault", "Unconfined", "Localhost"]);

/// The rules, each by the end of its path.
pub(super) static RULES: &[(&str, Rule)] = &[
    ("agent.env[]", Needs(&["name"])),
    ("agent.env[].name", Text(&VARIABLE)),
    (
        ".valueFrom",
        OneOf(&[
            "configMapKeyRef",
            "fieldRef",
            "resourceFieldRef",
            "secretKeyRef",
        ]),
    ),
    ("KeyRef", Needs(&["name", "key"])),
    ("KeyRef.key", Text(&DATA_KEY)),
    ("Ref.name", Text(&OBJECT_NAME)),
    (".fieldRef", Needs(&["fieldPath"])),
    (".fieldRef.apiVersion", Word(&["v1"])),
    (".fieldRef.fieldPath", Text(&FIELD)),
    // The API server refuses a pod without its volume.
    (".fileKeyRef", Refused),
    (".resourceFieldRef", Needs(&["resource"])),
    (".resourceFieldRef.resource", Text(&RESOURCE)),
    (".resourceFieldRef.divisor", Text(&DIVISOR)),
    ("agent.envFrom[]", OneOf(&["configMapRef", "secretRef"])),
    (".configMapRef", Needs(&["name"])),
    (".secretRef", Needs(&["name"])),
    ("agent.envFrom[].prefix", Text(&PREFIX)),
    ("Probe", OneOf(&["exec", "grpc", "httpGet", "tcpSocket"])),
    (".exec", Needs(&["command"])),
    (".grpc", Needs(&["port"])),
    (".grpc.mode", Since(37)),
    (".grpc.port", Number(1, MAX_PORT)),
    (".httpGet", Needs(&["port"])),
    (".httpGet.httpHeaders[]", Needs(&["name"])),
    (".httpGet.httpHeaders[].name", Text(&HEADER)),
    (".httpGet.port", Port),
    (".httpGet.protocol", Since(37)),
    (".httpGet.scheme", Word(&["HTTP", "HTTPS"])),
    (".tcpSocket", Needs(&["port"])),
    (".tcpSocket.port", Port),
    (".livenessProbe.successThreshold", Number(0, 1)),
    (".startupProbe.successThreshold", Number(0, 1)),
    (".readinessProbe.terminationGracePeriodSeconds", Refused),
    (".terminationGracePeriodSeconds", Number(1, MAX)),
    (".postStart", HOOK),
    (".preStop", HOOK),
    (".sleep", Since(30)),
    // The API server refuses more than the pod's grace period, which is 30 seconds by default.
    (".sleep.seconds", Number(0, 30)),
    // For pods that name their operating system alone.
    (".stopSignal", Refused),
    ("agent.volumes[]", Needs(&["name"])),
    (
        "agent.volumes[]",
        OneOf(&[
            "configMap",
            "csi",
            "downwardAPI",
            "emptyDir",
            "hostPath",
            "image",
            "persistentVolumeClaim",
            "projected",
            "secret",
        ]),
    ),
    ("agent.volumes[].name", Text(&VOLUME)),
    (".configMap", Needs(&["name"])),
    (".configMap.name", Text(&OBJECT_NAME)),
    (".secret", Needs(&["secretName"])),
    (".secret.secretName", Text(&OBJECT_NAME)),
    (".defaultMode", Number(0, 0o777)),
    (".defaultUser", Since(37)),
    (".items[]", Needs(&["key", "path"])),
    (".items[].mode", Number(0, 0o777)),
    (".items[].path", Text(&INNER_PATH)),
    (".items[].user", Since(37)),
    (".csi", Needs(&["driver"])),
    (".csi", PassedThrough),
    (".downwardAPI", PassedThrough),
    (".emptyDir.medium", Word(&["Memory"])),
    (".emptyDir.mode", Since(37)),
    (".emptyDir.sizeLimit", Text(&AMOUNT)),
    (".hostPath", Needs(&["path"])),
    (".hostPath.path", Text(&ABSOLUTE_PATH)),
    (
        ".hostPath.type",
        Word(&[
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ]),
    ),
    (".image", Since(35)),
    (".image", Needs(&["reference"])),
    (".image", PassedThrough),
    (".persistentVolumeClaim", Needs(&["claimName"])),
    (".persistentVolumeClaim.claimName", Text(&OBJECT_NAME)),
    (".projected", PassedThrough),
    ("agent.volumeMounts[]", Needs(&["name", "mountPath"])),
    (".bindMountOptions", Since(37)),
    (".mountPath", Text(&MOUNT_PATH)),
    // `Bidirectional` is for privileged containers.
    (".mountPropagation", Word(&["None", "HostToContainer"])),
    (".recursiveReadOnly", Since(31)),
    (
        ".recursiveReadOnly",
        Word(&["Disabled", "IfPossible", "Enabled"]),
    ),
    (".subPath", Text(&INNER_PATH)),
    (".subPathExpr", Text(&INNER_PATH)),
    // The pods have no such claims.
    (".resources.claims", Refused),
    (".appArmorProfile", Since(30)),
    (".appArmorProfile", Needs(&["type"])),
    (".appArmorProfile.localhostProfile", Text(&PROFILE)),
    (".appArmorProfile.type", PROFILE_TYPE),
    // `Unmasked` is for pods with a user namespace alone.
    (".procMount", Word(&["Default"])),
    (".seccompProfile", Needs(&["type"])),
    (".seccompProfile.localhostProfile", Text(&INNER_PATH)),
    (".seccompProfile.type", PROFILE_TYPE),
    // The agent does not run on Windows.
    (".windowsOptions", Refused),
];

/// Returns the rules about the value at a path, in their order.
pub(super) fn rules(path: &str) -> impl Iterator<Item = &'static Rule> {
    // No field has a digit in its name: `agent.env[1].name` -> `agent.env[].name`
    let general = path.replace(|character: char| character.is_ascii_digit(), "");
    RULES
        .iter()
        .filter(move |(end, _)| general.ends_with(end))
        .map(|(_, rule)| rule)
}

/// Returns true for a field that the agent cannot have.
pub(super) fn is_refused(path: &str) -> bool {
    is_within(path) && rules(path).any(|rule| matches!(rule, Refused))
}

/// Returns the least and the most that a number at a path may be.
pub(super) fn range(path: &str) -> (i64, i64) {
    rules(path)
        .find_map(|rule| match rule {
            Number(least, most) => Some((*least, *most)),
            Port => Some((1, MAX_PORT)),
            _ => None,
        })
        .unwrap_or((0, MAX))
}

/// Describes the numbers that a path takes.
pub(super) fn whole_number(path: &str) -> String {
    match range(path) {
        (0, most) => format!("a whole number up to {most}"),
        (least, most) => format!("a whole number from {least} to {most}"),
    }
}

/// Checks that a text is a quantity and not negative.
pub(super) fn quantity(text: &str) -> Result<(), Violation> {
    match nanos(text) {
        None => Err(Violation::found("a quantity", text)
            .with_help("for example `100m`, `0.5`, `64Mi` or `1Gi`")),
        Some(value) if value < 0 => Err(Violation::new(format!(
            "must not be negative, found `{text}`"
        ))),
        Some(_) => Ok(()),
    }
}
