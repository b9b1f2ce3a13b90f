//! `cargo bench --bench speed`: one run, one table of ratios.
//!
//! Everything is measured in the same run on the same machine, the injector and its peers in turn. Ratios are those of
//! processor time, the least of several runs, so that they hold on a busy machine too; wall time is beside it.
//!
//! - `cargo bench --bench speed` on streams of 1 and 50 MB of real manifests (see `real`), or without the corpus on generated ones (see `streams`)
//! - `cargo bench --bench speed -- FILE…` on files of yours
//! - `cargo bench --bench speed -- --program PROGRAM …` with this program, say one that `.ci/build` made, for the whole processes
//! - `cargo bench --bench speed -- --peer NAME=COMMAND …` beside other programs, as many as there are `--peer`
//! - `cargo bench --bench speed -- --webhook` times the webhook's answers alone
//! - `cargo bench --bench speed -- --serving [PROGRAM]` times its server
//! - `cargo bench --bench speed -- --write FOLDER` writes those streams, for other tools

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints a table"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark stops where it cannot go on"
)]

mod children;
mod clock;
mod peers;
mod real;
mod reviews;
#[cfg(all(unix, feature = "webhook"))]
mod serving;
mod streams;

use clock::{Of, Taken, timed};
use config::Config;
use injector::{Options, inject};
use peers::Peer;
use report::Reason;
use serde::Deserialize as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use streams::Form;
use yaml_json_patch::edit;

/// The program as Cargo built it.
const BUILT: &str = env!("CARGO_BIN_EXE_mackerel-agent-injector");

/// A copy, as people have one who install it. What a linker has just written lies in the page cache one page at a time, and
/// so it is mapped when it starts; a file that was written in one go is mapped in larger pieces, as `cat` is.
fn installed(built: &Path, folder: &Path) -> std::io::Result<PathBuf> {
    let program = folder.join("program");
    std::fs::write(&program, std::fs::read(built)?)?;
    std::fs::set_permissions(&program, std::fs::metadata(built)?.permissions())?;
    Ok(program)
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .peekable();
    let first = arguments.next_if(|argument| argument.starts_with("--"));
    match first.as_deref() {
        Some(children::ONE_CHILD) => return children::one_child(arguments),
        Some("--write") => {
            let folder = PathBuf::from(arguments.next().expect("--write FOLDER"));
            write_own_streams(&folder);
        }
        Some("--webhook") => reviews::print(),
        #[cfg(all(unix, feature = "webhook"))]
        Some(serving::AT_ONCE) => return serving::at_once(arguments),
        #[cfg(all(unix, feature = "webhook"))]
        Some("--serving") => {
            let program = arguments.next().unwrap_or_else(|| BUILT.to_owned());
            serving::print(Path::new(&program)).expect("both servers can be called");
        }
        _ => compare(first.into_iter().chain(arguments)),
    }
    ExitCode::SUCCESS
}

