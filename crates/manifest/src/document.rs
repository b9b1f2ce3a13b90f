//! An object that the program prints, as a document of YAML.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

/// Returns the object in block style, as the editor writes what it adds to a manifest.
pub fn document(object: &Value) -> String {
    let whole = PatchOperation::Add(AddOperation {
        path: PointerBuf::new(),
        value: object.clone(),
    });
    // JSON is YAML, too.
    yaml_json_patch::apply("", &Patch(vec![whole])).unwrap_or_else(|_| format!("{object}\n"))
}
