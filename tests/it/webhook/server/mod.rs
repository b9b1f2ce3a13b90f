//! The webhook's server as a process, called by TLS on ports of the system's choice.

mod attacks;
mod certificate;
pub(crate) mod client;
mod crowd;
mod limits;
mod reload;
mod reviews;
mod statuses;

use crate::kubernetes::certificates::{Authority, Signed};
use crate::program::Folder;
use client::{Client, HttpResponse, Transport};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A review of a pod as kube-apiserver sends it.
pub(crate) const REVIEW: &str = include_str!("review.json");

/// A load, whole with `MACKEREL_LONG_TESTS=1` and a tenth of it without.
pub(crate) fn scaled(load: usize) -> usize {
    if is_long() { load } else { load / 10 }
}

pub(crate) fn is_long() -> bool {
    std::env::var_os("MACKEREL_LONG_TESTS").is_some_and(|value| !value.is_empty())
}

/// The running program, ended with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) folder: Folder,
    pub(crate) address: SocketAddr,
    plain: SocketAddr,
    log: Arc<Mutex<Vec<Value>>>,
    authority: String,
}

/// The files of one certificate.
pub(crate) struct PemTexts {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) authority: String,
}

/// A certificate as `webhook certificate` makes it.
pub(crate) fn certificate(folder: &Folder, more: &[&str]) -> PemTexts {
    let named = [
        "webhook",
        "certificate",
        "--service",
        "injector",
        "--namespace",
        "mackerel",
    ];
    let ran = folder.run(&[&named, more].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    files(&ran.stdout)
}

/// A certificate for another name. Its common name is the server's, which clients do not look at.
pub(crate) fn misnamed(name: &str) -> PemTexts {
    let authority = Authority::new("another");
    let Signed { certificate, key } = authority.sign("", "injector.mackerel.svc", &[name]);
    PemTexts {
        certificate,
        key,
        authority: authority.pem,
    }
}

pub(crate) fn files(manifest: &str) -> PemTexts {
    let secret: Secret = serde_yaml::from_str(manifest).unwrap();
    let mut data = secret.data.unwrap();
    let mut take = |key| String::from_utf8(data.remove(key).unwrap().0).unwrap();
    PemTexts {
        certificate: take("tls.crt"),
        key: take("tls.key"),
        authority: take("ca.crt"),
    }
}

/// Writes files as kubelet does: into a folder of their own, to which a symbolic link is swapped.
pub(crate) fn mount(folder: &Folder, volume: &str, files: &[(&str, &str)]) {
    let root = folder.path(volume);
    let version = format!("..{}", std::fs::read_dir(&root).map_or(0, Iterator::count));
    for (name, text) in files {
        folder.write(&format!("{volume}/{version}/{name}"), text);
        let link = root.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(Path::new("..data").join(name), link).unwrap();
        }
    }
    let new = root.join("..data_tmp");
    std::os::unix::fs::symlink(version, &new).unwrap();
    std::fs::rename(new, root.join("..data")).unwrap();
}

pub(crate) fn mount_certificate(folder: &Folder, files: &PemTexts) {
    let PemTexts {
        certificate,
        key,
        authority,
    } = files;
    mount(
        folder,
        "tls",
        &[
            ("tls.crt", certificate),
            ("tls.key", key),
            ("ca.crt", authority),
        ],
    );
}

impl Server {
    pub(crate) fn start(more: &[&str]) -> Self {
        let folder = Folder::with(&[]);
        let files = certificate(&folder, &[]);
        mount_certificate(&folder, &files);
        Self::start_in(folder, files.authority, more)
    }

    /// The folder has a certificate already.
    pub(crate) fn start_in(folder: Folder, authority: String, more: &[&str]) -> Self {
        let own = [
            "webhook",
            "--listen=127.0.0.1:0",
            "--metrics-listen=127.0.0.1:0",
        ];
        let drain = ["--drain=300ms"]
            .into_iter()
            .filter(|_| !more.iter().any(|own| own.starts_with("--drain")));
        let tls = ["--tls-cert=tls/tls.crt", "--tls-key=tls/tls.key"];
        let command = folder.command(&[&own[..], &tls, &drain.collect::<Vec<_>>(), more].concat());
        Self::run(command, folder, authority)
    }

