//! Protects the answers from other web sites: checks the host that a request names, and sets
//! headers that restrict what a browser does with an answer.

use axum::extract::Request;
use axum::http::header::{CONTENT_SECURITY_POLICY, HOST, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, Ipv6Addr};

/// The pages have their styles and scripts in themselves, and ask this server only.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Answers a request if its host may be this server, with the headers of every answer.
pub async fn guard(request: Request, next: Next) -> Response {
    let mut response = match is_own(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, REFUSED).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

const REFUSED: &str = "refused: the Host header names a domain. Ask by IP address, as localhost or \
                       by a name without a dot.\n";

/// Returns whether no other web site can have any of the hosts that a request names. A page of
/// another site reaches this server under its own domain if its DNS entry is changed to this
/// address (DNS rebinding). Public domains have a dot; addresses and names within a network need
/// none.
fn is_own(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter().peekable();
    hosts.peek().is_some() && hosts.all(|host| host.to_str().is_ok_and(is_local))
}

fn is_local(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.split_once(']').map(|(address, _)| address);
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let has_dot = name.trim_end_matches('.').contains('.');
    name.parse::<IpAddr>().is_ok() || (!name.is_empty() && !has_dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_names_without_a_dot_are_hosts() {
        let own = ["127.0.0.1", "127.0.0.1:9333", "[::1]:9333", "[::1]", "localhost:9333", "node"];
        for host in own {
            assert!(is_local(host), "{host}");
        }
        let others = ["evil.example", "evil.example:9333", "127.0.0.1.evil.example", "[evil]", ""];
        for host in others {
            assert!(!is_local(host), "{host}");
        }
        assert!(!is_own(&HeaderMap::new()), "no host");
        let host = |host| (HOST, HeaderValue::from_static(host));
        let both = HeaderMap::from_iter([host("127.0.0.1")]);
        assert!(is_own(&both));
        let mut both = both;
        both.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(!is_own(&both));
    }
}
