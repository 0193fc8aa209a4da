//! Good inputs of Bitcoin: transactions that the public knows.

use crate::chain_files::naive::{Plain, Tx, TxIn, TxOut};
use crate::input::put_part;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::{Amount, Coin};

/// The first payment of the main network, in block 170, and the script of what it spends.
const FIRST_PAYMENT: &str = "0100000001c997a5e56e104102fa209c6a852dd90660a20b2d9c352423edce25857f\
    cd3704000000004847304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220\
    181522ec8eca07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901ffffffff0200ca9a3b0000000043\
    4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21\
    c1b7303b8a0626f1baded5c72a704f7e6cd84cac00286bee0000000043410411db93e1dcdb8a016b49840f8c53bc1e\
    b68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412\
    a3ac00000000";
const FIRST_SCRIPT: &str = "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2\
    e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac";

/// The example of BIP143: one input of P2PK, one of P2WPKH; and the scripts of what they spend.
const BIP143: &str = "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad96\
    9f00000000494830450221008b9d1dc26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040\
    529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01eeffffffef51e1b804cc89d182d279\
    655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37d\
    f378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167f\
    aa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a022057\
    3a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e\
    7acafcdb3566bb0ad253f62fc70f07aeee635711000000";
const BIP143_SCRIPTS: [&str; 2] = [
    "2103c9f4836b9a4f77fc0d81f7bcb01b7f1b35916864b9476c241ce9fc198bd25432ac",
    "00141d0f172a0ecb48aee1be1f2687d2963ae33f71a1",
];

fn hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// A block of a coinbase and this transaction.
fn block(transaction: &str) -> Vec<u8> {
    let input = TxIn {
        outpoint: [&[0; 32][..], &[255; 4]].concat(),
        script: vec![1, 1],
        sequence: 7,
        witness: vec![vec![0; 32]],
    };
    let outputs = vec![TxOut { value: 50, script: vec![0x51] }];
    let coinbase = Tx { version: 1, inputs: vec![input], outputs, lock_time: 0 };
    let mut raw = Plain { header: vec![0x11; 80], transactions: vec![coinbase] }.encode(true);
    raw[80] = 2;
    raw.extend(hex(transaction));
    raw
}

pub fn blocks() -> Vec<Vec<u8>> {
    vec![block(FIRST_PAYMENT), block(BIP143), Params::mainnet().genesis]
}

/// Flags, coins, a block; see the target.
pub fn spends() -> Vec<Vec<u8>> {
    let spend = |coins: &[(u64, &str)], transaction| {
        let mut out = vec![3, coins.len() as u8];
        for (value, script) in coins {
            out.extend(value.to_le_bytes());
            put_part(&mut out, &hex(script));
        }
        out.extend(block(transaction));
        out
    };
    let [first, second] = BIP143_SCRIPTS;
    vec![
        spend(&[(5_000_000_000, FIRST_SCRIPT)], FIRST_PAYMENT),
        spend(&[(625_000_000, first), (600_000_000, second)], BIP143),
    ]
}

/// Block files with and without a key, with a gap between records and a file in hex.
pub fn files() -> Vec<Vec<u8>> {
    let params = Params::regtest();
    let mut plain = vec![];
    for block in [params.genesis.clone(), block(BIP143), block(FIRST_PAYMENT)] {
        plain.extend(params.magic);
        plain.extend((block.len() as u32).to_le_bytes());
        plain.extend(block);
        plain.extend([0; 30]);
    }
    let key = [1, 2, 3, 4, 5, 6, 7, 8u8];
    let hidden = plain.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
    let hidden = [&[1][..], &key].concat().into_iter().chain(hidden).collect();
    vec![[vec![0], plain].concat(), hidden]
}

/// Headers of blocks after the genesis block.
pub fn headers() -> Vec<u8> {
    [BIP143, FIRST_PAYMENT].map(|hex| block(hex)[..80].to_vec()).concat()
}

pub fn undo() -> Vec<u8> {
    let scripts = BIP143_SCRIPTS.map(hex).into_iter().chain([hex(FIRST_SCRIPT), vec![0x51]]);
    let scripts: Vec<_> = scripts.collect();
    let coins = scripts.iter().zip(1..).map(|(script, height)| Coin {
        height,
        coinbase: height == 2,
        value: Amount::from_sat(50_000 * u64::from(height)),
        script,
    });
    let mut out = vec![];
    blockmill_bitcoin::undo::encode([1, 3].into_iter(), coins, &mut out)
        .expect("a coin for each input");
    out
}
