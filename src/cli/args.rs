//! The arguments.

use crate::agent::endpoint::Endpoint;
use crate::cli::wait_for::duration;
#[cfg(all(unix, feature = "webhook"))]
use crate::webhook::log::LogFormat;
use clap::{Args, Parser, Subcommand, ValueEnum};
#[cfg(all(unix, feature = "webhook"))]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Names the configuration file where neither `--config` nor a functionConfig does.
pub(crate) const CONFIG_VARIABLE: &str = "MACKEREL_AGENT_INJECTOR_CONFIG";
/// Names the log file where `--log-file` does not.
pub(crate) const LOG_FILE_VARIABLE: &str = "MACKEREL_AGENT_INJECTOR_LOG_FILE";

/// Puts the Mackerel container agent into Kubernetes manifests and changes no other byte
#[derive(Debug, Parser)]
#[command(
    name = "mackerel-agent-injector",
    version,
    disable_help_subcommand = true,
    infer_subcommands = false,
    after_help = "\
Without a command, stdin decides: a ResourceList is a KRM function call,
anything else is a stream of manifests from Helm (post-renderer).
Exit codes: 0 done, 1 `--check` found something to change, 2 trouble."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Common {
    /// Configuration file [env: MACKEREL_AGENT_INJECTOR_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one value below `spec`, as in `agent.image=IMAGE` or `agent.roles=[a:b, c:d]`; repeatable
    #[arg(long, global = true, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Namespace of resources that name none
    #[arg(long, global = true, value_name = "NS")]
    pub(crate) namespace: Option<String>,
    /// Append every message to FILE [env: MACKEREL_AGENT_INJECTOR_LOG_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put the agent in, bring it up to date, or take it out where it is no longer wanted
    #[command(after_help = "\
Examples:
  mackerel-agent-injector inject --diff deploy/
  mackerel-agent-injector inject -i deploy/ jobs/backup.yaml
  helm template web ./web | mackerel-agent-injector inject -")]
    Inject {
        #[command(flatten)]
        over: InjectArgs,
        /// Take over an agent that another tool added, in its place
        #[arg(long)]
        adopt: bool,
        /// Refuse where a warning would be given
        #[arg(long)]
        strict: bool,
    },
    /// Take out everything that was put in
    #[command(after_help = "\
Examples:
  mackerel-agent-injector uninject --diff deploy/
  mackerel-agent-injector uninject -i deploy/web.yaml
  mackerel-agent-injector uninject --check -q deploy/ && echo no agent in here")]
    Uninject {
        #[command(flatten)]
        over: InjectArgs,
    },
    /// Say of every pod template what would be decided, and why
    #[command(after_help = "\
Examples:
  mackerel-agent-injector explain deploy/
  mackerel-agent-injector explain deploy/ --resource Deployment/shop/web
  helm template web ./web | mackerel-agent-injector explain --output sarif -")]
    Explain(ExplainArgs),
    /// Print the permissions that the agents need: ClusterRoles, bound to their ServiceAccounts
    #[command(after_help = "\
Examples:
  mackerel-agent-injector rbac --namespace shop deploy/ > rbac.yaml
  mackerel-agent-injector rbac --set kubernetesVersion=1.33 deploy/ | kubectl apply -f -
  helm template web ./web | mackerel-agent-injector rbac --namespace shop -")]
    Rbac {
        #[command(flatten)]
        over: ReadArgs,
    },
    /// Describe and check the configuration
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
    /// Wait until hosts accept TCP connections
    #[command(after_help = "\
Examples:
  mackerel-agent-injector wait-for db:5432 cache:6379
  mackerel-agent-injector wait-for [2001:db8::1]:80 --timeout 2m
  mackerel-agent-injector wait-for db:5432 --timeout 30s --interval 500ms || echo no database

Exit codes: 0 all accept, 2 wrong usage, else the first that does not: 11 for the first host,
12 for the second, and so on up to 125.")]
    WaitFor {
        /// A name or address with a port; an IPv6 address in brackets
        #[arg(value_name = "HOST:PORT", required = true)]
        endpoints: Vec<Endpoint>,
        /// The time to wait for all of them
        #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
        timeout: Duration,
        /// The pause between two tries
        #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
        interval: Duration,
    },
    /// Serve the admission webhook, which injects pods as the API server creates them
    #[cfg(all(unix, feature = "webhook"))]
    #[command(
        subcommand_negates_reqs = true,
        args_conflicts_with_subcommands = true,
        disable_help_subcommand = true,
        after_help = "\
Examples:
  mackerel-agent-injector webhook --tls-cert tls.crt --tls-key tls.key
  mackerel-agent-injector webhook --tls-cert tls.crt --tls-key tls.key --config injector.yaml
  mackerel-agent-injector webhook certificate --service injector --namespace mackerel > secret.yaml

