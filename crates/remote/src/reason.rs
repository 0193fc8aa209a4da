//! Why a request failed, in one line. Servers answer with pages for browsers: of such a page only
//! the first words are shown.

/// What precedes the status of an answer, which `: ` and the body follow.
const BEFORE_STATUS: &str = "Server returned non-2xx status code: ";
/// What precedes the body of an answer with a good status.
const BEFORE_BODY: &str = "Server returned error response: ";
/// Characters that are shown of a body.
const SHOWN: usize = 80;

/// An error with its causes, each once, and with the beginning of the server's answer.
pub fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    in_one_line(&text)
}

/// The text with single spaces between words, and with the first words of the body in it.
fn in_one_line(text: &str) -> String {
    let (before, body) = text.split_at(body_at(text).unwrap_or(text.len()));
    let before = joined(before);
    let body = joined(&without_tags(body));
    let mut shown: String = body.chars().take(SHOWN).collect();
    if shown.len() < body.len() {
        shown.push_str("...");
    }
    match shown.is_empty() {
        true => before.trim_end_matches(':').to_owned(),
        false => format!("{before} {shown}"),
    }
}

/// Where the body of an answer begins in a text; `None` if it has none.
fn body_at(text: &str) -> Option<usize> {
    if let Some(at) = text.find(BEFORE_STATUS) {
        let status = at + BEFORE_STATUS.len();
        return Some(status + text[status..].find(": ")? + 2);
    }
    text.find(BEFORE_BODY).map(|at| at + BEFORE_BODY.len())
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text between the tags of HTML or XML.
fn without_tags(body: &str) -> String {
    let (mut text, mut is_tag) = (String::new(), false);
    for letter in body.chars() {
        match letter {
            '<' => {
                is_tag = true;
                text.push(' ');
            }
            '>' if is_tag => is_tag = false,
            _ if is_tag => {}
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_server_is_cut_to_its_first_words() {
        let page = "<!DOCTYPE HTML>\n<html lang=\"en\">\n  <head>\n    <title>Error</title>\n  \
                    </head>\n  <body>\n    <h1>Error</h1>\n    <p>Code: 501</p>\n";
        let status = "Error performing PROPFIND http://h/ in 9ms  - Server returned non-2xx status \
                      code: 501 Not Implemented: ";
        let short = status.replace("  ", " ");
        let text = in_one_line(&format!("{status}{page}</body></html>\n"));
        assert_eq!(text, format!("{short}Error Error Code: 501"));
        let text = in_one_line(&format!("{status}{page}<p>{}</p>", "word ".repeat(100)));
        let body = text.strip_prefix(&short).unwrap();
        assert!(body.starts_with("Error Error Code: 501 word word"), "{body}");
        assert!(body.ends_with("...") && body.len() == SHOWN + 3, "{body}");
    }

    #[test]
    fn an_error_without_a_page_stays_as_it_is() {
        for text in [
            "error sending request for url (http://h/): connection refused",
            "Server returned non-2xx status code: 503 Service Unavailable",
            "Server returned error response: <Code>Slow: down</Code>",
        ] {
            let expected = text.replace("<Code>", "").replace("</Code>", "");
            assert_eq!(in_one_line(text), expected);
        }
        let empty = "Server returned non-2xx status code: 403 Forbidden: ";
        assert_eq!(in_one_line(empty), empty.trim_end_matches(": "));
    }
}
