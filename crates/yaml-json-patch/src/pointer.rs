//! The tokens of a JSON Pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)).

use std::borrow::Cow;

/// Escapes a key for a pointer.
///
/// ```
/// assert_eq!(yaml_json_patch::pointer::escape("example.com/a~b"), "example.com~1a~0b");
/// ```
#[must_use]
pub fn escape(key: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'~', b'/', key.as_bytes()).is_none() {
        return Cow::Borrowed(key);
    }
    Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
}

/// Unescapes a token of a pointer into the key.
///
/// ```
/// assert_eq!(yaml_json_patch::pointer::unescape("example.com~1a~0b"), "example.com/a~b");
/// ```
#[must_use]
pub fn unescape(token: &str) -> Cow<'_, str> {
    if memchr::memchr(b'~', token.as_bytes()).is_none() {
        return Cow::Borrowed(token);
    }
    Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
}
