//! `mackerel-agent-injector`: bytes in, bytes out, exit code.

fn main() -> std::process::ExitCode {
    mackerel_agent_injector::run()
}
