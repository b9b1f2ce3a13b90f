//! Settings of Kubernetes types, and their schema.

use crate::config::checked::{qualified, subdomain};
use crate::config::violation::Violation;
use crate::manifest::dotted_path::is_at_or_below;
use crate::manifest::quantity::nanos;
use serde_json::{Value as Json, json};

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

/// Makes the schema of a type the one for editors: null for every field, no unknown fields, and quantities with a type and without
/// their grammar. Then adds what Kubernetes checks beyond the types.
pub(super) fn narrow(schema: &mut Json, path: &str) {
    tidy(schema, true);
    json_patch::merge(schema, &narrowing(path));
}

fn tidy(schema: &mut Json, is_setting: bool) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if object.shift_remove("x-kubernetes-int-or-string").is_some() {
        object.insert("type".to_owned(), json!(["string", "number"]));
    }
    if object.get("type").is_some_and(|name| name == "integer") {
        // Users, groups, ports and seconds.
        object.insert("minimum".to_owned(), 0.into());
        object.insert("maximum".to_owned(), i32::MAX.into());
    }
    object.shift_remove("format");
    if !is_setting {
        object.shift_remove("description");
    }
    if let Some(fields) = object.get_mut("properties").and_then(Json::as_object_mut) {
        for field in fields.values_mut() {
            tidy(field, false);
            nullable(field);
        }
        object.insert("additionalProperties".to_owned(), false.into());
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(name).filter(|inner| inner.is_object()) {
            tidy(inner, false);
            if name == "additionalProperties" {
                nullable(inner);
            }
        }
    }
    if is_setting {
        nullable(schema);
    }
}

fn nullable(schema: &mut Json) {
    match &mut schema["type"] {
        Json::Array(types) if types.iter().any(|name| name == "null") => {}
        Json::Array(types) => types.push("null".into()),
        one => *one = json!([one.take(), "null"]),
    }
}

/// A name in a path: neither empty nor `..`, and without these characters.
macro_rules! path_name {
    ($without:literal) => {
        concat!(
            r"(\.{0,2}[^./",
            $without,
            "][^/",
            $without,
            r"]*|\.{3}[^/",
            $without,
            r"]*|\.)"
        )
    };
}

/// Returns the schema of text in this form. The help is for errors and editors.
fn text(pattern: &str, help: &str) -> Json {
    json!({"description": help, "pattern": format!("^({pattern})$")})
}

/// Returns the schema of a path that stays below a folder.
fn inner_path() -> Json {
    let pattern = concat!("(", path_name!(""), "(/+", path_name!(""), ")*/*)?");
    text(pattern, "use a relative path without `..`")
}

/// Returns what Kubernetes checks of the values at a setting, as a merge patch of its schema.
fn narrowing(path: &str) -> Json {
    match path {
        "agent.env" => json!({"items": variable()}),
        "agent.envFrom" => json!({"items": variables()}),
        "agent.readinessProbe" => probe(&json!({"terminationGracePeriodSeconds": null})),
        "agent.livenessProbe" | "agent.startupProbe" => {
            probe(&json!({"successThreshold": {"maximum": 1}}))
        }
        "agent.lifecycle" => lifecycle(),
        "agent.volumes" => json!({"items": volume()}),
        "agent.volumeMounts" => json!({"items": mount()}),
        // The pods have no such claims.
        "agent.resources" | "waitFor.resources" => json!({"properties": {"claims": null}}),
        _ => security_context(),
    }
}

fn security_context() -> Json {
    let kind = json!({"enum": ["RuntimeDefault", "Unconfined", "Localhost", null]});
    json!({"properties": {
        // `Unmasked` is for pods with a user namespace alone.
        "procMount": {"enum": ["Default", null]},
        "seccompProfile": {"properties": {"type": kind, "localhostProfile": inner_path()}},
        "appArmorProfile": {"properties": {"type": kind, "localhostProfile": text("[!-~]+", "use a name without spaces")}},
        // The agent does not run on Windows.
        "windowsOptions": null,
    }})
}

fn mount() -> Json {
    json!({"required": ["name", "mountPath"], "properties": {
        "mountPath": text(
            concat!("(/+", path_name!(":"), ")+/*"),
            "use a path below `/`, without `:` and `..`",
        ),
        "subPath": inner_path(),
        "subPathExpr": inner_path(),
        // `Bidirectional` is for privileged containers.
        "mountPropagation": {"enum": ["None", "HostToContainer", null]},
        "recursiveReadOnly": {"enum": ["Disabled", "IfPossible", "Enabled", null]},
    }})
}

/// Returns the choices of a mapping that has exactly one of these members. Null has none, so that `oneOf` would refuse it.
fn one_of(names: &[&str]) -> Json {
    names
        .iter()
        .map(|name| json!({"required": [name]}))
        .collect()
}

fn object_name() -> Json {
    text(subdomain!(), "use the name of an object")
}

