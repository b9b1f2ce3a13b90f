//! The reasons why a configuration has no policy.

/// The reason why a configuration has no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Nothing is to be injected.
    #[error(
        "`injection` is `disabled`, so the policy would inject nothing; delete it from the cluster, or set `injection`"
    )]
    Disabled,
    /// The API server would refuse an expression.
    #[error(
        "the expression `{name}` of the policy has {length} characters, but the API server takes at most {MAX_EXPRESSION}; shorten the settings that it is made of, or use the webhook"
    )]
    TooLong { name: String, length: usize },
}

/// The API server's limit on the length of an expression.
pub(super) const MAX_EXPRESSION: usize = 100_000;
