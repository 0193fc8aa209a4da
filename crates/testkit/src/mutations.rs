//! Every small change of a JSON document, for tests that hold each of its fields to a check.

use serde_json::{Map, Value, json};

/// All documents that differ from `value` in one place, each with the path of that place: names
/// joined by dots, `[]` for an element of a list (e.g. `blocks[].hash`).
///
/// Numbers change by one and to 0 and 99,999, strings in three digits and in length, flags flip,
/// null becomes 1. Each element of a list is removed and repeated, each member of an object
/// removed.
///
/// # Panics
/// Panics on a number that is negative, a fraction, or beyond 64 bits.
pub fn mutations(value: &Value) -> Vec<(String, Value)> {
    let mut all = vec![];
    walk(value, &mut |path, changed| all.push((path, changed)), &|changed| changed, "");
    all
}

/// Passes every change of `value` to `each`, as the document that `whole` builds from it.
fn walk(
    value: &Value,
    each: &mut dyn FnMut(String, Value),
    whole: &dyn Fn(Value) -> Value,
    path: &str,
) {
    let mut give = |changed: Value| each(path.to_owned(), whole(changed));
    match value {
        Value::Null => give(json!(1)),
        Value::Bool(value) => give(json!(!value)),
        Value::Number(number) => {
            let number = number.as_u64().expect("a number of 64 bits");
            [number.wrapping_add(1), number.wrapping_sub(1), 0, 99_999]
                .into_iter()
                .filter(|other| *other != number)
                .for_each(|other| give(json!(other)));
        }
        Value::String(text) => changed_texts(text).into_iter().for_each(|text| give(json!(text))),
        Value::Array(list) => walk_list(list, each, whole, path),
        Value::Object(members) => walk_members(members, each, whole, path),
    }
}

/// `text` with another first, middle or last character, and with one more.
fn changed_texts(text: &str) -> Vec<String> {
    let mut all = vec![];
    for at in [0, text.len() / 2, text.len().saturating_sub(1)] {
        let Some(char) = text.get(at..=at) else { continue };
        let other = if char == "7" { "8" } else { "7" };
        all.push(format!("{}{other}{}", &text[..at], &text[at + 1..]));
    }
    all.push(format!("{text}1"));
    all
}

fn walk_list(
    list: &[Value],
    each: &mut dyn FnMut(String, Value),
    whole: &dyn Fn(Value) -> Value,
    path: &str,
) {
    for i in 0..list.len() {
        let mut less = list.to_vec();
        less.remove(i);
        each(path.to_owned(), whole(json!(less)));
        let mut more = list.to_vec();
        more.insert(i, list[i].clone());
        each(path.to_owned(), whole(json!(more)));
    }
    for (i, item) in list.iter().enumerate() {
        let whole = |changed: Value| {
            let mut list = list.to_vec();
            list[i] = changed;
            whole(json!(list))
        };
        walk(item, each, &whole, &format!("{path}[]"));
    }
}

fn walk_members(
    members: &Map<String, Value>,
    each: &mut dyn FnMut(String, Value),
    whole: &dyn Fn(Value) -> Value,
    path: &str,
) {
    let path_of = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    for name in members.keys() {
        let mut less = members.clone();
        less.remove(name);
        each(path_of(name), whole(json!(less)));
    }
    for (name, member) in members {
        let whole = |changed: Value| {
            let mut members = members.clone();
            members.insert(name.clone(), changed);
            whole(json!(members))
        };
        walk(member, each, &whole, &path_of(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_of_a_document_changes_alone() {
        let document = json!({ "a": [5, { "b": "67" }], "c": null, "d": true });
        let all = mutations(&document);
        assert!(all.iter().all(|(_, changed)| *changed != document));
        let count = |path: &str| all.iter().filter(|(found, _)| found == path).count();
        // removed; two elements removed and repeated
        assert_eq!(count("a"), 1 + 4);
        // 6, 4, 0, 99,999; and the object's own members
        assert_eq!(count("a[]"), 4);
        // removed; "77", "68", "68", "671"
        assert_eq!(count("a[].b"), 1 + 4);
        assert_eq!([count("c"), count("d")], [2, 2]);
        assert_eq!(all.len(), 5 + 4 + 5 + 2 + 2);
    }
}
