//! Errors for invalid manifests have Go's messages.

use super::*;

/// neo-go's `json.Unmarshal` into a `manifest.Manifest`.
#[test]
fn values_of_another_kind_are_refused_in_the_words_of_go() {
    let of = "json: cannot unmarshal";
    let field = "into Go struct field";
    for (text, expected) in [
        ("[]", format!("{of} array into Go value of type manifest.Manifest")),
        (r#"{"name":1}"#, format!("{of} number {field} Manifest.name of type string")),
        (r#"{"abi":3}"#, format!("{of} number {field} Manifest.abi of type manifest.ABI")),
        (
            r#"{"abi":{"methods":{}}}"#,
            format!("{of} object {field} ABI.abi.methods of type []manifest.Method"),
        ),
        (
            r#"{"abi":{"events":[{"parameters":[{"name":[]}]}]}}"#,
            format!("{of} array {field} Parameter.abi.events.parameters.name of type string"),
        ),
        (
            r#"{"abi":{"methods":[{"offset":1e400}]}}"#,
            format!("{of} number 1e400 {field} Method.abi.methods.offset of type int"),
        ),
        (r#"{"abi":{"methods":[{"returntype":null}]}}"#, "bad parameter type: ".into()),
        (
            r#"{"groups":[{"signature":[256]}]}"#,
            format!("{of} number 256 {field} Manifest.groups.signature of type uint8"),
        ),
        (
            r#"{"groups":[{"signature":1}]}"#,
            format!("{of} number {field} Manifest.groups.signature of type []uint8"),
        ),
        (r#"{"groups":[{"signature":"A"}]}"#, "illegal base64 data at input byte 0".into()),
        (r#"{"groups":[{"signature":"AAA*"}]}"#, "illegal base64 data at input byte 3".into()),
        (r#"{"groups":[{"signature":"AA=A"}]}"#, "illegal base64 data at input byte 2".into()),
        (r#"{"groups":[{"signature":"AAAA="}]}"#, "illegal base64 data at input byte 4".into()),
        (r#"{"groups":[{"pubkey":"0g"}]}"#, "encoding/hex: invalid byte: U+0067 'g'".into()),
        (r#"{"groups":[{"pubkey":"0"}]}"#, "encoding/hex: odd length hex string".into()),
        (r#"{"groups":[{"pubkey":"05"}]}"#, "invalid prefix 5".into()),
        (r#"{"groups":[{}]}"#, "EOF".into()),
        (r#"{"trusts":[{}]}"#, format!("{of} object {field} Manifest.trusts of type string")),
    ] {
        let found = Manifest::parse(text.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(found.unwrap_err(), expected, "{text}");
    }
    assert_eq!(Manifest::parse(b"\"\xff\""), Err(Error::NotUtf8));
}

#[test]
fn events_have_a_name_and_parameters_alone() {
    let event = r#"{"name":"E","parameters":[],"offset":"x","returntype":5,"safe":1}"#;
    let text = format!(
        r#"{{"name":"a","groups":[],"features":{{}},"trusts":[],"abi":{{"events":[{event}]}}}}"#
    );
    assert_eq!(Manifest::parse(text.as_bytes()).unwrap().events[0].name, "E");
}
