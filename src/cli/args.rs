//! The arguments.

use crate::cli::wait_for::duration;
use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use config::LabelSelector;
use injector::Endpoint;
#[cfg(all(unix, feature = "webhook"))]
use rustls::pki_types::ServerName;
#[cfg(all(unix, feature = "webhook"))]
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
#[cfg(all(unix, feature = "webhook"))]
use webhook::log::LogFormat;

/// Names the configuration file where neither `--config` nor a functionConfig does.
pub const CONFIG_VARIABLE: &str = "MACKEREL_AGENT_INJECTOR_CONFIG";
/// Names the log file where `--log-file` does not.
pub const LOG_FILE_VARIABLE: &str = "MACKEREL_AGENT_INJECTOR_LOG_FILE";

/// Add the Mackerel container agent to Kubernetes manifests and change no other byte
#[derive(Debug, Parser)]
#[command(
    name = "mackerel-agent-injector",
    version,
    infer_subcommands = false,
    after_help = "\
Without a command, the agent is injected into stdin: a ResourceList of kustomize or kpt
(KRM function), or manifests of Helm (post-renderer).

Exit codes: 0 success, 1 `--check` found a change, a missing agent or an injected agent
without its `record`, 2 error."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Common {
    /// Configuration file; default: `agent-injector.yaml` in the directory of PATH or above [env: MACKEREL_AGENT_INJECTOR_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Use the defaults instead of a configuration file
    #[arg(long, global = true, conflicts_with = "config")]
    pub no_config: bool,
    /// Set one field below `spec`, such as `agent.image=IMAGE` or `agent.roles=[shop:web, shop:api]`; repeatable
    #[arg(long, global = true, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Namespace for resources without `metadata.namespace`
    #[arg(short, long, global = true, value_name = "NS")]
    pub namespace: Option<String>,
    /// Threads for one input; default: 1 below 4 MiB, else one per processor
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
    /// Append all messages to FILE [env: MACKEREL_AGENT_INJECTOR_LOG_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
}

/// The value of `--adopt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Adoption {
    Lossy,
}

// Only the arguments of the command that was typed are built. Documentation of their types would become the command's description.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Add, update or remove the agent according to the configuration
    #[command(after_help = "\
