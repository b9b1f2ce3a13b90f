//! The configuration of a run. It comes from one source: a functionConfig, else `--config`, else the environment, else a file
//! that is found near the paths, else the defaults.

use crate::cli::args::{CONFIG_VARIABLE, Common, ConfigCommand};
use crate::cli::discover::{DiscoveredFiles, InputFile};
use crate::cli::find_config::{self, parent};
use crate::cli::input::{
    STDIN, Unreadable, canonical, io_message, looks_like_manifest, read_file, read_stdin,
};
use crate::cli::messages::Messages;
use crate::cli::usage::words_without_paths;
use crate::cli::{AlreadyReported, stdout, variable};
use crate::config::{Base, Config, ConfigReader, EXAMPLE, KIND, SCHEMA, Sources, load};
use crate::diagnostic::{Diagnostic, Medium, enumeration, shell_word, visible};
use crate::inject::severity::SeverityPolicy;
use crate::krm_fn::{Envelope, FunctionConfig};
use crate::report::{Finding, Reason};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Loads the configuration of a run over files.
pub fn of_paths(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    if common.no_config || file(common).is_some() {
        return base(ConfigReader::Manifests, common, messages);
    }
    match file_of_paths(paths, discovered, messages)? {
        Some(path) => found(&path, ConfigReader::Manifests, common, messages),
        None => base(ConfigReader::Manifests, common, messages),
    }
}

/// Returns the configuration file that applies to all paths, and to what is below them. Several are an error with the command for each.
fn file_of_paths(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    messages: &mut Messages,
) -> anyhow::Result<Option<PathBuf>> {
    let current = current_folder()?;
    let mut found = HashMap::new();
    // The run reports a path that does not exist.
    let folders = paths
        .iter()
        .filter(|path| path.exists())
        .map(|path| folder(path));
    let below = discovered.configurations.iter().map(|file| parent(file));
    for folder in folders.chain(below) {
        if let Entry::Vacant(new) = found.entry(canonical(folder)) {
            let file = find_config::in_or_above(new.key(), &current)?;
            new.insert(file);
        }
    }
    let files: BTreeSet<&Option<PathBuf>> = found.values().collect();
    if files.len() < 2 {
        return Ok(found.into_values().next().flatten());
    }
    let mut names = Vec::new();
    for file in files {
        let name = file.as_ref().map(|file| file.display().to_string());
        names.push(name.unwrap_or_else(|| "none".to_owned()));
    }
    let (words, mut commands) = (words_without_paths(), Vec::new());
    for paths in parts(paths, discovered, &found).values() {
        let paths = paths
            .iter()
            .map(|path| format!(" {}", shell_word(&path.to_string_lossy())));
        commands.push(format!("`{words}{}`", paths.collect::<String>()));
    }
    let message = format!("different configurations: {}", enumeration(&names));
    let mut help = "a run has one: ".to_owned();
    if !commands.is_empty() {
        help += &format!("use {}; ", enumeration(&commands));
    }
    help += "`--config FILE` uses one for all, `--no-config` the defaults";
    let finding = Finding::about_input(Reason::Error, message).with_help(help);
    messages.add_about("", finding, SeverityPolicy::default())?;
    Err(AlreadyReported.into())
}

/// Groups the paths by the configuration file that applies to them, of those `found` for folders. A folder with another configuration
/// below it is replaced by its parts.
fn parts<'p>(
    paths: &'p [PathBuf],
    discovered: &'p DiscoveredFiles,
    found: &'p HashMap<PathBuf, Option<PathBuf>>,
) -> BTreeMap<&'p Option<PathBuf>, BTreeSet<&'p Path>> {
    let mut above: HashSet<PathBuf> = HashSet::new();
    for file in &discovered.configurations {
        above.extend(
            canonical(parent(file))
                .ancestors()
                .skip(1)
                .map(Path::to_owned),
        );
    }
    let mut parts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut add = |folder: &Path, part| {
        if let Some(file) = folder.ancestors().find_map(|folder| found.get(folder)) {
            parts.entry(file).or_default().insert(part);
        }
    };
    for path in paths.iter().filter(|path| path.exists()) {
        let root = canonical(path);
        if !above.contains(&root) {
            add(&canonical(folder(path)), &**path);
            continue;
        }
        for InputFile {
            path, canonical, ..
        } in &discovered.files
        {
            let is_whole = |folder: &&Path| !above.contains(*folder);
            let levels = canonical.ancestors().take_while(is_whole).count();
            if let Some(part) = path.ancestors().nth(levels.saturating_sub(1))
                && canonical.starts_with(&root)
                && read_file(path).is_ok_and(|file| looks_like_manifest(&file.text))
            {
                add(canonical, part);
            }
        }
    }
    parts
}