/// Compares this program with others, on files or on streams of its own.
fn compare(mut arguments: impl Iterator<Item = String>) {
    let (mut built, mut peers, mut files) = (BUILT.to_owned(), Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--program" => built = arguments.next().expect("--program PROGRAM"),
            "--peer" => {
                let peer = arguments.next().as_deref().and_then(Peer::parse);
                peers.push(peer.expect("--peer NAME=COMMAND"));
            }
            option if option.starts_with("--") => panic!("no such option: {option}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = installed(Path::new(&built), folder.path()).expect("the program can be copied");
    let own = files.is_empty();
    if own {
        files = write_own_streams(folder.path());
    }
    if !peers.is_empty() {
        peers::print(&program, peers, &files);
        return;
    }

    println!("| stream | program | processor time | wall time | MB/s | times ours |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for file in &files {
        throughput(&program, file, folder.path());
    }
    println!("\n| stream | program | peak memory | of the larger of input and output |");
    println!("| --- | --- | ---: | ---: |");
    for file in &files {
        memory(&program, file, folder.path());
    }
    if own {
        println!("\n| whole processes | processor time | wall time | times cat |");
        println!("| --- | ---: | ---: | ---: |");
        start_up(&program);
        many_files(&program, folder.path());
        instructions(&program, folder.path());
        println!("\n| twice as many | from | to | time |");
        println!("| --- | ---: | ---: | ---: |");
        linearity();
    }
}

const MB: usize = 1_000_000;

/// Writes the streams below a folder, and returns their paths.
fn write_own_streams(folder: &Path) -> Vec<PathBuf> {
    let write = |(name, text): (&str, String)| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the folder can be written to");
        path
    };
    own_streams().map(write).collect()
}

fn own_streams() -> impl Iterator<Item = (&'static str, String)> {
    let documents = real::documents_of_the_corpus();
    [
        ("helm-1MB.yaml", Form::Helm, MB),
        ("helm-50MB.yaml", Form::Helm, 50 * MB),
        ("resource-list-1MB.yaml", Form::ResourceList, MB),
        ("resource-list-50MB.yaml", Form::ResourceList, 50 * MB),
    ]
    .into_iter()
    .map(move |(name, form, bytes)| {
        let stream = match &documents {
            Some(documents) => documents.stream(form, bytes),
            None => streams::of_bytes(form, bytes),
        };
        let ascii = if stream.text.is_ascii() {
            "all of it ASCII"
        } else {
            "not all of it ASCII"
        };
        eprintln!(
            "{name}: {} documents, {} of them workloads, {ascii}",
            stream.documents, stream.workloads
        );
        (name, stream.text)
    })
}

/// The same thing, several times.
#[derive(Default)]
struct Times(Vec<Taken>);

impl Times {
    fn add(&mut self, taken: Taken) {
        self.0.push(taken);
    }

    fn add_ours<T>(&mut self, run: impl FnOnce() -> T) {
        self.add(timed(Of::Us, || black_box(run())).1);
    }

    /// Least processor time, in seconds.
    fn cpu(&self) -> f64 {
        self.least(|taken| taken.cpu)
    }

    /// Least wall time, in seconds.
    fn wall(&self) -> f64 {
        self.least(|taken| taken.wall)
    }

    fn least(&self, of: impl Fn(&Taken) -> Duration) -> f64 {
        self.0
            .iter()
            .map(of)
            .min()
            .unwrap_or_default()
            .as_secs_f64()
    }
}

/// Read, inject, verify, and put the output together: what every front end does with a text.
fn whole_inject(text: &str) -> String {
    let injection = inject(black_box(text), &Config::default(), Options::default());
    edit::apply(text, &injection.edits)
}

/// A setting that changes each agent.
const CHANGED: &str = "--set=agent.memo=changed";

fn throughput(program: &Path, file: &Path, folder: &Path) {
    let text = std::fs::read_to_string(file).expect("the stream can be read");
    let name = file.file_stem().expect("a file name").to_string_lossy();
    let injected = inject(&text, &Config::default(), Options::default());
    let count = injected
        .outcomes
        .iter()
        .filter(|outcome| outcome.decision.reason == Reason::Injected)
        .count();
    assert!(
        count > 0,
        "{name}: nothing is injected, so there is nothing to compare"
    );
    let injected_file = folder.join("injected.yaml");
    std::fs::write(&injected_file, edit::apply(&text, &injected.edits))
        .expect("the temporary folder can be written to");
    drop(injected);

    let rounds = if text.len() > 5 * MB { 5 } else { 15 };
    let [
        mut process,
        mut again,
        mut update,
        mut by_stdin,
        mut on_all,
        mut ours,
        mut load_dump,
        mut lines,
    ] = [const { Times(Vec::new()) }; 8];
    for _ in 0..rounds {
        let time = |door: ProcessDoor, file| {
            let (arguments, input) = door.call(file);
            children::time(program, &arguments, input).expect("the program injects")
        };
        process.add(time(ProcessDoor::File, file));
        again.add(time(ProcessDoor::File, &injected_file));
        let arguments = ["inject", "--threads=1", CHANGED].map(Path::new);
        let arguments = [&arguments[..], &[&injected_file]].concat();
        update.add(children::time(program, &arguments, None).expect("the program updates"));
        by_stdin.add(time(ProcessDoor::Stdin, file));
        on_all.add(time(ProcessDoor::AllProcessors, file));
        ours.add_ours(|| whole_inject(&text));
        load_dump.add_ours(|| load_and_dump(&text));
        lines.add_ours(|| memchr::memchr_iter(b'\n', black_box(text.as_bytes())).count());
    }
    for (program, times) in [
        (ProcessDoor::File.name(), &process),
        ("inject, the second run", &again),
        ("inject, an update", &update),
        (ProcessDoor::Stdin.name(), &by_stdin),
        (ProcessDoor::AllProcessors.name(), &on_all),
        ("inject, in process", &ours),
        ("serde_yaml load and dump, in process", &load_dump),
        ("memchr line scan, in process", &lines),
    ] {
        println!(
            "| {name} | {program} | {} | {} | {:.0} | {:.2} |",
            human(times.cpu()),
            human(times.wall()),
            text.len() as f64 / MB as f64 / times.cpu(),
            times.cpu() / process.cpu(),
        );
    }
}

/// The work of tools that parse and print: each document on its own, through generic values.
fn load_and_dump(text: &str) -> usize {
    let mut out = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = serde_yaml::Value::deserialize(document).expect("the stream is valid YAML");
        serde_yaml::to_writer(&mut out, &value).expect("a Vec takes everything");
    }
    out.len()
}

