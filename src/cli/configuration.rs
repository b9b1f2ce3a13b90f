//! The configuration of a run. It comes from one source: a functionConfig, else `--config`, else the environment, else a file
//! that is found near the paths, else the defaults.

use crate::cli::args::{CONFIG_VARIABLE, Common, ConfigCommand};
use crate::cli::discover::DiscoveredFiles;
use crate::cli::find_config::{self, parent};
use crate::cli::input::{
    STDIN, Unreadable, canonical, io_message, looks_like_manifest, read_stdin, read_text,
};
use crate::cli::messages::Messages;
use crate::cli::usage::{shell_words, words_without_paths};
use crate::cli::{AlreadyReported, stdout, variable};
use crate::krm_fn::{Envelope, FunctionConfig};
use config::{Base, Config, ConfigReader, EXAMPLE, KIND, SCHEMA, Sources};
use injector::SeverityPolicy;
use report::{Diagnostic, Finding, Medium, Reason, enumeration, shell_word, visible};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Loads the configuration of a run over files.
pub fn of_paths(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let found = if is_chosen(common) {
        None
    } else {
        file_of_paths(paths, discovered, messages)?
    };
    of_file(found.as_deref(), ConfigReader::Manifests, common, messages)
}

/// Returns the configuration file that applies to all paths, and to what is below them. Several are an error with the command for each.
fn file_of_paths(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    messages: &mut Messages,
) -> anyhow::Result<Option<PathBuf>> {
    // The run reports a path that does not exist.
    let paths: Vec<&Path> = paths
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| path.exists())
        .collect();
    let current = current_folder()?;
    let mut found = HashMap::new();
    let below = discovered.configurations.iter().map(|file| parent(file));
    for folder in paths.iter().map(|path| folder(path)).chain(below) {
        if let Entry::Vacant(new) = found.entry(canonical(folder)) {
            let file = find_config::in_or_above(new.key(), &current)?;
            new.insert(file);
        }
    }
    let files: BTreeSet<&Option<PathBuf>> = found.values().collect();
    if files.len() < 2 {
        return Ok(found.into_values().next().flatten());
    }
    let shown = |file: &Option<PathBuf>| match file {
        Some(file) => file.display().to_string(),
        None => "none".to_owned(),
    };
    let names: Vec<_> = files.into_iter().map(shown).collect();
    let words = words_without_paths();
    let commands: Vec<_> = parts(&paths, discovered, &found)
        .values()
        .map(|paths| format!("`{words}{}`", shell_words(paths)))
        .collect();
    let message = format!("different configurations: {}", enumeration(&names));
    let mut help = "a run has one: ".to_owned();
    if !commands.is_empty() {
        help += &format!("use {}; ", enumeration(&commands));
    }
    help += "`--config FILE` uses one for all, `--no-config` the defaults";
    let finding = Finding::about_input(Reason::Error, message).with_help(help);
    messages.add_about("", finding, SeverityPolicy::default());
    Err(AlreadyReported.into())
}

/// Groups the paths by the configuration file that applies to them, of those `found` for folders. A folder with another configuration
/// below it is replaced by its parts.
fn parts<'p>(
    paths: &[&'p Path],
    discovered: &'p DiscoveredFiles,
    found: &'p HashMap<PathBuf, Option<PathBuf>>,
) -> BTreeMap<&'p Option<PathBuf>, BTreeSet<&'p Path>> {
    let mut above: HashSet<PathBuf> = HashSet::new();
    for file in &discovered.configurations {
        let folder = canonical(parent(file));
        above.extend(folder.ancestors().skip(1).map(Path::to_owned));
    }
    let mut parts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut add = |folder: &Path, part| {
        if let Some(file) = folder.ancestors().find_map(|folder| found.get(folder)) {
            parts.entry(file).or_default().insert(part);
        }
    };
    for path in paths {
        let root = canonical(path);
        if !above.contains(&root) {
            add(&canonical(folder(path)), *path);
            continue;
        }
        for file in &discovered.files {
            let levels = file
                .canonical
                .ancestors()
                .skip(1)
                .take_while(|folder| !above.contains(*folder))
                .count();
            if let Some(part) = file.path.ancestors().nth(levels)
                && file.canonical.starts_with(&root)
                && read_text(&file.path).is_ok_and(|text| looks_like_manifest(&text))
            {
                add(&file.canonical, part);
            }
        }
    }
    parts
}

/// Returns the folder whose configuration applies to a path.
fn folder(path: &Path) -> &Path {
    if path.is_dir() { path } else { parent(path) }
}

