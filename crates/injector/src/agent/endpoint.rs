//! `HOST:PORT`, as in the annotation and in the command's arguments.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host name or an address, and a TCP port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an address; IPv6 without brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
}

/// The reason why a text is not an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be `host:port`, found `{found}`{why}")]
pub struct EndpointError {
    found: String,
    why: &'static str,
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let wrong = |why| EndpointError {
            found: text.chars().take(80).collect(),
            why,
        };
        if text.contains("://") {
            return Err(wrong(": remove the scheme"));
        }
        if text.contains(|c: char| matches!(c, ',' | ';') || c.is_whitespace()) {
            return Err(wrong(
                ": separate the hosts with commas in the annotation, with blanks as arguments",
            ));
        }
        let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once("]:")) {
            Some(Some((address, port))) if address.parse::<Ipv6Addr>().is_ok() => (address, port),
            Some(_) => {
                return Err(wrong(
                    ": put the IPv6 address in brackets, for example `[2001:db8::1]:5432`",
                ));
            }
            None => text
                .rsplit_once(':')
                .ok_or_else(|| wrong(": the port is missing"))?,
        };
        if host.contains(':') && !text.starts_with('[') {
            return Err(wrong(": put an IPv6 address in brackets"));
        }
        if !text.starts_with('[') && !is_host(host) {
            return Err(wrong(": invalid host name"));
        }
        match port.parse::<u16>() {
            // `+80` is a number to Rust.
            Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Self {
                    host: host.to_owned(),
                    port: number,
                })
            }
            _ => Err(wrong(": the port must be a number from 1 to 65535")),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// True for a DNS name or an IPv4 address. Resolvers accept underscores.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let only_numbers = name
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    name.len() <= 253
        && name.split('.').all(is_label)
        && (!only_numbers || name.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn names_and_addresses_with_a_port() {
        for text in [
            "db:5432",
            "www.example.com:80",
            "db.shop.svc.cluster.local.:1",
            "10.0.0.1:65535",
            "[::1]:80",
            "a_b:1",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("db", "the port is missing"),
            ("", "the port is missing"),
            ("http://db:80", "scheme"),
            ("db:http", "a number"),
            ("db:0", "a number"),
            ("db:65536", "a number"),
            ("db:+80", "a number"),
            (":80", "invalid host name"),
            ("-db:80", "invalid host name"),
            ("--help:80", "invalid host name"),
            ("a b:80", "commas"),
            ("a:80;b:80", "commas"),
            ("a:80\nb:80", "commas"),
            ("$(DB):80", "invalid host name"),
            ("1.2.3:80", "invalid host name"),
            ("::1:80", "in brackets"),
            ("[::1]", "for example `[2001"),
            ("[db]:80", "for example `[2001"),
        ] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
