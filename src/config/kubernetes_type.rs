//! Settings of Kubernetes' own types. What a field may be called and what type it has is asked of the type itself,
//! through its `Deserialize`; so is the schema.

mod located;
mod merged;
mod probe;

use located::read as read_located;
use probe::schema;

use super::collection::Item;
use super::reading::{Complaint, Reading};
use super::value::Value;
use k8s_openapi::api::core::v1::EnvVar;
use serde_json::{Value as Json, json};

impl Item for EnvVar {
    fn read_item(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let (variable, _): (EnvVar, _) = read_located(value, &[], reading)?;
        let complaint = if variable.name.is_empty() {
            Complaint::new("needs a `name`")
        } else if !variable.name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=') {
            Complaint::new(format!("has a name that cannot be one of a variable: `{}`", variable.name))
                .with_help("letters, digits, `_`, `-` and `.`")
        } else if variable.value.is_some() && variable.value_from.is_some() {
            Complaint::new("has both `value` and `valueFrom`").with_help("take one of them away")
        } else {
            return Some(variable);
        };
        reading.problem(value.range(), complaint);
        None
    }

    fn item_json(&self) -> Json {
        json!(self)
    }

    fn item_schema() -> Json {
        let mut schema = schema::<EnvVar>();
        if let Some(object) = schema.as_object_mut() {
            object.insert("required".to_owned(), json!(["name"]));
        }
        schema
    }

    fn identity(&self) -> Option<&str> {
        Some(&self.name)
    }
}