Certificate and configuration are read again every five seconds. On SIGTERM the server drains, then ends."
    )]
    Webhook(WebhookArgs),
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  mackerel-agent-injector completions bash > mackerel-agent-injector.bash
  mackerel-agent-injector completions zsh > ~/.zfunc/_mackerel-agent-injector
  mackerel-agent-injector completions fish | source")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write them all
    #[command(after_help = "\
Examples:
  mackerel-agent-injector man | man -l -
  mackerel-agent-injector man config validate | man -l -
  mackerel-agent-injector man --dir ~/.local/share/man/man1")]
    Man {
        /// The page of this command instead of the program's
        command: Vec<String>,
        /// Write the pages of the program and of every command into this folder
        #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
        dir: Option<PathBuf>,
    },
}

/// Arguments of the admission server.
#[cfg(all(unix, feature = "webhook"))]
#[derive(Debug, Args)]
pub(crate) struct WebhookArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WebhookCommand>,
    /// Address and port of the hooks `/mutate`, `/warn` and `/wait-for`, by TLS
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:10250")]
    pub(crate) listen: SocketAddr,
    /// Address and port of `/livez`, `/readyz` and `/metrics`, without TLS
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8080")]
    pub(crate) metrics_listen: SocketAddr,
    /// Certificates in PEM, the server's own first
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key in PEM
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// How long to serve on after SIGTERM, not ready, until no client has this server's address
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub(crate) drain: Duration,
    /// Form of the log on standard error: json or text
    #[arg(long, value_name = "FORMAT", default_value = "json", hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
}

#[cfg(all(unix, feature = "webhook"))]
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Print a Secret with a certificate for a Service, and the `caBundle` that trusts it; see `--namespace`
    #[command(after_help = "\
Examples:
  mackerel-agent-injector webhook certificate --service injector --namespace mackerel > secret.yaml
  mackerel-agent-injector webhook certificate --service injector --namespace mackerel --days 365
  mackerel-agent-injector webhook certificate --service injector --namespace mackerel --ca-bundle old-ca.crt

The authority's key is dropped: nobody can have it issue another certificate.")]
    Certificate {
        /// Name of the Service in front of the server
        #[arg(long, value_name = "NAME")]
        service: String,
        /// Days for which the certificate is valid
        #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36500))]
        days: u32,
        /// Authorities of before, in PEM, that the `caBundle` goes on trusting
        #[arg(long, value_name = "FILE")]
        ca_bundle: Option<PathBuf>,
    },
}

/// Arguments of a command that writes no manifests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReadArgs {
    /// Files and folders; `-` or none is stdin
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print one line per resource, with the reason
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Input and output of `inject` and `uninject`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InjectArgs {
    /// Files and folders; `-` or none is stdin
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Change the files, all of them or none
    #[arg(short, long, conflicts_with_all = ["diff", "check", "output"])]
    pub(crate) in_place: bool,
    /// Print a unified diff that `git apply` takes
    #[arg(long, conflicts_with = "output")]
    pub(crate) diff: bool,
    /// List what would change; exit 1 if something would
    #[arg(long, conflicts_with = "output")]
    pub(crate) check: bool,
    /// Print one JSON object per changed resource and line, with its RFC 6902 patch
    #[arg(long, value_name = "patch", hide_possible_values = true)]
    pub(crate) output: Option<Output>,
    /// Overwrite what was edited by hand, or take it out all the same
    #[arg(long)]
    pub(crate) force: bool,
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print one line per resource, with the reason
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Input and output of `explain`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExplainArgs {
    /// Files and folders; `-` or none is stdin
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only this resource, with every setting of its agent: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub(crate) resource: Option<String>,
    /// Another form than text
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output: Option<ExplainFormat>,
    /// Take warnings for errors
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people
    Text,
    /// Everything, for programs
    Json,
    /// Errors and warnings, for tools of code review
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Patch,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the configuration's JSON Schema
    Schema,
    /// Print every setting with its default, commented out
    Example,
    /// Check a configuration: FILE, else `--config`; `--set` goes on top
    Validate {
        /// Configuration file; `-` is stdin
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}
