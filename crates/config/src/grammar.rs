//! The forms of text that Kubernetes and the agent take, judged by hand: most starts read some, and to compile a pattern takes longer
//! than the rest of the configuration. The schema describes each by a pattern, and a test compares both.

/// Returns true for text of at least one byte, each of which is allowed.
fn is_all(text: &str, is_allowed: impl Fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_allowed(&byte))
}

/// Returns true for letters and digits with other bytes between them: `a-b`
fn is_word(text: &str, is_letter: fn(&u8) -> bool, between: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_letter)
        && bytes.last().is_some_and(is_letter)
        && is_all(text, |byte| {
            is_letter(byte) || between.as_bytes().contains(byte)
        })
}

fn is_lower(byte: &u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Returns true for a DNS label of any length.
pub(super) fn is_label(text: &str) -> bool {
    is_word(text, is_lower, "-")
}

/// Returns true for a DNS subdomain.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Returns true for a label's value that is not empty, or a name without prefix.
pub(super) fn is_qualified(text: &str) -> bool {
    text.len() <= 63 && is_word(text, u8::is_ascii_alphanumeric, "._-")
}

/// Returns true for `[prefix/]name`.
pub(super) fn is_metadata_name(text: &str) -> bool {
    text.split_once('/').map_or_else(
        || is_qualified(text),
        |(prefix, name)| is_subdomain(prefix) && is_qualified(name),
    )
}

fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(byte)
}

pub(super) fn is_data_key(text: &str) -> bool {
    is_all(text, is_name_byte) && text != "." && !text.starts_with("..")
}

pub(super) fn is_kind(text: &str) -> bool {
    is_all(text, u8::is_ascii_alphanumeric) && text.starts_with(|first: char| first.is_uppercase())
}

/// Returns true for an image, or for text with a placeholder.
pub(super) fn is_image(text: &str) -> bool {
    let (name, digest) = split(text, text.split_once('@'));
    // The colon of a port stands before a `/`.
    let tagged = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let (name, tag) = split(name, tagged);
    let is_name = is_repository(name)
        || name
            .split_once('/')
            .is_some_and(|(registry, path)| is_registry(registry) && is_repository(path));
    is_name && tag.is_none_or(is_tag) && digest.is_none_or(is_digest) || has_placeholder(text)
}

fn split<'t>(text: &'t str, parts: Option<(&'t str, &'t str)>) -> (&'t str, Option<&'t str>) {
    parts.map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn is_repository(text: &str) -> bool {
    text.split('/').all(|part| is_word(part, is_lower, "._-"))
}

fn is_registry(text: &str) -> bool {
    let host = text
        .rsplit_once(':')
        .filter(|(_, port)| is_digits(port))
        .map_or(text, |(host, _)| host);
    let ip = host.strip_prefix('[').and_then(|ip| ip.strip_suffix(']'));
    ip.map_or_else(
        || is_word(host, u8::is_ascii_alphanumeric, ".-"),
        |ip| is_all(ip, |byte| byte.is_ascii_hexdigit() || *byte == b':'),
    )
}

fn is_tag(text: &str) -> bool {
    is_all(text, is_name_byte) && !text.starts_with(['.', '-'])
}

fn is_digest(text: &str) -> bool {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.split_once(':').is_some_and(|(algorithm, hex)| {
        is_all(hex, is_hex)
            && [("sha256", 64), ("sha384", 96), ("sha512", 128)].contains(&(algorithm, hex.len()))
    })
}

/// Returns true for `${A}`, `$(A)`, `#{A}` and `__A__`, alone or within other text.
fn has_placeholder(text: &str) -> bool {
    let is_upper = |bytes: &[u8]| bytes.starts_with(b"__") && bytes[2].is_ascii_uppercase();
    is_printable(text)
        && (text.contains('$') || text.contains("#{") || text.as_bytes().windows(3).any(is_upper))
}

/// Returns true for text without blanks and control characters.
fn is_solid(text: &str) -> bool {
    !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f)
}

