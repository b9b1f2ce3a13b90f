//! The table of settings: name, documentation, type and default of each stand in one place.

/// Declares a group of settings. Each line: the doc comment that users see, the name as it is written, then the field
/// with its type and default.
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        pub struct $Name:ident {
            $($(#[doc = $field_doc:literal])* $written:literal $field:ident: $Type:ty = $default:expr;)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $Name {
            $($(#[doc = $field_doc])* pub $field: $Type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $($field: $default,)* }
            }
        }
    };
}

pub(crate) use settings;
