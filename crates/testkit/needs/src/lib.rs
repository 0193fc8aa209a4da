//! `#[needs(fixtures)]` above `#[test]`: a test that cannot run here is shown as ignored, with the
//! reason, and never as passed.
//!
//! The attribute reads the environment when the test is compiled. Without the variable it adds
//! `#[ignore = "needs ..."]`; with `BLOCKMILL_REQUIRE=1` it does not, and the test fails. Either
//! way the test first checks its needs, so that `--ignored` cannot make it pass. Cargo compiles the
//! test again when one of the variables changes, because the attribute adds `option_env!` of them
//! next to the test.

#[path = "../../src/need.rs"]
mod need;

use need::{Need, REQUIRE};
use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Declares what a test needs that is not in this repository: `#[needs(fixtures, core_peer)]`,
/// above `#[test]`. `blockmill_testkit::NEEDS` lists the names.
#[proc_macro_attribute]
pub fn needs(names: TokenStream, test: TokenStream) -> TokenStream {
    expand(names, test).unwrap_or_else(|fault| {
        format!("::core::compile_error!({fault:?});").parse().unwrap_or_default()
    })
}

fn expand(names: TokenStream, test: TokenStream) -> Result<TokenStream, String> {
    let needs = named(names)?;
    let mut tokens: Vec<TokenTree> = test.into_iter().collect();
    if !is_test(&tokens) {
        return Err("`#[needs(...)]` stands above `#[test]`".into());
    }
    let set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let required = std::env::var(REQUIRE).ok();
    let is_required = |need: &Need| need.is_required(required.as_deref());
    let missing = needs.iter().find(|need| !set(need.variable) && !is_required(need));

    let mut out = String::new();
    for variable in needs.iter().map(|need| need.variable).chain([REQUIRE]) {
        out +=
            &format!("const _: ::core::option::Option<&str> = ::core::option_env!({variable:?});");
    }
    if let Some(need) = missing {
        out += &format!("#[ignore = {:?}]", need.reason());
    }
    let Some(TokenTree::Group(body)) = tokens.pop() else {
        return Err("`#[needs(...)]` is for functions".into());
    };
    let looks: String =
        needs.iter().map(|need| format!("blockmill_testkit::path_of({:?});", need.name)).collect();
    let mut inner = parsed(&looks)?;
    inner.extend(body.stream());
    tokens.push(TokenTree::Group(Group::new(Delimiter::Brace, inner)));
    let mut out = parsed(&out)?;
    out.extend(tokens);
    Ok(out)
}

fn parsed(code: &str) -> Result<TokenStream, String> {
    code.parse().map_err(|fault| format!("{fault}"))
}

fn named(names: TokenStream) -> Result<Vec<&'static Need>, String> {
    let mut needs = vec![];
    for token in names {
        match token {
            TokenTree::Ident(name) => {
                let name = name.to_string();
                let need = Need::named(&name).ok_or(format!("nothing is called `{name}`"))?;
                needs.push(need);
            }
            TokenTree::Punct(comma) if comma.as_char() == ',' => {}
            other => return Err(format!("`{other}` is not the name of a need")),
        }
    }
    if needs.is_empty() { Err("says nothing that is needed".into()) } else { Ok(needs) }
}

/// Whether `#[test]` is among the attributes.
fn is_test(tokens: &[TokenTree]) -> bool {
    tokens.windows(2).any(|pair| match pair {
        [TokenTree::Punct(hash), TokenTree::Group(attribute)] => {
            hash.as_char() == '#' && attribute.stream().to_string() == "test"
        }
        _ => false,
    })
}