pub(super) fn is_config_location(text: &str) -> bool {
    ["https://", "http://", "s3://", "file:///", "/"]
        .iter()
        .any(|start| text.starts_with(start))
        && is_solid(text)
}

pub(super) fn is_api_url(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|rest| {
            let host = rest.strip_suffix('/').unwrap_or(rest);
            !host.is_empty() && !host.contains(['/', '?', '#']) && is_solid(host)
        })
    })
}

/// Returns true for text whose references have no colon but behind `label`, where the name of a label stands.
pub(super) fn is_host_text(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('$') {
        let Some(open) = behind.strip_prefix('(') else {
            // `$$` is a dollar sign.
            rest = behind.strip_prefix('$').unwrap_or(behind);
            continue;
        };
        let Some((name, after)) = open.split_once(')') else {
            return true;
        };
        let is_label = || name.strip_prefix("label:").is_some_and(is_metadata_name);
        if name.contains(':') && !is_label() {
            return false;
        }
        rest = after;
    }
    true
}

/// Returns true for a path none of whose names is `..`.
fn is_path(text: &str) -> bool {
    text.split('/').all(|name| name != "..")
}

pub(super) fn is_absolute_path(text: &str) -> bool {
    text.starts_with('/') && is_path(text)
}

pub(super) fn is_inner_path(text: &str) -> bool {
    !text.starts_with('/') && is_path(text)
}

/// Returns true for a path below `/`, without the colon that separates paths in a runtime's options.
pub(super) fn is_mount_path(text: &str) -> bool {
    is_absolute_path(text) && text.bytes().any(|byte| byte != b'/') && !text.contains(':')
}

/// The units of an amount.
const UNITS: [&str; 14] = [
    "", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

fn is_digits(text: &str) -> bool {
    is_all(text, u8::is_ascii_digit)
}

/// Returns true for an amount of memory.
pub(super) fn is_amount_of_memory(text: &str) -> bool {
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
    let number = &text[..text.len() - unit.len()];
    let (whole, fraction) = split(number, number.split_once('.'));
    let is_exponent = |unit: &str| unit.strip_prefix(['e', 'E']).is_some_and(is_digits);
    is_digits(whole)
        && fraction.is_none_or(is_digits)
        && (is_exponent(unit) || UNITS.contains(&unit) && unit != "m")
}

pub(super) fn is_divisor(text: &str) -> bool {
    let unit = text.strip_prefix('1');
    text == "0" || unit.is_some_and(|unit| UNITS.contains(&unit))
}

/// Returns true for a field of the pod that a variable may take.
pub(super) fn is_pod_field(text: &str) -> bool {
    let key = text
        .strip_prefix("metadata.labels['")
        .or_else(|| text.strip_prefix("metadata.annotations['"))
        .and_then(|key| key.strip_suffix("']"));
    key.map_or_else(
        || {
            [
                "metadata.name",
                "metadata.namespace",
                "metadata.uid",
                "spec.nodeName",
                "spec.serviceAccountName",
                "status.hostIP",
                "status.hostIPs",
                "status.podIP",
                "status.podIPs",
            ]
            .contains(&text)
        },
        is_metadata_name,
    )
}

/// Returns true for an amount of the container that a variable may take.
pub(super) fn is_container_amount(text: &str) -> bool {
    text.split_once('.').is_some_and(|(list, resource)| {
        ["requests", "limits"].contains(&list)
            && ["cpu", "memory", "ephemeral-storage"].contains(&resource)
    })
}

pub(super) fn is_header(text: &str) -> bool {
    is_all(text, |byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Returns true for printable text without blanks.
pub(super) fn is_printable(text: &str) -> bool {
    is_all(text, u8::is_ascii_graphic)
}

pub(super) fn is_variable(text: &str) -> bool {
    is_printable(text) && !text.contains('=')
}