    /// Starts a server that may open so few files that it takes at most this number of connections.
    pub(crate) fn with_connections(connections: usize) -> Self {
        let folder = Folder::with(&[]);
        let files = certificate(&folder, &[]);
        mount_certificate(&folder, &files);
        let program = folder.command(&[]);
        let mut command = Command::new("sh");
        let limited = "ulimit -n $0 && exec \"$@\"";
        command
            .current_dir(program.get_current_dir().unwrap())
            .args(["-c", limited, &(2 * connections + 64).to_string()]);
        command.arg(program.get_program()).args([
            "webhook",
            "--listen=127.0.0.1:0",
            "--metrics-listen=127.0.0.1:0",
        ]);
        command.args([
            "--drain=300ms",
            "--tls-cert=tls/tls.crt",
            "--tls-key=tls/tls.key",
        ]);
        Self::run(command, folder, files.authority)
    }

    fn run(mut command: Command, folder: Folder, authority: String) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut early = Vec::new();
        let listening = loop {
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("it ended: {early:?}"));
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            early.push(event.clone());
            if event["message"] == "listening" {
                break event;
            }
        };
        let address = |key: &str| listening[key].as_str().unwrap().parse().unwrap();
        let log = Arc::new(Mutex::new(early));
        let written = Arc::clone(&log);
        thread::spawn(move || {
            for line in lines {
                written
                    .lock()
                    .unwrap()
                    .push(serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}")));
            }
        });
        Self {
            address: address("address"),
            plain: address("plain_address"),
            child,
            folder,
            log,
            authority,
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(Transport::tls(self.address, &self.authority))
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn post(&self, path: &str, body: &str) -> HttpResponse {
        self.connect().post(path, body.as_bytes())
    }

    /// The decision about [`REVIEW`].
    #[track_caller]
    pub(crate) fn decision(&self) -> String {
        decision(&self.post("/mutate", REVIEW))
    }

    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        let mut client = Client::new(Transport::Plain(TcpStream::connect(self.plain).unwrap()));
        client.send(
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        client.receive().unwrap()
    }

    /// The value of a metric, by its name and labels without the prefix.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| {
            line.strip_prefix("mackerel_agent_injector_")?
                .strip_prefix(name)
        });
        line.map(|value| value.trim().parse().unwrap())
    }

    #[track_caller]
    pub(crate) fn metric_becomes(&self, name: &str, value: f64) {
        until(&format!("{name} {value}"), || {
            self.metric(name) == Some(value)
        });
    }

    /// Waits for the events with this message: the server writes its log on a thread of its own, after the metrics.
    #[track_caller]
    pub(crate) fn wait_for_events<const N: usize>(&self, message: &str) -> [Value; N] {
        until(&format!("{N} times: {message}"), || {
            self.events(message).len() >= N
        });
        self.events(message)
            .try_into()
            .unwrap_or_else(|events| panic!("{events:?}"))
    }

    /// The events with this message so far.
    pub(crate) fn events(&self, message: &str) -> Vec<Value> {
        self.log
            .lock()
            .unwrap()
            .iter()
            .filter(|event| event["message"] == message)
            .cloned()
            .collect()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([&format!("-{name}"), &*pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// The exit code, if the process ends in time.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut code = None;
        until("the end", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }

    /// Memory in MB: now, and at its most.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> (usize, usize) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let field = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.split_whitespace()
                .next()
                .unwrap()
                .parse::<usize>()
                .unwrap()
                / 1024
        };
        (field("VmRSS:"), field("VmHWM:"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log.lock().unwrap();
            let last = log
                .iter()
                .rev()
                .take(5)
                .map(Value::to_string)
                .collect::<Vec<_>>();
            let _ = writeln!(
                std::io::stderr(),
                "the server's last lines, newest first:\n{}",
                last.join("\n")
            );
        }
    }
}

/// Ends a load when it is dropped, so with a failed assertion too.
pub(crate) struct EndsLoad<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndsLoad<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[track_caller]
pub(crate) fn decision(response: &HttpResponse) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(
        answer["response"]["uid"],
        "705ab4f5-6393-11e8-b7cc-42010a800002"
    );
    answer["response"]["auditAnnotations"]["decision"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[track_caller]
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    let (start, mut is_so) = (Instant::now(), is_so);
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "not within a minute: {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
