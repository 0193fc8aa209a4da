//! Good inputs of Neo's contracts: code, manifests, scripts that call native contracts.

use blockmill_neo::execute::contract::Nef;

pub fn nefs() -> Vec<Vec<u8>> {
    let plain = Nef::new("neo-core-v3.0", vec![0x11, 0x40]);
    let mut long = Nef::new("another", vec![0x21; 300]);
    long.source = b"https://example.org".to_vec();
    vec![plain.encode(), Nef::new("", vec![0x40]).encode(), with_checksum(&long)]
}

/// The code with the checksum of what it is now.
fn with_checksum(nef: &Nef) -> Vec<u8> {
    let mut bytes = nef.encode();
    let end = bytes.len() - 4;
    let sum = blockmill_hashes::sha256d(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum[..4]);
    bytes
}

pub fn manifests() -> Vec<Vec<u8>> {
    let small = r#"{"name":"a","groups":[],"features":{},"supportedstandards":[],"abi":{"methods":[
        {"name":"main","offset":0,"parameters":[],"returntype":"Integer","safe":true}],"events":[]},
        "permissions":[{"contract":"*","methods":"*"}],"trusts":[],"extra":null}"#;
    let large = r#"{"name":"token","groups":[],"features":{},"supportedstandards":["NEP-17"],"abi":{
        "methods":[{"name":"transfer","offset":7,"parameters":[{"name":"from","type":"Hash160"},
        {"name":"to","type":"Hash160"},{"name":"amount","type":"Integer"},{"name":"data",
        "type":"Any"}],"returntype":"Boolean","safe":false}],"events":[{"name":"Transfer",
        "parameters":[{"name":"from","type":"Hash160"}]}]},"permissions":[{"contract":
        "0x0102030405060708090a0b0c0d0e0f1011121314","methods":["a","b"]}],"trusts":"*",
        "extra":{"Author":"nobody","list":[1,2.5,null,true,"\u00e4"]}}"#;
    vec![small.into(), large.into()]
}

pub fn scripts() -> Vec<Vec<u8>> {
    // 3 + 4; a list that holds itself; a call of GasToken's symbol
    let mut call = vec![0xc2, 0x1f, 0x0c, 6];
    call.extend(b"symbol");
    call.extend([0x0c, 20]);
    call.extend([
        0xcf, 0x76, 0xe2, 0x8b, 0xd0, 0x06, 0x2c, 0x4a, 0x47, 0x8e, 0xe3, 0x55, 0x61, 0x01, 0x13,
        0x19, 0xf3, 0xcf, 0xa4, 0xd2,
    ]);
    call.extend([0x41, 0x62, 0x7d, 0x5b, 0x52]);
    vec![vec![0x13, 0x14, 0x9e, 0x40], vec![0xc2, 0x4a, 0x4a, 0xcf, 0x40], call]
}