/// The way in which the whole program gets a stream.
#[derive(Debug, Clone, Copy)]
enum ProcessDoor {
    /// `inject FILE`
    File,
    /// Helm's post-renderer for a stream of documents; the KRM function for a ResourceList, which gets its results. One thread.
    Stdin,
    /// The same with the default number of threads.
    AllProcessors,
}

impl ProcessDoor {
    fn name(self) -> &'static str {
        match self {
            ProcessDoor::File => "inject, the whole process",
            ProcessDoor::Stdin => "by stdin, the whole process",
            ProcessDoor::AllProcessors => "by stdin, on all processors",
        }
    }

    /// Arguments and standard input.
    fn call(self, file: &Path) -> (Vec<&Path>, Option<&Path>) {
        let one_thread = Path::new("--threads=1");
        match self {
            ProcessDoor::File => (vec![one_thread, Path::new("inject"), file], None),
            ProcessDoor::Stdin => (vec![one_thread], Some(file)),
            ProcessDoor::AllProcessors => (Vec::new(), Some(file)),
        }
    }
}

fn memory(program: &Path, file: &Path, folder: &Path) {
    let name = file.file_stem().expect("a file name").to_string_lossy();
    let input = std::fs::metadata(file)
        .expect("the stream can be read")
        .len();
    for door in [
        ProcessDoor::File,
        ProcessDoor::Stdin,
        ProcessDoor::AllProcessors,
    ] {
        let (arguments, stdin) = door.call(file);
        let larger =
            input.max(children::written(program, &arguments, stdin).expect("the program injects"));
        // How much of a program is mapped when a page of it is needed is the luck of each copy.
        let mut peaks: Vec<u64> = (0..5)
            .map(|copy| {
                let folder = folder.join(format!("copy-{copy}"));
                std::fs::create_dir_all(&folder).expect("the folder can be made");
                let program = installed(program, &folder).expect("the program can be copied");
                let run = children::run(&program, &arguments, stdin).expect("it runs");
                run.peak_memory
            })
            .collect();
        peaks.sort_unstable();
        let peak = peaks[peaks.len() / 2];
        println!(
            "| {name} | {} | {:.1} MB | {:.2} |",
            door.name(),
            peak as f64 / MB as f64,
            peak as f64 / larger as f64
        );
    }
}

const DEPLOYMENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/inputs/deployment.yaml"
);

/// A configuration with settings of Kubernetes' types.
const TYPED: &str = concat!(
    "--config=",
    env!("CARGO_MANIFEST_DIR"),
    "/benches/inputs/typed.yaml"
);

const STARTS: [(&str, &[&str]); 4] = [
    (
        "inject --no-config FILE",
        &["inject", "--no-config", DEPLOYMENT],
    ),
    (
        "inject --set=agent.roles=[…] FILE",
        &["inject", "--set=agent.roles=[shop:web]", DEPLOYMENT],
    ),
    (
        "inject --config FILE, with env and resources",
        &["inject", TYPED, DEPLOYMENT],
    ),
    ("--version", &["--version"]),
];

fn start_up(program: &Path) {
    let starts = STARTS.map(|(name, arguments)| (name, paths(arguments)));
    let cat: (&str, &Path, &[&Path]) = (
        "cat FILE of 1 KB",
        Path::new("cat"),
        &[Path::new(DEPLOYMENT)],
    );
    let ours = starts
        .iter()
        .map(|(name, arguments)| (*name, program, &**arguments));
    beside_cat(&std::iter::once(cat).chain(ours).collect::<Vec<_>>(), 500);
}

