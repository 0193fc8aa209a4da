//! What is verified: keys and signatures as bytes.

/// A serialised public key (SEC 1, section 2.3.3).
///
/// ```
/// use blockmill_signatures::Key;
/// use secp256k1::{PublicKey, SecretKey};
///
/// let key = PublicKey::from_secret_key(&SecretKey::from_secret_bytes([7; 32])?);
/// assert_ne!(Key::Compressed(key.serialize()), Key::Uncompressed(key.serialize_uncompressed()));
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// 0x02 (even y) or 0x03 (odd y), then x.
    Compressed([u8; 33]),
    /// 0x04, then x and y; or hybrid: 0x06 (even y) or 0x07 (odd y), then x and y.
    Uncompressed([u8; 65]),
}

/// A check that the key signed the digest (ECDSA). All numbers are big-endian.
///
/// ```
/// use blockmill_hashes::sha256;
/// use blockmill_signatures::{EcdsaCheck, Key, Signatures};
/// use secp256k1::{Message, PublicKey, SecretKey, ecdsa};
///
/// let secret = SecretKey::from_secret_bytes([7; 32])?;
/// let digest = sha256(b"pay 5 to Bob");
/// let numbers = ecdsa::sign(Message::from_digest(digest), &secret).serialize_compact();
/// let (mut r, mut s) = ([0; 32], [0; 32]);
/// r.copy_from_slice(&numbers[..32]);
/// s.copy_from_slice(&numbers[32..]);
/// let key = Key::Compressed(PublicKey::from_secret_key(&secret).serialize());
/// let check = EcdsaCheck { digest, r, s, key };
///
/// let mut valid = [false; 2];
/// let wrong = EcdsaCheck { digest: sha256(b"pay 6 to Bob"), ..check };
/// Signatures::detect().ecdsa(&[check, wrong], &mut valid);
/// assert_eq!(valid, [true, false]);
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcdsaCheck {
    /// The signed hash, taken modulo the group's order.
    pub digest: [u8; 32],
    /// The signature's first number.
    pub r: [u8; 32],
    /// The signature's second number; `n - s` is equally valid.
    pub s: [u8; 32],
    /// The signer.
    pub key: Key,
}

/// A check that the key signed the message of 32 bytes (BIP340).
///
/// ```
/// use blockmill_signatures::{SchnorrCheck, Signatures};
/// use secp256k1::{Keypair, SecretKey, schnorr};
///
/// let pair = Keypair::from_secret_key(&SecretKey::from_secret_bytes([7; 32])?);
/// let message = [5; 32];
/// let check = SchnorrCheck {
///     message,
///     signature: schnorr::sign_no_aux_rand(&message, &pair).to_byte_array(),
///     key: pair.x_only_public_key().0.serialize(),
/// };
///
/// let mut valid = [false; 2];
/// let wrong = SchnorrCheck { message: [6; 32], ..check };
/// Signatures::detect().schnorr(&[check, wrong], &mut valid);
/// assert_eq!(valid, [true, false]);
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchnorrCheck {
    /// The signed message; in Bitcoin a signature hash.
    pub message: [u8; 32],
    /// x of the signature's point, then s.
    pub signature: [u8; 64],
    /// x of the key; its y is even.
    pub key: [u8; 32],
}

/// A check that a key is another one plus a multiple of the generator (BIP341): `tweaked = key +
/// tweak * G`. All numbers are big-endian.
///
/// ```
/// use blockmill_signatures::{Signatures, TweakCheck};
/// use secp256k1::{PublicKey, SecretKey};
///
/// // the multiple of the generator by a small number: parity of y, and x
/// let multiple = |number| {
///     let mut bytes = [0; 32];
///     bytes[31] = number;
///     let secret = SecretKey::from_secret_bytes(bytes).unwrap();
///     let [form, x @ ..] = PublicKey::from_secret_key(&secret).serialize();
///     (form == 3, x)
/// };
/// let ((_, key), (odd, tweaked)) = (multiple(1), multiple(3));
/// let mut tweak = [0; 32];
/// tweak[31] = 2;
///
/// let mut valid = [false; 2];
/// let check = TweakCheck { key, tweak, tweaked, odd };
/// Signatures::detect().tweaks(&[check, TweakCheck { odd: !odd, ..check }], &mut valid);
/// assert_eq!(valid, [true, false]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TweakCheck {
    /// x of the key; its y is even.
    pub key: [u8; 32],
    /// The multiplier, below the group's order.
    pub tweak: [u8; 32],
    /// x of the sum.
    pub tweaked: [u8; 32],
    /// Whether y of the sum is odd.
    pub odd: bool,
}

/// An ECDSA signature from which the key is recovered (SEC 1, section 4.1.6). All numbers are
/// big-endian.
///
/// ```
/// use blockmill_signatures::{Recovery, Signatures};
/// use blockmill_hashes::sha256;
/// use secp256k1::ecdsa::RecoverableSignature;
/// use secp256k1::{Message, PublicKey, SecretKey};
///
/// let secret = SecretKey::from_secret_bytes([7; 32])?;
/// let digest = sha256(b"pay 5 to Bob");
/// let message = Message::from_digest(digest);
/// let signature = RecoverableSignature::sign_ecdsa_recoverable(message, &secret);
/// let (id, numbers) = signature.serialize_compact();
/// let (mut r, mut s) = ([0; 32], [0; 32]);
/// r.copy_from_slice(&numbers[..32]);
/// s.copy_from_slice(&numbers[32..]);
/// let [_, signer @ ..] = PublicKey::from_secret_key(&secret).serialize_uncompressed();
///
/// let recovery = Recovery { digest, r, s, recovery_id: id.into() };
/// let mut keys = [None];
/// Signatures::detect().recover(&[recovery], &mut keys);
/// assert_eq!(keys, [Some(signer)]);
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The signed hash.
    pub digest: [u8; 32],
    /// The signature's first number.
    pub r: [u8; 32],
    /// The signature's second number, of any size.
    pub s: [u8; 32],
    /// Bit 0: y of the signature's point is odd. Bit 1: its x is `r + n`. Above 3: no key.
    pub recovery_id: u8,
}
