//! `mackerel-agent-injector`: bytes in, bytes out, exit code.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