/// Returns the folder whose configuration applies to a path.
fn folder(path: &Path) -> &Path {
    if path.is_dir() { path } else { parent(path) }
}

/// Loads the configuration of a command without paths.
pub fn of_current_folder(
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    match unused(common)? {
        Some(path) => found(&path, reader, common, messages),
        None => base(reader, common, messages),
    }
}

/// Loads the configuration file that was found.
fn found(
    path: &Path,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let name = path.display().to_string();
    let text = read_file(path).map(|file| file.text);
    let config = load_text(&name, text, reader, common, messages)?;
    messages.set_found_configuration(&name);
    Ok(config)
}

/// Returns the configuration file of the current folder, if no option names one. A run over stdin does not use it: the manifests there
/// have no folder.
pub fn unused(common: &Common) -> anyhow::Result<Option<PathBuf>> {
    if common.no_config || file(common).is_some() {
        return Ok(None);
    }
    find_config::in_or_above(Path::new("."), &current_folder()?)
}

/// Notes such a file.
pub fn note_unused(file: &Path, messages: &mut Messages) -> io::Result<()> {
    let name = file.to_string_lossy();
    messages.note_line(&format!(
        "info: {name} is not used for stdin; to use it, add `--config {}`",
        shell_word(&name)
    ))
}

fn current_folder() -> anyhow::Result<PathBuf> {
    let current = std::env::current_dir();
    current.map_err(|error| anyhow::anyhow!("the current directory: {}", io_message(&error)))
}

/// Loads the configuration of a run that has no functionConfig and finds no file.
pub fn base(
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let Some(path) = file(common) else {
        return load_base(Base::Defaults, reader, common, messages);
    };
    let (mut name, text) = (path.display().to_string(), read_file(&path));
    if text.is_err() {
        // The error names the source, since the user may not know of the environment variable.
        let source = common
            .config
            .as_ref()
            .map_or(CONFIG_VARIABLE, |_| "--config");
        name = format!("{source}: {name}");
    }
    load_text(&name, text.map(|file| file.text), reader, common, messages)
}

/// Loads the configuration of a function call.
pub fn of_call(
    envelope: &Envelope<'_>,
    text: &str,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let Some(function_config) = envelope.function_config() else {
        return base(ConfigReader::Manifests, common, messages);
    };
    let option = match (&common.config, common.no_config) {
        (Some(_), _) => Some("--config"),
        (None, true) => Some("--no-config"),
        (None, false) => None,
    };
    if let Some(option) = option {
        anyhow::bail!(
            "`{option}` cannot be combined with the functionConfig of the ResourceList; remove one of them"
        );
    }
    if variable(CONFIG_VARIABLE).is_some() {
        let line = format!(
            "info: {CONFIG_VARIABLE} is ignored because the ResourceList has a functionConfig"
        );
        messages.note_line(&line)?;
    }
    // The user does not see the stdin of a function, so places are those in the text of the functionConfig alone.
    let file = function_config.file();
    let own_text = function_config.own_text();
    let name = file.clone().unwrap_or_else(|| function_config.name());
    let base = match &own_text {
        Some(text) => Base::Text { name: &name, text },
        None => {
            let FunctionConfig { tree, node, start } = function_config;
            Base::Node {
                name: STDIN,
                text,
                start,
                tree,
                node,
            }
        }
    };
    match load(&sources(base, ConfigReader::Manifests, common)) {
        Ok(config) => noted(config, messages),
        Err(mut diagnostics) => {
            if file.is_none() {
                let note = "kustomize or kpt may have reformatted the file; the line numbers are those of the reformatted text";
                for diagnostic in &mut diagnostics {
                    diagnostic.notes.push(note.to_owned());
                }
            }
            report(&diagnostics, messages)
        }
    }
}

