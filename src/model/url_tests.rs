//! Which URLs `submit` takes, and what it makes of them.

use url::Url;

use super::request_tests::{freeze, freeze_at, invalid_field, post};
use crate::error::OutboxError;

fn url_of(url: &str) -> Result<String, OutboxError> {
    freeze(post(url)).map(|request| request.url)
}

#[test]
fn a_url_that_is_not_an_absolute_http_url_is_refused() {
    for url in [
        "",
        "orders",
        "./orders",
        "../orders",
        "?page=2",
        "#top",
        "api.example.com/orders",
        "https",
        "https:",
        "https:/",
        "https://",
        "https:///orders",
        "https:orders",
        "https:/api.example.com/orders",
        "https:///api.example.com/orders",
        "https://:443/orders",
        "https://api.example.com:port/orders",
        "https://api.example.com:99999/orders",
        "https://exa mple.com/",
        "https://exa<mple.com/",
        "https://[::1/orders",
        "https://1.2.3.999/orders",
        "://api.example.com/orders",
    ] {
        assert_eq!(invalid_field(freeze(post(url))), "url", "{url}");
    }
}

#[test]
fn a_url_without_its_scheme_is_refused_and_not_taken_for_a_path() {
    for url in [
        "//evil.example/orders",
        "//api.example.com/orders",
        "///orders",
        "//",
    ] {
        assert_eq!(invalid_field(freeze(post(url))), "url", "{url}");
    }
}

#[test]
fn other_schemes_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://api.example.com/orders",
        "ws://api.example.com/orders",
        "wss://api.example.com/orders",
        "data:text/plain,1",
        "javascript:alert(1)",
        "blob:https://api.example.com/1",
        "content://com.example/1",
        "mailto:a@example.com",
        "httpx://api.example.com/",
    ] {
        assert_eq!(invalid_field(freeze(post(url))), "url", "{url}");
    }
}

#[test]
fn spaces_backslashes_and_control_characters_in_a_url_are_refused() {
    for character in [
        ' ', '\t', '\n', '\r', '\0', '\u{1b}', '\u{7f}', '\u{85}', '\\',
    ] {
        for url in [
            format!("/orders{character}"),
            format!("/or{character}ders"),
            format!("{character}/orders"),
            format!("https://api.example.com/{character}orders"),
            format!("{character}https://api.example.com/orders"),
            format!("https://api.example.com{character}/orders"),
        ] {
            assert_eq!(invalid_field(freeze(post(&url))), "url", "{url:?}");
        }
    }
}

#[test]
fn credentials_in_a_url_are_refused() {
    for url in [
        "https://user@api.example.com/orders",
        "https://user:secret@api.example.com/orders",
        "https://:secret@api.example.com/orders",
        "https://api.example.com@evil.example/orders",
    ] {
        let refused = freeze(post(url));
        let words = format!("{refused:?}");
        assert!(!words.contains("secret"), "{words}");
        assert_eq!(invalid_field(refused), "url", "{url}");
    }
}

#[test]
fn a_path_needs_a_base() {
    assert_eq!(invalid_field(freeze_at(None, post("/orders"))), "url");
    let absolute = freeze_at(None, post("https://api.example.com/orders"));
    assert_eq!(absolute.unwrap().url, "https://api.example.com/orders");
}

#[test]
fn a_path_is_joined_behind_the_path_of_the_base() {
    for base in ["https://api.example.com/v2", "https://api.example.com/v2/"] {
        let request = freeze_at(Some(base), post("/orders?draft=1#top")).unwrap();
        assert_eq!(request.url, "https://api.example.com/v2/orders?draft=1");
        assert_eq!(request.origin, "https://api.example.com");
    }
    let bare = freeze_at(Some("http://10.0.2.2:8080"), post("/")).unwrap();
    assert_eq!(
        (bare.url.as_str(), bare.origin.as_str()),
        ("http://10.0.2.2:8080/", "http://10.0.2.2:8080")
    );
}

#[test]
fn no_path_leads_to_another_host() {
    for path in [
        "/../../../evil.example/",
        "/..//evil.example/",
        "/%2e%2e/%2e%2e//evil.example/",
        "/.//evil.example/",
        "/@evil.example/",
        "/:8443/",
        "/http://evil.example/",
        "/%00",
        "/?next=//evil.example",
    ] {
        let url = Url::parse(&url_of(path).unwrap()).unwrap();
        assert_eq!(
            url.origin().ascii_serialization(),
            "https://api.example.com",
            "{path}"
        );
        assert_eq!(url.username(), "", "{path}");
    }
}

#[test]
fn a_url_is_made_canonical_once() {
    for (url, canonical) in [
        (
            "HTTPS://API.Example.COM:443/Orders",
            "https://api.example.com/Orders",
        ),
        ("http://api.example.com:80", "http://api.example.com/"),
        (
            "https://api.example.com/a/./b/../c",
            "https://api.example.com/a/c",
        ),
        (
            "https://bücher.example/ä?ö",
            "https://xn--bcher-kva.example/%C3%A4?%C3%B6",
        ),
        (
            "https://api.example.com/a%2Fb?c=%20",
            "https://api.example.com/a%2Fb?c=%20",
        ),
    ] {
        assert_eq!(url_of(url).unwrap(), canonical);
        assert_eq!(url_of(canonical).unwrap(), canonical);
    }
}

#[test]
fn a_url_longer_than_servers_accept_is_refused() {
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    assert_eq!(invalid_field(freeze(post(&path(8 * 1024 + 1)))), "url");
    assert!(freeze(post(&path(8 * 1024))).is_ok());
}