/// Loads the configuration file that was found; else the one that the options or the environment name; else the defaults.
pub fn of_file(
    found: Option<&Path>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let named = file(common);
    let Some(path) = found.or(named.as_deref()) else {
        return load(Base::Defaults, reader, common, messages, |_| {});
    };
    let name = path.display().to_string();
    // The error names the source, since the user may not know of the environment variable.
    let shown = match (found, &common.config) {
        (Some(_), _) => name.clone(),
        (None, Some(_)) => format!("--config: {name}"),
        (None, None) => format!("{CONFIG_VARIABLE}: {name}"),
    };
    let text = readable(&shown, read_text(path))?;
    let config = load_text(&name, &text, reader, common, messages)?;
    if found.is_some() {
        messages.set_found_configuration(&name);
    }
    Ok(config)
}

/// Returns the configuration file that is found from a folder, if no option names one.
pub fn find(folder: &Path, common: &Common) -> anyhow::Result<Option<PathBuf>> {
    if is_chosen(common) {
        return Ok(None);
    }
    find_config::in_or_above(folder, &current_folder()?)
}

/// Notes that the configuration file of the current folder is not used: manifests of stdin have no folder.
pub fn note_unused(file: &Path, messages: &mut Messages) {
    let name = file.to_string_lossy();
    messages.note_line(&format!(
        "info: {name} is not used for stdin; to use it, add `--config {}`",
        shell_word(&name)
    ));
}

fn current_folder() -> anyhow::Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| anyhow::anyhow!("the current directory: {}", io_message(&error)))
}

/// Loads the configuration of a function call.
pub fn of_call(
    envelope: &Envelope<'_>,
    text: &str,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let Some(function_config) = envelope.function_config() else {
        return of_file(None, ConfigReader::Manifests, common, messages);
    };
    if common.no_config || common.config.is_some() {
        anyhow::bail!(
            "`{}` cannot be combined with the functionConfig of the ResourceList; remove one of them",
            if common.no_config {
                "--no-config"
            } else {
                "--config"
            }
        );
    }
    if variable(CONFIG_VARIABLE).is_some() {
        messages.note_line(&format!(
            "info: {CONFIG_VARIABLE} is ignored because the ResourceList has a functionConfig"
        ));
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
    let with_note = |diagnostic: &mut Diagnostic<'_>| {
        if file.is_none() {
            let note = "kustomize or kpt may have reformatted the file; the line numbers are those of the reformatted text";
            diagnostic.notes.push(note.to_owned());
        }
    };
    load(base, ConfigReader::Manifests, common, messages, with_note)
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

/// Validates a file, or the file that a run over a folder would use, or the options alone. Returns the name of the file, or `the options`.
fn validate(
    path: Option<PathBuf>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<String> {
    let path = match path {
        Some(path) if !path.is_dir() => Some(path),
        folder => file(common).or(find(&folder.unwrap_or_else(|| ".".into()), common)?),
    };
    let name = match &path {
        Some(path) if path.as_os_str() == "-" => {
            let text = readable(STDIN, read_stdin())?;
            load_text(STDIN, &text, reader, common, messages)?;
            return Ok(STDIN.to_owned());
        }
        Some(path) => path.display().to_string(),
        None if common.set.is_empty() && common.namespace.is_none() => anyhow::bail!(
            "no configuration file; use `config validate FILE`, with `-` for stdin, or create {}",
            find_config::FILE_NAME
        ),
        None => "the options".to_owned(),
    };
    of_file(path.as_deref(), reader, common, messages)?;
    Ok(name)
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

/// Returns true if no configuration file is looked for.
fn is_chosen(common: &Common) -> bool {
    common.no_config || file(common).is_some()
}

/// Returns the text of a configuration file, or an error without an excerpt.
fn readable(name: &str, text: Result<String, Unreadable>) -> anyhow::Result<String> {
    text.map_err(|error| match &error {
        Unreadable::NotText(binary) => anyhow::anyhow!("{name}: {error}; {}", binary.help),
        _ => anyhow::anyhow!("{name}: {error}"),
    })
}

/// Loads the text of a configuration.
fn load_text(
    name: &str,
    text: &str,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    load(
        Base::Text { name, text },
        reader,
        common,
        messages,
        |diagnostic| {
            // A link in a repository can give any file the name of a configuration, and a line of it may be a secret.
            if let Some(place) = &mut diagnostic.place
                && place.medium == Medium::Lines
                && !text.contains(KIND)
            {
                *place = place.clone().without_text();
            }
        },
    )
}

/// Loads a configuration, and reports its errors as `adapt` changes them.
fn load(
    base: Base<'_>,
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
    adapt: impl Fn(&mut Diagnostic<'_>),
) -> anyhow::Result<Config> {
    let sources = Sources {
        base,
        set: &common.set,
        namespace: common.namespace.as_deref(),
        reader,
    };
    let config = config::load(&sources).map_err(|diagnostics| {
        for mut diagnostic in diagnostics {
            adapt(&mut diagnostic);
            messages.diagnostic(&diagnostic);
        }
        AlreadyReported
    })?;
    if let Some(note) = config.note() {
        messages.note_line(&format!("info: {note}"));
    }
    Ok(config)
}