fn paths<'a>(arguments: &[&'a str]) -> Vec<&'a Path> {
    arguments.iter().copied().map(Path::new).collect()
}

/// Prints the instructions of starts and of whole streams of 1 MB, which are the same on a busy machine. Without callgrind the table
/// is empty.
fn instructions(program: &Path, folder: &Path) {
    let [stream, list, injected] =
        ["helm-1MB", "resource-list-1MB", "helm-1MB-injected"].map(|name| {
            folder
                .join(name)
                .with_extension("yaml")
                .display()
                .to_string()
        });
    let text = std::fs::read_to_string(&stream).expect("the stream can be read");
    std::fs::write(&injected, whole_inject(&text)).expect("the temporary folder can be written to");
    let streams: [(&str, &[&str]); 3] = [
        (
            "inject, a stream of 1 MB",
            &["inject", "--threads=1", &stream],
        ),
        (
            "inject, a ResourceList of 1 MB",
            &["inject", "--threads=1", &list],
        ),
        (
            "update of the stream",
            &["inject", "--threads=1", CHANGED, &injected],
        ),
    ];
    let count = |arguments| children::instructions(program, &paths(arguments));
    let counted = STARTS
        .into_iter()
        .chain(streams)
        .map_while(|(name, arguments)| Some((name, count(arguments)?)));
    println!("\n| whole processes, one thread | instructions |");
    println!("| --- | ---: |");
    for (name, count) in counted {
        println!("| {name} | {:.2} M |", count as f64 / 1e6);
    }
}

/// A check of the whole corpus, which fails: few of its workloads have an agent, and some files are no YAML.
fn many_files(program: &Path, folder: &Path) {
    let folder = folder.join("corpus");
    let Some(files) = real::write_corpus(&folder) else {
        return;
    };
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let arguments = ["inject", "--check", "--threads=1"].map(Path::new);
    let check = [&arguments[..], &[&folder]].concat();
    let name = format!("cat FILE… of {} files", files.len());
    let runs: [(&str, &Path, &[&Path]); 2] = [
        (&name, Path::new("cat"), &files),
        ("inject --check FOLDER", program, &check),
    ];
    beside_cat(&runs, 15);
}

/// Prints rows of processes, the first of which is `cat`.
fn beside_cat(runs: &[(&str, &Path, &[&Path])], rounds: usize) {
    let mut times: Vec<Times> = runs.iter().map(|_| Times::default()).collect();
    for _ in 0..rounds {
        for ((_, program, arguments), times) in runs.iter().zip(&mut times) {
            let (_, taken) =
                children::time_and_status(program, arguments, None).expect("it starts");
            times.add(taken);
        }
    }
    let (cpu, wall) = (times[0].cpu(), times[0].wall());
    for ((name, ..), times) in runs.iter().zip(&times) {
        println!(
            "| {name} | {} | {} | {:.2} (wall: {:.2}) |",
            human(times.cpu()),
            human(times.wall()),
            times.cpu() / cpu,
            times.wall() / wall,
        );
    }
}

fn linearity() {
    for (what, from, text) in [
        (
            "documents",
            4_000,
            (|n| streams::of_documents(Form::Helm, n).text) as fn(usize) -> String,
        ),
        ("items of a ResourceList", 4_000, |n| {
            streams::of_documents(Form::ResourceList, n).text
        }),
        (
            "pods with their Secrets and the like",
            1_000,
            streams::with_surroundings,
        ),
        ("containers of one pod", 1_000, |n| streams::one_pod(n, 0)),
        ("variables of one container", 2_000, |n| {
            streams::one_pod(1, n)
        }),
    ] {
        let (small, large) = (text(from), text(2 * from));
        let [mut one, mut two] = [const { Times(Vec::new()) }; 2];
        for _ in 0..15 {
            one.add_ours(|| whole_inject(&small));
            two.add_ours(|| whole_inject(&large));
        }
        println!(
            "| {what} | {from} | {} | {:.2} times |",
            2 * from,
            two.cpu() / one.cpu()
        );
    }
}

/// `1.2 s`, `34.5 ms`, `0.678 ms`
fn human(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        0.010.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.3} ms", seconds * 1e3),
    }
}