/// Runs `config schema`, `config example` or `config validate`.
pub fn command(
    command: ConfigCommand,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Schema => stdout::write([SCHEMA])?,
        ConfigCommand::Example => stdout::write([EXAMPLE])?,
        ConfigCommand::Validate { file, webhook } => {
            let reader = if webhook {
                ConfigReader::Webhook
            } else {
                ConfigReader::Manifests
            };
            let name = validate(file, reader, common, messages)?;
            stdout::write([&*visible(&name), ": valid\n"])?;
        }
    }
    Ok(())
}

/// Validates a file, or the options alone. Returns the name of the file, or `the options`.
fn validate(
    file: Option<PathBuf>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<String> {
    let Some(path) = file_to_validate(file, common)? else {
        if common.set.is_empty() && common.namespace.is_none() {
            anyhow::bail!(
                "no configuration file; use `config validate FILE`, with `-` for stdin, or create {}",
                find_config::FILE_NAME
            );
        }
        load_base(Base::Defaults, reader, common, messages)?;
        return Ok("the options".to_owned());
    };
    let (name, text) = if path.as_os_str() == "-" {
        (STDIN.to_owned(), read_stdin())
    } else {
        let text = read_file(&path).map(|file| file.text);
        (path.display().to_string(), text)
    };
    load_text(&name, text, reader, common, messages)?;
    Ok(name)
}

/// Returns the file to validate: the argument, or the file that a run over the folder of the argument would use.
fn file_to_validate(file: Option<PathBuf>, common: &Common) -> anyhow::Result<Option<PathBuf>> {
    let folder = match file {
        Some(path) if path.is_dir() => path,
        Some(path) => return Ok(Some(path)),
        None => PathBuf::from("."),
    };
    if common.no_config {
        return Ok(None);
    }
    if let Some(path) = self::file(common) {
        return Ok(Some(path));
    }
    find_config::in_or_above(&folder, &current_folder()?)
}

/// Returns the configuration file that `--config` or the environment names.
pub fn file(common: &Common) -> Option<PathBuf> {
    if common.no_config {
        return None;
    }
    common
        .config
        .clone()
        .or_else(|| variable(CONFIG_VARIABLE).map(PathBuf::from))
}

/// Loads a configuration file, or reports without an excerpt that it cannot be read.
fn load_text(
    name: &str,
    text: Result<String, Unreadable>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let error = match &text {
        Ok(text) => return load_base(Base::Text { name, text }, reader, common, messages),
        Err(error) => error,
    };
    let help = match error {
        Unreadable::NotText(binary) => format!("; {}", binary.help),
        _ => String::new(),
    };
    messages.error(format!("{name}: {error}{help}"))?;
    Err(AlreadyReported.into())
}

/// Returns a base with the options that change it.
fn sources<'a>(base: Base<'a>, reader: ConfigReader, common: &'a Common) -> Sources<'a> {
    Sources {
        base,
        set: &common.set,
        namespace: common.namespace.as_deref(),
        reader,
    }
}

/// Loads a configuration, and reports its errors.
fn load_base(
    base: Base<'_>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let mut diagnostics = match load(&sources(base, reader, common)) {
        Ok(config) => return noted(config, messages),
        Err(diagnostics) => diagnostics,
    };
    // A link in a repository can give any file the name of a configuration, and a line of it may be a secret.
    if let Base::Text { text, .. } = base
        && !text.contains(KIND)
    {
        let places = diagnostics.iter_mut().filter_map(|one| one.place.as_mut());
        for place in places.filter(|place| place.medium == Medium::Lines) {
            *place = place.clone().without_text();
        }
    }
    report(&diagnostics, messages)
}

/// Shows what a user should know about a configuration.
fn noted(config: Config, messages: &mut Messages) -> anyhow::Result<Config> {
    if let Some(note) = config.note() {
        messages.note_line(&format!("info: {note}"))?;
    }
    Ok(config)
}

/// Reports the errors of a configuration.
fn report<T>(diagnostics: &[Diagnostic<'_>], messages: &mut Messages) -> anyhow::Result<T> {
    for diagnostic in diagnostics {
        messages.diagnostic(diagnostic)?;
    }
    Err(AlreadyReported.into())
}
