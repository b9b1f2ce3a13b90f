//! The end of a run: writes all of the output, or nothing. One function for each form of output.

use crate::cli::args::ExplainFormat;
use crate::cli::input::io_message;
use crate::cli::interrupt::Interrupt;
use crate::cli::mend::{add_mend, mend, next, with_paths};
use crate::cli::messages::{Ending, NO_FILE_CHANGED, NO_OUTPUT, Verbosity, colour_of};
use crate::cli::run::{ExplainRequest, OutputMode};
use crate::cli::session::{Printer, ProcessedFile, Session};
use crate::cli::table::{Workload, fits, table};
use crate::cli::{Exit, concatenate, in_place, stdout};
use crate::diff::ChangedLines;
use crate::explain::{Explanation, Inputs, explain, github, gitlab, json, markdown, sarif, text};
use crate::rbac;
use injector::{ProcessedText, Row, plural};
use report::{Diagnostic, Finding, Place, Reason, Severity, visible_json};
use std::io;
use std::mem::ManuallyDrop;
use yaml_json_patch::ErrorKind;
use yaml_json_patch::edit::{self, pieces};

impl Session<'_> {
    /// Writes the output and the messages.
    pub(super) fn finish(mut self) -> anyhow::Result<Exit> {
        self.check_selection();
        // The process ends now, and its memory with it: to free every text and outcome first would only take time.
        let mut session = ManuallyDrop::new(self);
        match session.run.mode {
            OutputMode::Manifests => session.print_manifests(),
            OutputMode::InPlace => session.change_files(),
            OutputMode::Diff => session.print_dry_run(ProcessedFile::diff),
            OutputMode::Patches => session.print_dry_run(ProcessedFile::patches),
            OutputMode::Check => session.print_check(&[]),
            OutputMode::CheckAndDiff => session.print_check(&[ProcessedFile::diff]),
            OutputMode::CheckReport(format) => session.print_check_report(format),
            OutputMode::Explanation(request) => session.print_explanation(request),
            OutputMode::Permissions => session.print_permissions(),
        }
    }

    /// Prints the manifests of all texts as one stream.
    fn print_manifests(&mut self) -> anyhow::Result<Exit> {
        self.refuse_open_block_scalars();
        if let Some(exit) = self.held_back() {
            return self.end_as(exit, Ending::Failed(NO_OUTPUT));
        }
        let mut files = self.files.iter();
        let is_changed = files.any(|file| file.source.state.is_some() && !file.edits().is_empty());
        let happened = is_changed.then(|| "printed to stdout (`-i` changes the files)".to_owned());
        let texts: Vec<&str> = self.files.iter().map(|file| &*file.text).collect();
        let separators = concatenate::separators(&texts);
        let pieces = self.files.iter().zip(&separators).enumerate().flat_map(
            |(index, (file, separator))| {
                let pieces = concatenate::joined(index, pieces(&file.text, file.edits()));
                std::iter::once(separator.as_str()).chain(pieces)
            },
        );
        self.end_with(Ending::Done(happened), || Ok(stdout::write(pieces)?))?;
        Ok(Exit::Done)
    }

    /// Reports the texts after which stdout can have no other one.
    fn refuse_open_block_scalars(&mut self) {
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
            let end = file.text.len()..file.text.len();
            let place = Place::of_lines(&*file.name, file.text.as_bytes(), end);
            let diagnostic = Diagnostic::error(message).at(place);
            self.messages
                .diagnostic(&diagnostic.with_help(Some(help.to_owned())));
        }
    }

    /// Replaces the files that change.
    fn change_files(&mut self) -> anyhow::Result<Exit> {
        let interrupt = Interrupt::listen()?;
        let mut replacements = Vec::new();
        if self.held_back().is_none() {
            for file in &self.files {
                let Some(state) = file.source.state.filter(|_| !file.edits().is_empty()) else {
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
                        self.messages.error(error);
                    }
                }
            }
        }
        // An editor may have saved a file while the others were written.
        for replacement in &replacements {
            if let Err(error) = replacement.refuse_change() {
                self.messages.error(error);
            }
        }
        if interrupt.came() {
            self.messages.error("interrupted by a signal");
        }
        if let Some(exit) = self.held_back() {
            drop(replacements);
            let exit = self.end_as(exit, Ending::Failed(NO_FILE_CHANGED));
            interrupt.end()?;
            return exit;
        }
        let changed = plural(replacements.len(), "file") + " changed";
        self.end_with(Ending::Done(Some(changed)), || {
            in_place::commit(replacements)
        })?;
        interrupt.end()?;
        Ok(Exit::Done)
    }

    /// Prints a diff or patches, which another program may apply.
    fn print_dry_run(&mut self, print: Printer) -> anyhow::Result<Exit> {
        match self.held_back() {
            Some(exit) => self.end_as(exit, Ending::Failed(NO_FILE_CHANGED)),
            None => self.print_changes("", &[print]),
        }
    }

    /// Prints the changes of each text: as a list, as a diff, as patches.
    fn print_changes(&mut self, table: &str, printers: &[Printer]) -> anyhow::Result<Exit> {
        if self.has_errors() {
            return self.end_as(Exit::Trouble, Ending::Failed(NO_FILE_CHANGED));
        }
        let mut lines = ChangedLines::default();
        let changes = [table, &self.changes(printers, &mut lines)?].concat();
        let happened = lines
            .words()
            .into_iter()
            .chain([NO_FILE_CHANGED.to_owned()]);
        let ending = Ending::Done(Some(happened.collect::<Vec<_>>().join("; ")));
        self.end_with(ending, || Ok(stdout::write_diff(&changes)?))?;
        Ok(Exit::Done.or_found(self.has_strict_warnings()))
    }

    fn changes(
        &self,
        printers: &[Printer],
        lines: &mut ChangedLines,
    ) -> serde_json::Result<String> {
        let mut changes = String::new();
        for file in &self.files {
            for print in printers {
                changes += &print(file, lines)?;
            }
        }
        Ok(changes)
    }

    /// Prints the list of the changes, without `-q`, and what else is asked for. Errors hold back a diff, which may be applied, and not
    /// the list.
    fn print_check(&mut self, others: &[Printer]) -> anyhow::Result<Exit> {
        let mut printers: Vec<Printer> = Vec::new();
        let verbosity = self.messages.verbosity();
        let mut table = String::new();
        if verbosity == Verbosity::Summary && others.is_empty() && fits() {
            table = self.table(|row| row.is_change().then(String::new));
        } else if verbosity != Verbosity::Errors {
            printers.push(ProcessedFile::list);
        }
        if self.has_errors() && others.is_empty() {
            let list = [
                &*table,
                &self.changes(&printers, &mut ChangedLines::default())?,
            ]
            .concat();
            self.end_with(Ending::Failed(NO_FILE_CHANGED), || {
                Ok(stdout::write([&*list])?)
            })?;
            return Ok(Exit::Trouble);
        }
        printers.extend(others);
        let exit = self.print_changes(&table, &printers)?;
        Ok(exit.or_found(self.check_fails()))
    }

    /// Prints the changes and findings for tools of code review. Errors are among them and hold nothing back.
    fn print_check_report(&mut self, format: ExplainFormat) -> anyhow::Result<Exit> {
        let request = ExplainRequest {
            format,
            resource: None,
        };
        let mut explanation = self.explanation(&self.texts(), request);
        // The JSON report has its own field for changes.
        if !matches!(format, ExplainFormat::Json) {
            explanation.rows = explanation.rows.into_iter().map(Row::for_check).collect();
        }
        let mend = mend(self.run);
        if let (ExplainFormat::Github | ExplainFormat::Gitlab, Some(mend)) = (format, &mend) {
            add_mend(mend, &mut explanation.rows);
        }
        // With an error, the command would change nothing.
        let command = mend
            .filter(|_| !self.has_errors())
            .map(|mend| with_paths(&mend, self.run.paths));
        let report = self.formatted(&explanation, format, command.as_deref())?;
        let (ending, exit) = if self.has_errors() {
            (Ending::Failed(NO_FILE_CHANGED), Exit::Trouble)
        } else {
            let is_found = self.check_fails() || self.has_strict_warnings();
            (
                Ending::Done(Some(NO_FILE_CHANGED.to_owned())),
                Exit::Done.or_found(is_found),
            )
        };
        self.end_with(ending, || Ok(stdout::write([&*report])?))?;
        Ok(exit)
    }

    /// Prints the explanation. Errors and, with `--strict`, warnings fail it; changes do not.
    fn print_explanation(&mut self, request: ExplainRequest<'_>) -> anyhow::Result<Exit> {
        let ExplainRequest { format, resource } = request;
        let texts = self.texts();
        let explanation = self.explanation(&texts, request);
        if let Some(resource) = resource
            && !explanation.rows.iter().any(Row::is_decision)
            && !self.messages.has_errors()
        {
            anyhow::bail!(
                "no resource {resource} with a pod template; use for example `web`, `Deployment/web` or `Deployment/shop/web`"
            );
        }
        let exit = exit_of(&explanation.rows).or_found(self.has_strict_warnings());
        if matches!(format, ExplainFormat::Text)
            && resource.is_none()
            && self.messages.verbosity() == Verbosity::Summary
        {
            let table = self.table(|row| Some(text::why(&explanation, row)));
            self.end_with(Ending::Done(None), || Ok(stdout::write([&*table])?))?;
            return Ok(exit);
        }
        let end = self.end(Ending::Done(None));
        let mut notes = end.kinds_without_template().gap_lines();
        let strict = self.messages.strict_line(&end);
        // A diff is all or nothing.
        let is_next = exit != Exit::Trouble && explanation.rows.iter().any(Row::is_change);
        let command = next(self.run).filter(|_| is_next);
        let output = match format {
            ExplainFormat::Text => {
                let next = match resource {
                    Some(_) => command,
                    None => self.messages.next(&end),
                };
                let next = next.map(|next| format!("next: {next}"));
                text::text(&explanation, &self.rbac(), strict.into_iter().chain(next))
            }
            _ => {
                notes.extend(strict);
                self.formatted(&explanation, format, command.as_deref())?
            }
        };
        for line in notes {
            self.messages.note_line(&line);
        }
        self.messages.write_log(None)?;
        // What matters most is last.
        self.messages.show(None);
        stdout::write([&*output])?;
        Ok(exit)
    }

    /// Returns the list of the decisions for which there is a reason to tell, empty or not.
    fn table(&self, why: impl Fn(&Row<'_>) -> Option<String>) -> String {
        let mut workloads = Vec::new();
        for file in &self.files {
            let text = file.processed_text();
            for row in text.injection.rows(text.name, text.text) {
                let has_warning = row.subject.outcome().is_some_and(|outcome| {
                    let mut warnings = outcome.warnings.iter();
                    warnings.any(|warning| text.injection.severity(warning) == Severity::Warning)
                });
                let why = if row.is_decision() { why(&row) } else { None };
                workloads.extend(why.and_then(|why| Workload::of(&row, has_warning, why)));
            }
        }
        table(&workloads, colour_of(&io::stdout()))
    }

    fn explanation<'s>(
        &'s self,
        texts: &[ProcessedText<'s>],
        request: ExplainRequest<'_>,
    ) -> Explanation<'s> {
        let inputs = Inputs {
            texts,
            requirements: &self.requirements,
            config: self.run.config,
        };
        let of_run = self.messages.rows().iter().cloned();
        let of_texts: Vec<Row<'s>> = match request.format {
            ExplainFormat::Text | ExplainFormat::Json => texts
                .iter()
                .flat_map(|text| text.injection.rows(text.name, text.text))
                .collect(),
            ExplainFormat::Github
            | ExplainFormat::Gitlab
            | ExplainFormat::Sarif
            | ExplainFormat::Markdown => self
                .files
                .iter()
                .flat_map(ProcessedFile::review_rows)
                .collect(),
        };
        explain(inputs, of_run.chain(of_texts), request.resource)
    }

    /// Writes an explanation in a format. `next` is the command for its changes.
    fn formatted(
        &self,
        explanation: &Explanation<'_>,
        format: ExplainFormat,
        next: Option<&str>,
    ) -> serde_json::Result<String> {
        let rows = &explanation.rows;
        let json = match format {
            ExplainFormat::Text => return Ok(text::text(explanation, &self.rbac(), [])),
            ExplainFormat::Github => return Ok(github::github(rows)),
            ExplainFormat::Markdown => return Ok(markdown::markdown(rows, next)),
            ExplainFormat::Json => json::json(explanation),
            ExplainFormat::Gitlab => gitlab::gitlab(rows),
            ExplainFormat::Sarif => sarif::sarif(rows, next),
        };
        Ok(visible_json(&serde_json::to_string_pretty(&json)?) + "\n")
    }

    /// Prints the RBAC manifests of the command `rbac`.
    fn print_permissions(&mut self) -> anyhow::Result<Exit> {
        if self.grants.without_namespace > 0 {
            let templates = plural(self.grants.without_namespace, "pod template");
            let message = format!("cannot print the permissions: {templates} without a namespace");
            let mut help = "set `--namespace` or `spec.namespace`".to_owned();
            if self.run.build.is_none() {
                help += "; if a kustomization sets it, use `mackerel-agent-injector rbac -k DIR`";
            }
            let finding = Finding::about_input(Reason::NamespaceRequired, message).with_help(help);
            self.add_about("", finding);
        }
        if self.has_errors() {
            return self.end_as(Exit::Trouble, Ending::NoPermissions);
        }
        let manifest = rbac::manifest(&self.grants, self.run.config);
        // The output is comments if it has nothing, and `kubectl apply` refuses it.
        let ending = Ending::PermissionsPrinted(match self.grants.nothing() {
            Some(why) => format!("nothing to apply: {why}"),
            None => {
                let accounts = plural(self.grants.service_accounts(), "ServiceAccount");
                format!("permissions for {accounts}")
            }
        });
        self.end_with(ending, || Ok(stdout::write([&*manifest])?))?;
        Ok(Exit::Done)
    }

    /// Ends a run whose output is held back.
    fn end_as(&self, exit: Exit, ending: Ending) -> anyhow::Result<Exit> {
        self.end_with(ending, || Ok(()))?;
        Ok(exit)
    }

    /// Logs the end, writes the output, and shows the messages.
    fn end_with(
        &self,
        ending: Ending,
        write: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.messages.end(&self.end(ending), write)
    }
}

fn exit_of(rows: &[Row<'_>]) -> Exit {
    if rows.iter().any(|row| row.severity == Severity::Error) {
        Exit::Trouble
    } else {
        Exit::Done
    }
}

impl Exit {
    /// Returns the exit code of a run that found something to do, unless it failed.
    fn or_found(self, is_found: bool) -> Self {
        match self {
            Exit::Done if is_found => Exit::Found,
            exit => exit,
        }
    }
}
