//! The end of a run: writes all of the output, or nothing. One function for each form of output.

use crate::checks::ProcessedText;
use crate::cli::args::ExplainFormat;
use crate::cli::findings::{self, NamedText};
use crate::cli::input::io_message;
use crate::cli::interrupt::Interrupt;
use crate::cli::messages::Ending;
use crate::cli::run::{ExplainRequest, OutputMode};
use crate::cli::session::Session;
use crate::cli::{Exit, concatenate, in_place, stdout};
use crate::diagnostic::visible_json;
use crate::explain::{Explanation, Filter, Report, explain, github, gitlab, sarif, text};
use crate::rbac;
use crate::report::{Finding, Reason};
use std::io;
use std::mem::ManuallyDrop;
use yaml_json_patch::ErrorKind;
use yaml_json_patch::edit::{self, pieces};

impl Session<'_> {
    /// Writes the output and the messages.
    pub(super) fn finish(self) -> anyhow::Result<Exit> {
        // The process ends now, and its memory with it: to free every text and outcome first would only take time.
        let mut session = ManuallyDrop::new(self);
        match session.run.mode {
            OutputMode::Manifests => session.print_manifests(),
            OutputMode::InPlace => session.change_files(),
            OutputMode::Diff | OutputMode::Patches => session.print_changes(),
            OutputMode::Check | OutputMode::CheckAndDiff => {
                let exit = session.print_changes()?;
                Ok(exit.after_check(session.check_fails))
            }
            OutputMode::CheckReport(format) => session.print_check_report(format),
            OutputMode::Explanation(request) => session.print_explanation(request),
            OutputMode::Permissions => session.print_permissions(),
        }
    }

    /// Prints the manifests of all texts as one stream.
    fn print_manifests(&mut self) -> anyhow::Result<Exit> {
        self.refuse_open_block_scalars()?;
        if self.messages.has_errors() {
            return self.fail(Ending::NothingPrinted);
        }
        let is_of_files = self.files.iter().any(|file| file.state.is_some());
        let ending = if is_of_files {
            Ending::FilesPrinted
        } else {
            Ending::StreamPrinted
        };
        self.log_end(ending)?;
        let texts: Vec<&str> = self.files.iter().map(|file| &*file.text).collect();
        let separators = concatenate::separators(&texts);
        let files = self.files.iter().zip(&separators).enumerate();
        stdout::write(files.flat_map(|(index, (file, separator))| {
            let pieces = concatenate::joined(index, pieces(&file.text, file.edits()));
            std::iter::once(separator.as_str()).chain(pieces)
        }))?;
        self.messages.show(Some(ending));
        Ok(Exit::Done)
    }

    /// Reports the texts after which stdout can have no other one.
    fn refuse_open_block_scalars(&mut self) -> io::Result<()> {
        let last = self.files.iter().rposition(|file| !file.text.is_empty());
        for file in self.files.iter().take(last.unwrap_or_default()) {
            if file.text.ends_with('\n')
                || !concatenate::must_be_last(&edit::apply(&file.text, file.edits()))
            {
                continue;
            }
            let word = ErrorKind::OpenBlockScalar.word();
            let message = format!(
                "{word}: the file ends inside a block scalar without a line break, so the next file would change its value"
            );
            let help = "end the file with a line break, name it last, or use `-i`";
            let finding = Finding::new(Reason::Uneditable, message, file.text.len(), "");
            let input = NamedText {
                name: &file.name,
                text: &file.text,
            };
            findings::error(self.messages, input, &finding.with_help(help))?;
        }
        Ok(())
    }

    /// Replaces the files that change.
    fn change_files(&mut self) -> anyhow::Result<Exit> {
        let interrupt = Interrupt::listen()?;
        let mut replacements = Vec::new();
        if !self.messages.has_errors() {
            for file in &self.files {
                let Some(state) = file.state.filter(|_| !file.edits().is_empty()) else {
                    continue;
                };
                if interrupt.came() {
                    break;
                }
                let new_text = pieces(&file.text, file.edits());
                match in_place::prepare(&file.path, state, new_text) {
                    Ok(replacement) => replacements.push(replacement),
                    Err(error) => {
                        let error = format!("{}: {}", file.name, io_message(&error));
                        self.messages.error(error)?;
                    }
                }
            }
        }
        // An editor may have saved a file while the others were written.
        for replacement in &replacements {
            if let Err(error) = replacement.refuse_change() {
                self.messages.error(error)?;
            }
        }
        if interrupt.came() {
            self.messages.error("interrupted by a signal")?;
        }
        if self.messages.has_errors() {
            drop(replacements);
            let exit = self.fail(Ending::NoFileChanged);
            interrupt.end()?;
            return exit;
        }
        let files = replacements.len();
        let ending = Ending::FilesChanged { files };
        self.log_end(ending)?;
        in_place::commit(replacements)?;
        self.messages.show(Some(ending));
        interrupt.end()?;
        Ok(Exit::Done)
    }

    /// Prints the diff, the list of changes or the patches.
    fn print_changes(&mut self) -> anyhow::Result<Exit> {
        if self.messages.has_errors() {
            return self.fail(Ending::NoChangesPrinted);
        }
        self.log_end(Ending::ChangesPrinted)?;
        match self.run.mode {
            OutputMode::Diff | OutputMode::CheckAndDiff => stdout::write_diff(&self.printed)?,
            _ => stdout::write([&*self.printed])?,
        }
        self.messages.show(Some(Ending::ChangesPrinted));
        Ok(Exit::Done)
    }

    /// Prints the changes and findings for tools of code review. Errors are among them and hold nothing back.
    fn print_check_report(&mut self, format: ExplainFormat) -> anyhow::Result<Exit> {
        let filter = match format {
            // The report has its own field for changes.
            ExplainFormat::Json => Filter::All,
            _ => Filter::Check,
        };
        let report = formatted(&self.explanation(&self.texts(), filter), format)?;
        let (ending, exit) = if self.messages.has_errors() {
            self.messages.log_summary(Ending::NoChangesPrinted)?;
            (Ending::NoChangesPrinted, Exit::Trouble)
        } else {
            self.log_end(Ending::ChangesPrinted)?;
            (
                Ending::ChangesPrinted,
                Exit::Done.after_check(self.check_fails),
            )
        };
        stdout::write([&*report])?;
        self.messages.show(Some(ending));
        Ok(exit)
    }

    /// Prints the explanation. The exit code is that of `inject`.
    fn print_explanation(&mut self, request: ExplainRequest<'_>) -> anyhow::Result<Exit> {
        let ExplainRequest { format, filter } = request;
        let texts = self.texts();
        let explanation = self.explanation(&texts, filter);
        if let Filter::Resource(resource) = filter
            && explanation.templates.is_empty()
        {
            anyhow::bail!(
                "no resource {resource} with a pod template; use for example `web`, `Deployment/web` or `Deployment/shop/web`"
            );
        }
        stdout::write([&*formatted(&explanation, format)?])?;
        self.messages.show(None);
        Ok(if explanation.has_errors() {
            Exit::Trouble
        } else {
            Exit::Done
        })
    }

    fn explanation<'s>(
        &'s self,
        texts: &[ProcessedText<'s>],
        filter: Filter<'s>,
    ) -> Explanation<'s> {
        let of_run = self.messages.run_findings();
        explain(texts, &self.requirements, of_run, self.run.config, filter)
    }

    /// Prints the RBAC manifests of the command `rbac`.
    fn print_permissions(&mut self) -> anyhow::Result<Exit> {
        if self.messages.has_errors() {
            return self.fail(Ending::NoChangesPrinted);
        }
        let grants = std::mem::take(&mut self.grants);
        let ending = Ending::PermissionsPrinted(&grants);
        self.log_end(ending)?;
        stdout::write([&*rbac::manifest(&grants, self.run.config)])?;
        self.messages.show(Some(ending));
        Ok(Exit::Done)
    }

    /// Ends a run whose errors hold back its output.
    fn fail(&mut self, ending: Ending<'_>) -> anyhow::Result<Exit> {
        self.messages.log_summary(ending)?;
        self.messages.show(Some(ending));
        Ok(Exit::Trouble)
    }

    /// Logs the summary and the objects that must exist for the pods.
    fn log_end(&mut self, ending: Ending<'_>) -> io::Result<()> {
        self.messages.log_summary(ending)?;
        self.messages.add_requirements(&self.requirements)
    }
}

/// Writes an explanation in a format.
fn formatted(explanation: &Explanation<'_>, format: ExplainFormat) -> serde_json::Result<String> {
    let json = match format {
        ExplainFormat::Text => return Ok(text::text(explanation)),
        ExplainFormat::Github => return Ok(github::github(explanation)),
        ExplainFormat::Json => serde_json::to_string_pretty(&Report::of(explanation))?,
        ExplainFormat::Gitlab => serde_json::to_string_pretty(&gitlab::gitlab(explanation))?,
        ExplainFormat::Sarif => serde_json::to_string_pretty(&sarif::sarif(explanation))?,
    };
    Ok(visible_json(&json) + "\n")
}

impl Exit {
    /// Returns the exit code of a check that found something, unless the run failed.
    fn after_check(self, check_fails: bool) -> Self {
        match self {
            Exit::Done if check_fails => Exit::Found,
            exit => exit,
        }
    }
}
