//! JSON Pointers in the form in which Kubernetes prints fields: `/spec/containers/1/image` -> `spec.containers[1].image`.

use yaml_json_patch::pointer::unescape;

/// Returns the dotted path that kubectl and KRM results show; empty for the resource itself.
pub fn field_path(pointer: &str) -> String {
    let mut path = String::new();
    for token in pointer.split('/').skip(1) {
        let key = unescape(token);
        let is_index = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        if is_index || key.contains(['.', '/', '[', ']']) {
            path.extend(["[", &key, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&key);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::field_path;

    #[test]
    fn prints_fields_as_kubernetes_does() {
        let cases = [
            ("", ""),
            ("/spec", "spec"),
            (
                "/spec/template/spec/containers/1/image",
                "spec.template.spec.containers[1].image",
            ),
            (
                "/metadata/annotations/example.io~1inject",
                "metadata.annotations[example.io/inject]",
            ),
            ("/data/a~0b", "data.a~b"),
        ];
        for (pointer, path) in cases {
            assert_eq!(field_path(pointer), path);
        }
    }
}
