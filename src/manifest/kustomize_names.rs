//! The names of an object before and after `namePrefix` and `nameSuffix` of kustomizations.

/// The annotation in which kustomize tells its functions the names of an object before it changed them.
pub(crate) const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";

/// Returns the names in the value of [`PREVIOUS_NAMES`]. References keep them until the end of the build.
pub(crate) fn previous_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',')
}

/// A prefix and a suffix of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameAffixes {
    pub(crate) prefix: String,
    pub(crate) suffix: String,
}

impl NameAffixes {
    /// Returns the name with both.
    pub(crate) fn around(&self, name: &str) -> String {
        format!("{}{name}{}", self.prefix, self.suffix)
    }
}

/// The prefix and suffix around the original name after each change of it. The last ones are those of the current name.
pub(crate) type NameChanges = Vec<NameAffixes>;