Examples:
  mackerel-agent-injector inject --diff deploy/
  mackerel-agent-injector inject -i deploy/ jobs/backup.yaml
  mackerel-agent-injector inject --check -k overlays/*
  helm template web ./web | mackerel-agent-injector inject -")]
    Inject {
        #[command(flatten)]
        arguments: InjectArgs,
        /// Adopt agent containers that this tool did not inject, in place; with `lossy`, even if some of their fields are lost
        #[arg(long, value_name = "lossy", num_args = 0..=1, require_equals = true, hide_possible_values = true)]
        adopt: Option<Option<Adoption>>,
        #[command(flatten)]
        build: BuildArgs,
    },
    /// Remove injected agents and restore the original manifests
    #[command(after_help = "\
Examples:
  mackerel-agent-injector uninject --diff deploy/
  mackerel-agent-injector uninject -i deploy/web.yaml
  mackerel-agent-injector uninject --check -q deploy/ && echo no injected agent")]
    Uninject(InjectArgs),
    /// Show what `inject` would do with each pod template, and why
    #[command(after_help = "\
Examples:
  mackerel-agent-injector explain deploy/
  mackerel-agent-injector explain deploy/ --resource Deployment/shop/web
  mackerel-agent-injector explain --reason hand-edited
  helm template web ./web | mackerel-agent-injector explain -o sarif -")]
    Explain(ExplainArgs),
    /// Print the ClusterRoles and ClusterRoleBindings that the agents need
    #[command(after_help = "\
Examples:
  mackerel-agent-injector rbac -n shop deploy/ > rbac.yaml
  mackerel-agent-injector rbac --set kubernetesVersion=1.33 deploy/ | kubectl apply -f -
  mackerel-agent-injector rbac -k overlays/production
  helm template web ./web | mackerel-agent-injector rbac -n shop -

Keep the output beside the manifests; for a chart, as one of its manifests.")]
    Rbac {
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        build: BuildArgs,
    },
    /// Show which pods of a cluster lack the agent, and what to restart
    #[command(after_help = "\
Examples:
  kubectl get pods -A -o json | mackerel-agent-injector status -
  kubectl get pods,deployments,replicasets,statefulsets,daemonsets,jobs -n shop -o json |
    mackerel-agent-injector status -
  kubectl get pods,namespaces -A -o json |
    mackerel-agent-injector status --namespace-selector mackerel=enabled -

The configuration is that of `inject`: add the `--config` and `--set` of your manifests or release.
With their owners in the input, pods are listed by the topmost one, and an outdated agent has the
one step that helps.

Exit codes: 0 success, 1 a pod missed the agent, its agent is not ready, or its owner is needed and
unknown (with `--strict`, also: its agent is outdated or refused), 2 error.")]
    Status(StatusArgs),
    /// Print the configuration schema or an example, or validate a configuration
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "\
Examples:
  mackerel-agent-injector config example > agent-injector.yaml
  mackerel-agent-injector config validate agent-injector.yaml
  mackerel-agent-injector config schema > agent-injector.schema.json"
    )]
    Config(ConfigCommand),
    /// Wait until hosts accept TCP connections; for the init container of the annotation `wait-for`
    #[command(
        hide = true,
        after_help = "\
Examples:
  mackerel-agent-injector wait-for db:5432 cache:6379
  mackerel-agent-injector wait-for [2001:db8::1]:80 --timeout 2m
  mackerel-agent-injector wait-for db:5432 --timeout 30s --interval 500ms || echo no database

Exit codes: 0 if all hosts accept connections, 2 for wrong usage. Otherwise the first host that does
not: 11 for the first host, 12 for the second, and so on up to 125."
    )]
    WaitFor {
        /// Host name or address with a port; an IPv6 address in brackets
        #[arg(value_name = "HOST:PORT", required = true)]
        endpoints: Vec<Endpoint>,
        /// Time to wait for all hosts together
        #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
        timeout: Duration,
        /// Pause between two attempts
        #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
        interval: Duration,
    },
    /// Run the admission webhook, which injects the agent into pods when they are created
    #[cfg(all(unix, feature = "webhook"))]
    #[command(
        subcommand_negates_reqs = true,
        args_conflicts_with_subcommands = true,
        disable_help_subcommand = true,
        after_help = "\
Examples:
  mackerel-agent-injector webhook --tls-cert tls.crt --tls-key tls.key
  mackerel-agent-injector webhook --tls-cert tls.crt --tls-key tls.key --config injector.yaml
  mackerel-agent-injector webhook certificate --service injector -n mackerel > secret.yaml

The certificate and the configuration are reloaded every five seconds. On SIGTERM the server drains,
then exits."
    )]
    Webhook(WebhookArgs),
    /// Print admission policies, by which the API server injects the agent itself
    #[command(after_help = "\
Examples:
  mackerel-agent-injector policy > policy.yaml
  mackerel-agent-injector policy --namespace-selector 'mackerel=enabled' | kubectl apply -f -
  mackerel-agent-injector policy --config production.yaml --name mackerel-production")]
    Policy(PolicyArgs),
    /// Print a shell completion script
    #[command(
        visible_alias = "completion",
        after_help = "\
Examples:
  mackerel-agent-injector completions bash > mackerel-agent-injector.bash
  mackerel-agent-injector completions zsh > ~/.zfunc/_mackerel-agent-injector
  mackerel-agent-injector completions fish | source"
    )]
    Completions {
        /// Shell to print the script for
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them to a directory
    #[command(after_help = "\
Examples:
  mackerel-agent-injector man | man -l -
  mackerel-agent-injector man config validate | man -l -
  mackerel-agent-injector man --dir ~/.local/share/man/man1")]
    Man {
        /// Command to print the page of, such as `config validate`; default: the program
        command: Vec<String>,
        /// Write the pages of the program and of all commands to this directory
        #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
        dir: Option<PathBuf>,
    },
    /// Print the version
    Version,
}

// Arguments of the admission server.
#[cfg(all(unix, feature = "webhook"))]
#[derive(Debug, Args)]
pub struct WebhookArgs {
    #[command(subcommand)]
    pub command: Option<WebhookCommand>,
    /// Address and port of the HTTPS endpoints `/mutate`, `/warn` and `/wait-for`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:10250")]
    pub listen: SocketAddr,
    /// Address and port of the HTTP endpoints `/livez`, `/readyz` and `/metrics`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8080")]
    pub metrics_listen: SocketAddr,
    /// Certificate chain in PEM, the server certificate first
    #[arg(long, value_name = "FILE", required = true)]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", required = true)]
    pub tls_key: Option<PathBuf>,
    /// Name by which the API server calls the server, `NAME.NAMESPACE.svc` of its Service; a certificate for another name is not used
    #[arg(long, value_name = "NAME", value_parser = |name: &str| ServerName::try_from(name.to_owned()))]
    pub server_name: Option<ServerName<'static>>,
    /// Accept only clients with a certificate of these CAs, in PEM; default: clients need no certificate
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Time to keep serving after SIGTERM, while `/readyz` reports that the server is not ready
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub drain: Duration,
    /// Log format on stderr: json or text
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "json",
        hide_possible_values = true
    )]
    pub log_format: LogFormat,
}

#[cfg(all(unix, feature = "webhook"))]
#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Print a Secret with a certificate for a Service, and the `caBundle` that trusts it
    #[command(after_help = "\
Examples:
  mackerel-agent-injector webhook certificate --service injector -n mackerel > secret.yaml
  mackerel-agent-injector webhook certificate --service injector -n mackerel --days 365
  mackerel-agent-injector webhook certificate --service injector -n mackerel --ca-bundle old-ca.crt

The namespace of the Service is required. The private key of the CA is discarded, so the CA cannot
issue another certificate.")]
    Certificate {
        /// Name of the Service of the webhook
        #[arg(long, value_name = "NAME")]
        service: String,
        /// Validity of the certificate in days
        #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36500))]
        days: u32,
        /// PEM file with earlier CAs that the `caBundle` still trusts
        #[arg(long, value_name = "FILE")]
        ca_bundle: Option<PathBuf>,
    },
}

// Arguments of `policy`.
#[derive(Debug, Clone, Args)]
pub struct PolicyArgs {
    /// Select only pods in namespaces with these labels, as in `kubectl -l`: `team in (shop,web),!legacy`
    #[arg(
        long,
        value_name = "SELECTOR",
        default_value = "",
        hide_default_value = true
    )]
    pub namespace_selector: LabelSelector,
    /// Select only pods with these labels
    #[arg(
        long,
        value_name = "SELECTOR",
        default_value = "",
        hide_default_value = true
    )]
    pub object_selector: LabelSelector,
    /// Name of the policies and their bindings
    #[arg(
        long,
        value_name = "NAME",
        default_value = "mackerel-agent-injector-policy"
    )]
    pub name: String,
}

// Input of a command that reports each decision, and how much it reports.
#[derive(Debug, Clone, Default, Args)]
pub struct ReadArgs {
    /// Files and directories; `-` or none for stdin
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print the decision for every resource
    #[arg(short, long)]
    pub verbose: bool,
}

// Input that kustomize builds.
#[derive(Debug, Clone, Default, Args)]
pub struct BuildArgs {
    /// Read what `kustomize build` (or `kubectl kustomize`) prints for each PATH, a directory
    #[arg(short, long)]
    pub kustomize: bool,
    /// Argument for `kustomize build`, such as `--enable-helm`; repeatable
    #[arg(
        long,
        value_name = "ARG",
        requires = "kustomize",
        allow_hyphen_values = true,
        value_parser = kustomize_argument
    )]
    pub kustomize_args: Vec<String>,
}

// Input and output of `inject` and `uninject`.
#[derive(Debug, Clone, Default, Args)]
pub struct InjectArgs {
    /// Change the files in place; an error leaves all of them unchanged
    #[arg(short, long, conflicts_with_all = ["diff", "check", "output"])]
    pub in_place: bool,
    /// Print the changes as a unified diff, for example for `git apply`
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,
    /// List changes without writing; exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Output format: `patch` for JSON Patches; with `--check`, `json` for programs, `github`, `gitlab` or `sarif` for code review, and `markdown` for the summary of a CI job
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        requires_ifs = [("json", "check"), ("github", "check"), ("gitlab", "check"), ("sarif", "check"), ("markdown", "check")],
    )]
    pub output: Option<Output>,
    /// Overwrite or remove agents that were modified after injection
    #[arg(long)]
    pub force: bool,
    /// Write nothing if there is a warning, and exit with 1
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

// Input and output of `explain`.
#[derive(Debug, Clone, Default, Args)]
pub struct ExplainArgs {
    /// Files and directories; `-` or none for stdin
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Explain only this resource, with its agent and the place of each setting: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<String>,
    /// Output format; default: text
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<ExplainFormat>,
    /// Print the page about an id of the output, such as `hand-edited`: why it is reported, and what to do
    #[arg(long, value_name = "ID", exclusive = true)]
    pub reason: Option<String>,
    /// Exit with 1 if there is a warning
    #[arg(long)]
    pub strict: bool,
    /// Print each decision with its rule, and each warning, on a terminal too
    #[arg(short, long, conflicts_with = "output")]
    pub verbose: bool,
    #[command(flatten)]
    pub build: BuildArgs,
}

// Input and output of `status`.
#[derive(Debug, Clone, Default, Args)]
pub struct StatusArgs {
    /// Files and directories with pods; `-` or none for stdin
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Count only pods in namespaces with these labels, as in `kubectl -l`; requires Namespaces in the input
    #[arg(long, value_name = "SELECTOR")]
    pub namespace_selector: Option<LabelSelector>,
    /// Output format; default: text
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<StatusFormat>,
    /// Exit with 1 for pods that are outdated or refused, too
    #[arg(long)]
    pub strict: bool,
    /// Print errors only
    #[arg(short, long, conflicts_with = "output")]
    pub quiet: bool,
    /// Print each workload with its next step, on a terminal too
    #[arg(short, long, conflicts_with_all = ["quiet", "output"])]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    /// Human-readable text
    Text,
    /// Full report
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// Human-readable text
    Text,
    /// Full report for programs, by a versioned schema
    Json,
    /// Changes, errors and warnings as workflow commands of GitHub Actions
    Github,
    /// Changes, errors and warnings as a Code Quality report of GitLab
    Gitlab,
    /// Changes, errors and warnings in SARIF 2.1.0, for code review tools
    Sarif,
    /// Changes, errors and warnings as a table for the summary of a CI job
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Each changed resource with its JSON Patch, one line of JSON each
    Patch,
    /// With `--check`: a report for programs or code review
    Report(ExplainFormat),
}

impl ValueEnum for Output {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Output::Patch,
            Output::Report(ExplainFormat::Json),
            Output::Report(ExplainFormat::Github),
            Output::Report(ExplainFormat::Gitlab),
            Output::Report(ExplainFormat::Sarif),
            Output::Report(ExplainFormat::Markdown),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Output::Patch => Some(PossibleValue::new("patch")),
            Output::Report(format) => format.to_possible_value(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the JSON Schema of the configuration
    Schema,
    /// Print an example with all settings and their defaults, commented out
    Example,
    /// Validate FILE, or the file that `inject` would use, with the values of `--set`
    Validate {
        /// Configuration file, or a directory to search from; `-` for stdin
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Refuse settings that the webhook does not support, as its server does
        #[arg(long)]
        webhook: bool,
    },
}

/// Reads an argument for kustomize, whose output is the input.
fn kustomize_argument(text: &str) -> Result<String, &'static str> {
    if text.starts_with("-o") || text.split('=').next() == Some("--output") {
        return Err("kustomize would write to a file, and there would be nothing to read");
    }
    Ok(text.to_owned())
}

/// Reads a number of threads.
fn threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "use a whole number, 1 or more")
}