fn variables() -> Json {
    let object = json!({"required": ["name"], "properties": {"name": object_name()}});
    json!({"anyOf": one_of(&["configMapRef", "secretRef"]), "properties": {
        "configMapRef": object,
        "secretRef": object,
        "prefix": text("[!-<>-~]*", "use letters, digits, `_`, `-` and `.`"),
    }})
}

/// Returns the schema of the handlers that probes and hooks share.
fn handlers() -> Json {
    let port = json!({
        "type": ["integer", "null"],
        "description": "use a number from 1 to 65535: the agent has no ports with names",
        "minimum": 1,
        "maximum": 65535,
    });
    let header = json!({"required": ["name"], "properties": {"name": text("[A-Za-z0-9-]+", "use the name of a header")}});
    json!({
        "exec": {"required": ["command"]},
        "httpGet": {"required": ["port"], "properties": {
            "port": port,
            "scheme": {"enum": ["HTTP", "HTTPS", null]},
            "httpHeaders": {"items": header},
        }},
        "tcpSocket": {"required": ["port"], "properties": {"port": port}},
    })
}

fn probe(rules: &Json) -> Json {
    let mut fields = handlers();
    fields["grpc"] =
        json!({"required": ["port"], "properties": {"port": {"minimum": 1, "maximum": 65535}}});
    fields["terminationGracePeriodSeconds"] = json!({"minimum": 1});
    for (name, rule) in rules.as_object().into_iter().flatten() {
        fields[name] = rule.clone();
    }
    json!({"anyOf": one_of(&["exec", "grpc", "httpGet", "tcpSocket"]), "properties": fields})
}

fn lifecycle() -> Json {
    let mut fields = handlers();
    // The API server refuses more than the pod's grace period, which is 30 seconds by default.
    fields["sleep"] = json!({"required": null, "properties": {"seconds": {"maximum": 30}}});
    let hook =
        json!({"anyOf": one_of(&["exec", "httpGet", "sleep", "tcpSocket"]), "properties": fields});
    // `stopSignal` is for pods that name their operating system alone.
    json!({"properties": {"postStart": hook, "preStop": hook, "stopSignal": null}})
}

fn volume() -> Json {
    let mode = json!({"maximum": 0o777});
    let file =
        json!({"required": ["key", "path"], "properties": {"mode": mode, "path": inner_path()}});
    let object = |name: &str| {
        json!({"required": [name], "properties": {
            name: object_name(), "defaultMode": mode, "items": {"items": file},
        }})
    };
    let kinds = [
        "DirectoryOrCreate",
        "Directory",
        "FileOrCreate",
        "File",
        "Socket",
        "CharDevice",
        "BlockDevice",
    ];
    let path = text(
        concat!("/+(", path_name!(""), "(/+", path_name!(""), ")*/*)?"),
        "use an absolute path without `..`",
    );
    let amount = text(
        r"[0-9]+(\.[0-9]+)?([kMGTPE]|[KMGTPE]i|[eE][0-9]+)?",
        "for example `64Mi`",
    );
    let sources = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "hostPath",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    json!({"required": ["name"], "anyOf": one_of(&sources), "properties": {
        "name": text("[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?", "use at most 48 lower-case letters, digits and `-`"),
        "configMap": object("name"),
        "secret": object("secretName"),
        "csi": {"required": ["driver"]},
        "image": {"required": ["reference"]},
        "persistentVolumeClaim": {"properties": {"claimName": object_name()}},
        "emptyDir": {"properties": {"medium": {"enum": ["Memory", null]}, "sizeLimit": amount}},
        "hostPath": {"required": ["path"], "properties": {"path": path, "type": {"enum": kinds}}},
    }})
}

fn variable() -> Json {
    let reference = json!({"required": ["name", "key"], "properties": {
        "name": object_name(),
        "key": text(r"\.?[A-Za-z0-9_-][A-Za-z0-9._-]*", "use a key of the object"),
    }});
    let path = concat!(
        r"metadata\.(name|namespace|uid|(labels|annotations)\['(",
        subdomain!(),
        "/)?",
        qualified!(),
        r"'\])|",
        r"spec\.(nodeName|serviceAccountName)|status\.(hostIP|podIP)s?",
    );
    json!({"required": ["name"], "properties": {
        "name": text("[!-<>-~]+", "use letters, digits, `_`, `-` and `.`"),
        "valueFrom": {"anyOf": one_of(&["configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"]), "properties": {
            "secretKeyRef": reference,
            "configMapKeyRef": reference,
            "fieldRef": {"required": ["fieldPath"], "properties": {
                "apiVersion": {"enum": ["v1", null]},
                "fieldPath": text(path, "for example `spec.nodeName` or `metadata.labels['app']`"),
            }},
            // The API server refuses a pod without its volume.
            "fileKeyRef": null,
            "resourceFieldRef": {"required": ["resource"], "properties": {
                "resource": text(
                    r"(requests|limits)\.(cpu|memory|ephemeral-storage)",
                    "for example `limits.memory`",
                ),
                "divisor": text("0|1([mkMGTPE]|[KMGTPE]i)?", "for example `1Mi`"),
            }},
        }},
    }})
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
