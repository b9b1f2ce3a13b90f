//! Reads stdin and files as UTF-8 text.

pub use injector::STDIN;

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
#[cfg(unix)]
use std::{os::unix::fs::MetadataExt, sync::LazyLock};

/// The reason why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The operating system's error.
    #[error("{}", io_message(.0))]
    Io(#[from] io::Error),
    /// It is not UTF-8.
    #[error("{}", .0.message)]
    NotText(NotText),
    /// In `inject web.yaml > web.yaml`, the shell has emptied the file.
    #[error(
        "the file is the output, too; restore it if the shell has emptied it; use `-i`, or write to another file"
    )]
    IsOutput,
}

/// An input that is not UTF-8.
#[derive(Debug)]
pub struct NotText {
    /// The error, with the encoding if it is known.
    pub message: String,
    /// The next step for the user.
    pub help: &'static str,
    /// Offset of the first byte that is not UTF-8.
    pub offset: usize,
    pub bytes: Vec<u8>,
}

impl NotText {
    /// Returns the ASCII characters of the input. In UTF-16, a byte 0 precedes or follows each of them.
    pub fn ascii(&self) -> String {
        self.bytes
            .iter()
            .filter(|byte| byte.is_ascii() && **byte != 0)
            .map(|byte| char::from(*byte))
            .collect()
    }
}

/// Returns true for a text that probably is a manifest, even if it is not valid: a line begins with `apiVersion:` or `kind:`, or
/// both are keys of JSON.
pub fn looks_like_manifest(text: &str) -> bool {
    if text.contains("\"apiVersion\"") && text.contains("\"kind\"") {
        return true;
    }
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .any(|line| line.starts_with("apiVersion:") || line.starts_with("kind:"))
}

/// The text of a file, and its state.
pub struct FileText {
    pub text: String,
    pub state: FileState,
}

/// The length of a file and the time of its last change. A different state later shows that another program wrote to the file, or
/// replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
    /// Time of the last change of the inode in seconds and nanoseconds, which a program cannot set back.
    #[cfg(unix)]
    inode_changed: [i64; 2],
}

impl FileState {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: metadata.ino(),
            #[cfg(unix)]
            inode_changed: [metadata.ctime(), metadata.ctime_nsec()],
        }
    }
}

/// Returns the canonical path, or the path itself if there is no such file.
pub fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reads a file.
pub fn read_file(path: &Path) -> Result<FileText, Unreadable> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    #[cfg(unix)]
    refuse_output(&metadata)?;
    // Unlike `File`, `Take` does not ask the system for the length a second time.
    let bytes = read_all(file.take(u64::MAX), metadata.len())?;
    Ok(FileText {
        text: text(bytes)?,
        state: FileState::of(&metadata),
    })
}

/// Reads the text of a file.
pub fn read_text(path: &Path) -> Result<String, Unreadable> {
    Ok(read_file(path)?.text)
}

/// Reads stdin to its end.
pub fn read_stdin() -> Result<String, Unreadable> {
    text(read_all(stdin_file()?, 0)?)
}

/// Returns stdin as a file. Unlike `io::Stdin`, it knows its length if it is redirected from a file, and has no buffer.
#[cfg(unix)]
fn stdin_file() -> Result<File, Unreadable> {
    let stdin = file_of(io::stdin())?;
    refuse_output(&stdin.metadata()?)?;
    Ok(stdin)
}

#[cfg(not(unix))]
fn stdin_file() -> io::Result<io::StdinLock<'static>> {
    Ok(io::stdin().lock())
}

#[cfg(unix)]
fn file_of(stream: impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Refuses a file that is stdout, too.
#[cfg(unix)]
fn refuse_output(metadata: &Metadata) -> Result<(), Unreadable> {
    static STDOUT: LazyLock<Option<Metadata>> =
        LazyLock::new(|| file_of(io::stdout()).ok()?.metadata().ok());
    let is_output = STDOUT.as_ref().is_some_and(|stdout| {
        stdout.is_file() && (stdout.dev(), stdout.ino()) == (metadata.dev(), metadata.ino())
    });
    if is_output {
        return Err(Unreadable::IsOutput);
    }
    Ok(())
}

/// Reads to the end, which probably comes after `length` bytes.
fn read_all(mut reader: impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(0))?;
    reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Converts bytes to text without a copy.
pub fn text(bytes: Vec<u8>) -> Result<String, Unreadable> {
    // UTF-16 without a byte order mark is also valid UTF-8: `a` is `61 00`.
    if matches!(
        bytes.as_slice(),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..]
    ) {
        return Err(Unreadable::NotText(NotText {
            message: "the file is UTF-16; only UTF-8 is supported".to_owned(),
            help: "convert the file, for example with `iconv -f UTF-16 -t UTF-8`",
            offset: 0,
            bytes,
        }));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let byte = bytes.get(offset).copied().unwrap_or_default();
        Unreadable::NotText(NotText {
            message: format!("not UTF-8: byte 0x{byte:02x} at offset {offset}"),
            help: "convert the file from its encoding, for example with `iconv -f SHIFT_JIS -t UTF-8` or `iconv -f WINDOWS-1252 -t UTF-8`",
            offset,
            bytes,
        })
    })
}

/// Returns the message of an error about a file or folder.
pub fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), io_message(error))
}

/// Returns the message of an error of the operating system, as a part of a sentence:
/// `No such file or directory (os error 2)` -> `no such file or directory`.
pub fn io_message(error: &io::Error) -> String {
    let text = error.to_string();
    let mut characters = text.split(" (os error").next().unwrap_or_default().chars();
    let first = characters.next().into_iter();
    first
        .flat_map(char::to_lowercase)
        .chain(characters)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_is_not_utf8() {
        let error = |bytes: &[u8]| match text(bytes.to_vec()) {
            Err(Unreadable::NotText(binary)) => binary.message,
            other => panic!("{other:?}"),
        };
        let utf16 = "the file is UTF-16; only UTF-8 is supported";
        assert_eq!(error(b"\xff\xfea\0"), utf16);
        assert_eq!(error(b"\xfe\xff\0a"), utf16);
        assert_eq!(error(b"k\0i\0n\0d\0"), utf16);
        assert_eq!(
            error(b"a: 1\nb: caf\xe9\n"),
            "not UTF-8: byte 0xe9 at offset 11"
        );
    }

    #[test]
    fn keeps_a_byte_order_mark_and_every_other_byte() {
        let bytes = "\u{feff}a: \"日本\"\r\n";
        assert_eq!(text(bytes.as_bytes().to_vec()).unwrap(), bytes);
    }

    #[test]
    fn tells_manifests_by_their_keys() {
        for manifest in [
            "apiVersion: v1\n",
            "# x\nkind: Pod",
            "\u{feff}kind: Pod",
            "{\"kind\": \"Pod\", \"apiVersion\"",
        ] {
            assert!(looks_like_manifest(manifest), "{manifest:?}");
        }
        for other in [
            "",
            "a: 1\n  kind: Pod\n",
            "kinds: 1\n",
            "{\"kind\": \"tsconfig\", // a comment",
        ] {
            assert!(!looks_like_manifest(other), "{other:?}");
        }
    }
}
