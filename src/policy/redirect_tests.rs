//! Redirects: to the same origin and a few times only, so that neither a request nor its credentials
//! go anywhere else.

use proptest::prelude::*;

use super::redirect::{Follow, MOST_HOPS, follow};

const FROM: &str = "https://api.example.com:8443/v1/orders?shop=1";

fn same(location: &str) -> Option<String> {
    match follow(307, Some(location), FROM, 0) {
        Some(Follow::Same(to)) => Some(to),
        other => {
            assert_eq!(other, None);
            None
        }
    }
}

#[test]
fn a_place_of_the_same_origin_is_followed() {
    for (location, to) in [
        (
            "https://api.example.com:8443/v2/orders",
            "https://api.example.com:8443/v2/orders",
        ),
        (
            "HTTPS://API.Example.COM:8443/x",
            "https://api.example.com:8443/x",
        ),
        (
            "/v2/orders?a=b",
            "https://api.example.com:8443/v2/orders?a=b",
        ),
        ("drafts", "https://api.example.com:8443/v1/drafts"),
        ("../v2", "https://api.example.com:8443/v2"),
        ("?shop=2", "https://api.example.com:8443/v1/orders?shop=2"),
        ("//api.example.com:8443/x", "https://api.example.com:8443/x"),
        (" /padded ", "https://api.example.com:8443/padded"),
        ("/x#part", "https://api.example.com:8443/x"),
        // The place itself (RFC 3986, section 4.4); the hops end it.
        ("", FROM),
        ("#part", FROM),
    ] {
        assert_eq!(same(location).as_deref(), Some(to), "{location}");
    }
    let default_port = follow(308, Some("http://a.example:80/x"), "http://a.example/", 0);
    assert_eq!(
        default_port,
        Some(Follow::Same("http://a.example/x".to_owned()))
    );
}

#[test]
fn no_other_place_is() {
    for location in [
        "https://example.com:8443/v1/orders",
        "https://api.example.com.evil.example:8443/",
        "https://api.example.com/v1/orders",
        "https://api.example.com:9443/v1/orders",
        "http://api.example.com:8443/v1/orders",
        "//other.example:8443/x",
        "\\\\other.example/x",
        "https://me:secret@api.example.com:8443/x",
        "https://me@api.example.com:8443/x",
        "https://api.example.com:8443@other.example/x",
        "ftp://api.example.com:8443/x",
        "file:///etc/passwd",
        "data:text/plain,x",
        "javascript:alert(1)",
        "about:blank",
        "https://",
        "https://[::1/x",
        "https://api.example.com:99999/",
    ] {
        assert_eq!(same(location), None, "{location}");
    }
    assert_eq!(follow(307, None, FROM, 0), None);
    assert_eq!(follow(307, Some("/x"), "junk", 0), None);
    assert_eq!(follow(307, Some("/x"), "", 0), None);
}

#[test]
fn a_303_is_asked_about_with_get_and_nothing_else_is_followed() {
    let there = "https://api.example.com:8443/x";
    for status in 100..=599 {
        let expected = match status {
            303 => Some(Follow::Get(there.to_owned())),
            307 | 308 => Some(Follow::Same(there.to_owned())),
            _ => None,
        };
        assert_eq!(follow(status, Some("/x"), FROM, 0), expected, "{status}");
    }
    assert_eq!(follow(303, Some("https://login.example/"), FROM, 0), None);
}

#[test]
fn an_attempt_follows_three_times() {
    for status in [303, 307, 308] {
        for (hops, follows) in [
            (0, true),
            (1, true),
            (2, true),
            (3, false),
            (u32::MAX, false),
        ] {
            let followed = follow(status, Some("/x"), FROM, hops).is_some();
            assert_eq!(followed, follows, "{status} after {hops}");
        }
    }
    assert_eq!(MOST_HOPS, 3);
}

proptest! {
    /// Whatever the header says, the request stays where it is at home.
    #[test]
    fn no_location_leads_away(location in "\\PC{0,60}", status in prop::sample::select(vec![303, 307, 308])) {
        if let Some(Follow::Same(to) | Follow::Get(to)) = follow(status, Some(&location), FROM, 0) {
            let home = "https://api.example.com:8443/";
            prop_assert!(to.starts_with(home), "{}", to);
            prop_assert!(!to.contains('#'));
        }
    }

    /// The same for what looks like one.
    #[test]
    fn no_url_leads_away(
        scheme in "(https?|ftp)?:?/{0,3}",
        user in "([a-z]{1,3}(:[a-z])?@)?",
        host in "(api\\.example\\.com|[a-z.]{1,12}|\\[::1\\])",
        port in "(:[0-9]{1,5})?",
        rest in "[/\\\\?#@:a-z]{0,9}",
    ) {
        let location = format!("{scheme}{user}{host}{port}{rest}");
        if let Some(Follow::Same(to) | Follow::Get(to)) = follow(307, Some(&location), FROM, 0) {
            prop_assert!(to.starts_with("https://api.example.com:8443/"), "{} {}", location, to);
        }
    }
}
