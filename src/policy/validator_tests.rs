//! Which entity-tags and dates are sent back.

use super::validator::validator;
use crate::model::submission::Header;

fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

#[test]
fn an_entity_tag_is_sent_back_as_it_came() {
    for tag in [
        r#""abc""#,
        r#"W/"abc""#,
        r#""""#,
        r#"W/"""#,
        r#""a,b""#,
        r#""a\b""#,
        r#""!#~""#,
    ] {
        let headers = [header("etag", tag), header("last-modified", DATE)];
        assert_eq!(
            validator(&headers),
            Some(header("if-none-match", tag)),
            "{tag}"
        );
    }
}

#[test]
fn what_is_no_entity_tag_is_not_sent_back() {
    for tag in [
        "",
        "abc",
        r#"""#,
        r#"w/"abc""#,
        r#"W/ "abc""#,
        "W/abc",
        r#""a"b""#,
        r#""a b""#,
        "\"a\tb\"",
        "\"a\u{7f}\"",
        "\"\u{e4}\"",
        r#""a" "#,
        r#""a", "b""#,
        "*",
    ] {
        assert_eq!(validator(&[header("etag", tag)]), None, "{tag:?}");
        let headers = [header("etag", tag), header("Last-Modified", DATE)];
        let by_date = Some(header("if-modified-since", DATE));
        assert_eq!(validator(&headers), by_date, "{tag:?}");
    }
}

#[test]
fn what_is_there_twice_or_is_no_date_is_not_sent_back() {
    let twice = [header("etag", r#""a""#), header("ETag", r#""b""#)];
    assert_eq!(validator(&twice), None);
    assert_eq!(validator(&[header("last-modified", "yesterday")]), None);
    assert_eq!(validator(&[]), None);
}
