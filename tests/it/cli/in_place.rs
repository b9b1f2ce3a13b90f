//! `inject -i` beside other programs: files that they save meanwhile, signals, ACLs.

use super::{IMAGE, injected};
use crate::program::{Folder, WEB};
use crate::tools;
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

/// A file as an editor saves it during a run.
const SAVED: &str = "kind: ConfigMap # saved\n";

/// A run of `inject -i .` over many files that stands still.
struct Stopped {
    folder: Folder,
    files: usize,
    child: Child,
}

/// A moment of a run.
#[derive(Clone, Copy, PartialEq)]
enum Moment {
    /// Temporary files are there, and every file is old.
    BeforeTheRenames,
    /// The first file is new, and the last one is old.
    BetweenTheRenames,
}

fn name(number: usize) -> String {
    format!("{number:05}.yaml")
}

fn temporary_files(folder: &Folder) -> usize {
    let names = fs::read_dir(folder.root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.as_encoded_bytes().starts_with(b".mackerel"))
        .count()
}

impl Stopped {
    /// Stops a run at a moment. A run that has passed it when it stands still is repeated with more files.
    fn at(moment: Moment, command: impl Fn(&Folder) -> Command) -> Self {
        for attempt in 0..6 {
            let folder = Folder::with(&[]);
            let files = 300 << attempt;
            (0..files).for_each(|number| folder.write(&name(number), WEB));
            let mut command = command(&folder);
            command.stdin(Stdio::null()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            let mut run = Self {
                folder,
                files,
                child,
            };
            while !run.has_begun(moment) && run.child.try_wait().unwrap().is_none() {}
            if run.child.try_wait().unwrap().is_some() {
                continue;
            }
            run.kill(Signal::STOP);
            let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::Pid(run.pid()), stopped).unwrap().unwrap();
            if status.stopped() && run.has_begun(moment) && run.is_old(run.last(moment)) {
                return run;
            }
            run.kill(Signal::KILL);
            run.child.wait().unwrap();
        }
        panic!("the moment was always over")
    }

    fn has_begun(&self, moment: Moment) -> bool {
        match moment {
            Moment::BeforeTheRenames => temporary_files(&self.folder) > 0,
            Moment::BetweenTheRenames => !self.is_old(0),
        }
    }

    /// The file that is still old at the moment.
    fn last(&self, moment: Moment) -> usize {
        match moment {
            Moment::BeforeTheRenames => 0,
            Moment::BetweenTheRenames => self.files - 1,
        }
    }

    fn is_old(&self, number: usize) -> bool {
        let metadata = fs::metadata(self.folder.path(&name(number))).unwrap();
        metadata.len() == WEB.len() as u64
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn kill(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Continues the run to its end. Returns the folder, the number of its files, and what it said.
    fn goes_on(self) -> (Folder, usize, Output) {
        self.kill(Signal::CONT);
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(temporary_files(&self.folder), 0, "{output:?}");
        (self.folder, self.files, output)
    }
}

fn in_place(folder: &Folder) -> Command {
    folder.command(&["inject", "-i", "."])
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

const CHANGED: &str = "another program changed the file at the same time; run the command again";

#[test]
fn a_file_that_is_saved_before_the_renames_leaves_all_of_them_old() {
    let run = Stopped::at(Moment::BeforeTheRenames, in_place);
    run.folder.write(&name(0), SAVED);
    let (folder, files, output) = run.goes_on();
    let first = name(0);
    let expected =
        format!("error: {first}: {CHANGED}\n\n{files} to add, 1 error; no file was changed\n");
    assert_eq!((output.status.code(), said(&output)), (Some(2), &*expected));
    assert_eq!(folder.read(&first), SAVED);
    assert!((1..files).all(|number| folder.read(&name(number)) == WEB));
}

#[test]
fn a_file_that_is_saved_between_the_renames_is_left_and_the_run_says_so() {
    let run = Stopped::at(Moment::BetweenTheRenames, in_place);
    let last = name(run.files - 1);
    run.folder.write(&last, SAVED);
    let (folder, files, output) = run.goes_on();
    let start = format!("error: {last}: {CHANGED}; new: {}, {}", name(0), name(1));
    let said = said(&output);
    assert!(
        said.starts_with(&start) && !said.contains(&format!(", {last}")),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(folder.read(&last), SAVED);
    let new = injected();
    assert!((0..files - 1).all(|number| folder.read(&name(number)) == new));
}

#[test]
fn a_signal_before_the_renames_leaves_all_files_old_and_a_later_one_none() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for moment in [Moment::BeforeTheRenames, Moment::BetweenTheRenames] {
            let run = Stopped::at(moment, in_place);
            run.kill(signal);
            let (folder, files, output) = run.goes_on();
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
            let (text, ending) = match moment {
                Moment::BeforeTheRenames => (WEB, "no file was changed"),
                Moment::BetweenTheRenames => (&*injected(), "files changed"),
            };
            assert!(said(&output).contains(ending), "{}", said(&output));
            assert!((0..files).all(|number| folder.read(&name(number)) == text));
        }
    }
}

/// An entry of a POSIX ACL, as the kernel stores it.
fn entry(tag: u16, permissions: u16, id: u32) -> Vec<u8> {
    let head = [tag.to_le_bytes(), permissions.to_le_bytes()].concat();
    [head, id.to_le_bytes().to_vec()].concat()
}

/// `user::rw-,user:1234:rw-,group::---,mask::rw-,other::---`
fn acl() -> Vec<u8> {
    let none = u32::MAX;
    let entries = [
        (1, 6, none),
        (2, 6, 1234),
        (4, 0, none),
        (0x10, 6, none),
        (0x20, 0, none),
    ];
    let entries = entries.map(|(tag, permissions, id)| entry(tag, permissions, id));
    [2u32.to_le_bytes().to_vec(), entries.concat()].concat()
}

#[test]
fn in_place_keeps_acls_and_attributes_and_takes_none_of_the_directory() {
    const ACL: &str = "system.posix_acl_access";
    let folder = Folder::with(&[("acl.yaml", WEB), ("plain.yaml", WEB)]);
    let [with_acl, plain] = ["acl.yaml", "plain.yaml"].map(|name| folder.path(name));
    let set = |path: &std::path::Path, attribute: &str, value: &[u8]| {
        setxattr(path, attribute, value, XattrFlags::empty())
    };
    if set(&with_acl, "user.note", b"kept") == Err(Errno::OPNOTSUPP)
        || set(&with_acl, ACL, &acl()) == Err(Errno::OPNOTSUPP)
    {
        tools::missing(
            "a file system with ACLs",
            "set TMPDIR to a directory of one",
        );
        return;
    }
    set(folder.root(), "system.posix_acl_default", &acl()).unwrap();
    let _ = removexattr(&plain, ACL);
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o640)).unwrap();
    let ran = folder.run(&["inject", "-i", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for path in [&with_acl, &plain] {
        assert!(fs::read_to_string(path).unwrap().contains(IMAGE));
    }
    let attribute = |name: &str| {
        let mut value = [0; 100];
        let length = getxattr(&with_acl, name, &mut value).unwrap();
        value[..length].to_vec()
    };
    assert_eq!(attribute("user.note"), b"kept");
    assert_eq!(attribute(ACL), acl());
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&with_acl), mode(&plain)), (0o660, 0o640));
    let mut names = [0; 1000];
    let length = listxattr(&plain, &mut names).unwrap();
    let names = String::from_utf8_lossy(&names[..length]);
    assert!(!names.contains("posix_acl"), "{names}");
}
