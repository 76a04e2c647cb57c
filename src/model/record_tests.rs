use super::id::SubmissionId;
use super::record::{Record, checksum};

fn fresh() -> SubmissionId {
    SubmissionId::parse("0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55").unwrap()
}

fn read(text: &str) -> Result<Record, &'static str> {
    Record::read(text, "id", false, fresh)
}

#[test]
fn a_record_keeps_its_own_text() {
    for (text, id) in [
        (r#"{"id":"a","n":1.50e3}"#, "a"),
        (r#"{ "n" : 1 ,"id" : 7 }"#, "7"),
        (r#"{"id":-1.0e5}"#, "-1.0e5"),
        (r#"{"\u0069d":"é\n\u00e9"}"#, "é\né"),
        (r#"{"id":"","a":{"id":null}}"#, ""),
        ("{\"id\":\"a\",\n\t\"b\":\"\\n\"}", "a"),
    ] {
        let record = read(text).unwrap();
        assert_eq!((record.body.as_str(), record.id.as_str()), (text, id));
    }
    assert_eq!(read(" {\"id\":1}\n").unwrap().body, r#"{"id":1}"#);
}

#[test]
fn one_that_has_no_id_is_given_one_as_its_first_member() {
    let id = fresh().to_string();
    for (text, with_id) in [
        ("{}", format!(r#"{{"id":"{id}"}}"#)),
        (r#"{ "a":1}"#, format!(r#"{{"id":"{id}", "a":1}}"#)),
        (
            r#"{"a":{"id":2}}"#,
            format!(r#"{{"id":"{id}","a":{{"id":2}}}}"#),
        ),
    ] {
        let record = read(text).unwrap();
        assert_eq!((record.body, record.id), (with_id, id.clone()));
    }
    let odd = Record::read("{}", r#"a/b~"c"#, false, fresh).unwrap();
    assert_eq!(odd.body, format!(r#"{{"a/b~\"c":"{id}"}}"#));
}

#[test]
fn what_is_no_object_or_has_no_usable_id_is_refused() {
    for text in [
        "",
        "[]",
        "[{}]",
        "1",
        "null",
        "\"{}\"",
        "{",
        "{}{}",
        "{\"a\":\"\n\"}",
        "{\"a\":}",
        r#"{"id":null}"#,
        r#"{"id":true}"#,
        r#"{"id":[1]}"#,
        r#"{"id":{}}"#,
        r#"{"id":1,"id":1}"#,
        r#"{"id":1,"\u0069d":2}"#,
        r#"{"id":"\ud800"}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn a_record_of_a_line_has_no_line_breaks() {
    let text = "{\r\n  \"id\": \"a\",\n  \"b\": \"x\\ny\\r\"\n}";
    let record = Record::read(text, "id", true, fresh).unwrap();
    assert_eq!(record.body, r#"{  "id": "a",  "b": "x\ny\r"}"#);
}

#[test]
fn a_checksum_is_half_of_the_digest() {
    let half = checksum(b"abc");
    assert_eq!(half[..4], [0xba, 0x78, 0x16, 0xbf]);
    assert_eq!(half[12..], [0x5d, 0xae, 0x22, 0x23]);
}
