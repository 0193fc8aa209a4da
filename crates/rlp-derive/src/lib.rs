//! `#[derive(Encode, Decode)]`: the derive macros of `blockmill-rlp`, which documents them.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Field, Generics, Ident, Index, Lifetime, LifetimeParam, Member,
    Result, Token, Type, WherePredicate, parse_macro_input, parse_quote,
};

/// Implements `Encode` for a struct, as the list of its fields in their order.
#[proc_macro_derive(Encode, attributes(rlp))]
pub fn encode(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), encode_impl)
}

/// Implements `Decode` for a struct, as the list of its fields in their order.
#[proc_macro_derive(Decode, attributes(rlp))]
pub fn decode(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), decode_impl)
}

fn derive(input: DeriveInput, implement: fn(&Fields, &DeriveInput) -> Tokens) -> TokenStream {
    let tokens = Fields::of(&input).map(|fields| implement(&fields, &input));
    tokens.unwrap_or_else(Error::into_compile_error).into()
}

/// The fields of a struct.
struct Fields {
    members: Vec<Member>,
    types: Vec<Type>,
    /// The encoding is that of the one field, without a list around it.
    transparent: bool,
}

impl Fields {
    fn of(input: &DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            let message = "RLP has no rule for enums and unions: implement Encode and Decode";
            return Err(Error::new(input.ident.span(), message));
        };
        let mut transparent = false;
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("rlp")) {
            let words =
                |words: ParseStream<'_>| Punctuated::<Ident, Token![,]>::parse_terminated(words);
            for word in attribute.parse_args_with(words)? {
                if word != "transparent" {
                    return Err(Error::new(word.span(), "expected `transparent`"));
                }
                transparent = true;
            }
        }
        let fields: Vec<&Field> = data.fields.iter().collect();
        if transparent && fields.len() != 1 {
            let message = "a transparent struct has one field";
            return Err(Error::new(input.ident.span(), message));
        }
        let first_optional = fields.iter().position(|field| is_option(&field.ty));
        if let Some(field) =
            fields.iter().skip(first_optional.unwrap_or(fields.len())).find(|it| !is_option(&it.ty))
        {
            let message =
                "a field after an Option must be an Option: RLP leaves out the last fields only";
            return Err(Error::new(field.ty.span(), message));
        }
        let members = fields.iter().enumerate().map(|(i, field)| match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index::from(i)),
        });
        Ok(Self {
            members: members.collect(),
            types: fields.iter().map(|field| field.ty.clone()).collect(),
            transparent,
        })
    }
}

/// True for `Option<...>` under any path.
fn is_option(kind: &Type) -> bool {
    match kind {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    }
}

/// `generics` with a bound for each field whose type names a parameter.
fn bounded(generics: &Generics, fields: &Fields, bound: &Tokens) -> Generics {
    let mut generics = generics.clone();
    if generics.type_params().next().is_some() {
        let clause = generics.make_where_clause();
        for kind in &fields.types {
            clause.predicates.push(parse_quote!(#kind: #bound));
        }
    }
    generics
}

fn encode_impl(fields: &Fields, input: &DeriveInput) -> Tokens {
    let Fields { members, types, transparent } = fields;
    let name = &input.ident;
    let generics = bounded(&input.generics, fields, &quote!(::blockmill_rlp::Encode));
    let (parameters, arguments, clause) = generics.split_for_impl();
    let (lists, write) = if *transparent {
        let (member, kind) = (&members[0], &types[0]);
        (
            quote!(<#kind as ::blockmill_rlp::Encode>::LISTS),
            quote!(::blockmill_rlp::Encode::write(&self.#member, out);),
        )
    } else {
        (
            quote!(1usize #(.saturating_add(<#types as ::blockmill_rlp::Encode>::LISTS))*),
            quote!(out.list(|out| { #(::blockmill_rlp::Encode::write(&self.#members, out);)* });),
        )
    };
    quote! {
        #[automatically_derived]
        impl #parameters ::blockmill_rlp::Encode for #name #arguments #clause {
            const LISTS: usize = #lists;

            #[inline(always)]
            fn write<RlpWriter: ::blockmill_rlp::Write>(&self, out: &mut RlpWriter) {
                #write
            }
        }
    }
}

fn decode_impl(fields: &Fields, input: &DeriveInput) -> Tokens {
    let Fields { members, types, transparent } = fields;
    let name = &input.ident;
    // a struct that borrows does so from the encoding
    let from = match input.generics.lifetimes().next() {
        Some(lifetime) => lifetime.lifetime.clone(),
        None => Lifetime::new("'rlp", name.span()),
    };
    let mut generics = bounded(&input.generics, fields, &quote!(::blockmill_rlp::Decode<#from>));
    if input.generics.lifetimes().next().is_none() {
        generics.params.insert(0, LifetimeParam::new(from.clone()).into());
    }
    for other in input.generics.lifetimes().skip(1) {
        let other = &other.lifetime;
        let same: WherePredicate = parse_quote!(#from: #other);
        generics.make_where_clause().predicates.push(same);
    }
    let (parameters, _, clause) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    let locals: Vec<_> = (0..members.len()).map(|i| format_ident!("field_{i}")).collect();
    let read = if *transparent {
        let (local, kind) = (&locals[0], &types[0]);
        quote!(let #local = <#kind as ::blockmill_rlp::Decode<#from>>::read(reader)?;)
    } else {
        quote! {
            let mut list = reader.list()?;
            #(let #locals = <#types as ::blockmill_rlp::Decode<#from>>::read(&mut list)?;)*
            list.finish()?;
        }
    };
    quote! {
        #[automatically_derived]
        impl #parameters ::blockmill_rlp::Decode<#from> for #name #arguments #clause {
            #[inline]
            fn read(
                reader: &mut ::blockmill_rlp::Reader<#from>,
            ) -> ::core::result::Result<Self, ::blockmill_rlp::Error> {
                #read
                ::core::result::Result::Ok(Self { #(#members: #locals),* })
            }
        }
    }
}
