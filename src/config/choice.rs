//! Closed enums that are written as one word.

/// Declares an enum with the word that each variant is written as. The variants' doc comments are the documentation
/// that users see.
macro_rules! choices {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident {
            $($(#[doc = $variant_doc:literal])* $Variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Name {
            $($(#[doc = $variant_doc])* $Variant,)*
        }

        impl $Name {
            /// Every choice, in the order of the documentation.
            pub const ALL: &'static [$Name] = &[$($Name::$Variant,)*];

            /// The word as it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($Name::$Variant => $word,)* }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use choices;
