//! Suggestions for unknown settings: the same name in another group.

use crate::config::setting::{Field, Setting};
use crate::config::spec::Spec;
use crate::diagnostic::closest::normalize;

/// Returns the dotted path of a setting with this name in any group.
pub(crate) fn elsewhere(name: &str) -> Option<String> {
    let wanted = normalize(name);
    find(&Spec::default().fields(), "", &wanted)
}

fn find(fields: &[Field<'_>], inside: &str, wanted: &str) -> Option<String> {
    fields.iter().find_map(|field| {
        let path = if inside.is_empty() { field.name.to_owned() } else { format!("{inside}.{}", field.name) };
        let is_it = normalize(field.name) == wanted;
        if is_it { Some(path) } else { find(&field.setting.fields(), &path, wanted) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_in_another_group() {
        assert_eq!(elsewhere("image").as_deref(), Some("agent.image"));
        assert_eq!(elsewhere("secret-key-ref").as_deref(), Some("apiKey.secretKeyRef"));
        assert_eq!(elsewhere("nothing"), None);
    }
}
