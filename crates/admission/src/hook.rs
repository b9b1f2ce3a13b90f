//! The webhooks that the API server calls.

/// The webhook that the API server calls. Only the first one ever refuses an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Mutating, for pods: adds the agent.
    Mutate,
    /// Validating, for workloads: warns the person who applies one, since warnings about its pods reach only a controller.
    Warn,
    /// Mutating, for workloads: adds the init container that waits. The agent comes with the pods.
    WaitFor,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Hook; 3] = [Hook::Mutate, Hook::Warn, Hook::WaitFor];

    /// The path of its URL.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Hook::Mutate => "/mutate",
            Hook::Warn => "/warn",
            Hook::WaitFor => "/wait-for",
        }
    }

    /// The path without the slash, for metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.path().trim_start_matches('/')
    }
}
