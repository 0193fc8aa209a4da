//! Everything that a header has once for each of its fields, from one list of them: the view, the
//! owned header, their conversions, the encoding and the index.

/// Declares [`Header`](super::Header) and [`OwnedHeader`](super::OwnedHeader) from the list of
/// their fields in the order of the encoding: name, kind, and of the later fields the name in
/// tables.
///
/// Kinds: `fixed N` and `boxed N` are N bytes, the latter on the heap where they are owned; `hash`
/// is 32 bytes; `bytes` any number of them; `number` has 64 bits and `wei` 256.
macro_rules! header_fields {
    (
        head { $($(#[$head_doc:meta])* $head:ident: $head_kind:ident $head_size:literal,)+ }
        middle { $($(#[$middle_doc:meta])* $middle:ident: $middle_kind:ident,)+ }
        seal { $($(#[$seal_doc:meta])* $seal:ident: $seal_kind:ident $seal_size:literal,)+ }
        later { $($(#[$later_doc:meta])* $later:ident: $later_kind:ident $name:literal,)+ }
    ) => {
        /// A header: numbers by value, everything else borrowed, from an encoding or from an owned
        /// header.
        ///
        /// Of the later fields, none is present without all those before it.
        ///
        /// ```
        /// use blockmill_rlp::ethereum::Header;
        /// use blockmill_rlp::{Decode, Encode};
        ///
        /// let header = Header { number: 7, timestamp: 1_500_000_000, ..Header::default() };
        /// let bytes = header.encode();
        /// assert_eq!(Header::decode(&bytes), Ok(header));
        /// // the block hash
        /// let hash: [u8; 32] = header.hash();
        /// assert_eq!(hash, blockmill_hashes::keccak256(&bytes));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Header<'a> {
            $($(#[$head_doc])* pub $head: borrowed_type!('a $head_kind $head_size),)+
            $($(#[$middle_doc])* pub $middle: borrowed_type!('a $middle_kind),)+
            $($(#[$seal_doc])* pub $seal: borrowed_type!('a $seal_kind $seal_size),)+
            $($(#[$later_doc])* pub $later: Option<borrowed_type!('a $later_kind)>,)+
        }

        /// A header that owns its fields.
        ///
        /// ```
        /// use blockmill_rlp::Encode;
        /// use blockmill_rlp::ethereum::{HeaderView, OwnedHeader};
        ///
        /// let header = OwnedHeader { number: 7, ..OwnedHeader::default() };
        /// let bytes = header.encode();
        /// let view = HeaderView::decode(&bytes)?;
        /// assert_eq!((view.number, view.to_owned()), (7, header));
        /// # Ok::<(), blockmill_rlp::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct OwnedHeader {
            $($(#[$head_doc])* pub $head: owned_type!($head_kind $head_size),)+
            $($(#[$middle_doc])* pub $middle: owned_type!($middle_kind),)+
            $($(#[$seal_doc])* pub $seal: owned_type!($seal_kind $seal_size),)+
            $($(#[$later_doc])* pub $later: Option<owned_type!($later_kind)>,)+
        }

        impl Default for Header<'_> {
            /// Every number and byte 0, and no field of a later fork.
            fn default() -> Self {
                Self {
                    $($head: zero!($head_kind $head_size),)+
                    $($middle: zero!($middle_kind),)+
                    $($seal: zero!($seal_kind $seal_size),)+
                    $($later: None,)+
                }
            }
        }

        impl OwnedHeader {
            /// Borrows the fields.
            #[must_use]
            pub fn fields(&self) -> Header<'_> {
                Header {
                    $($head: borrow!(self.$head, $head_kind),)+
                    $($middle: borrow!(self.$middle, $middle_kind),)+
                    $($seal: borrow!(self.$seal, $seal_kind),)+
                    $($later: borrow_later!(self.$later, $later_kind),)+
                }
            }

            /// Gives each later field the value that `editor` returns for it, in their order.
            ///
            /// # Errors
            /// The first error of `editor`.
            pub fn edit_later<E: EditLater>(&mut self, editor: &mut E) -> Result<(), E::Error> {
                let mut fields = Header::LATER.iter();
                $(if let Some(field) = fields.next() {
                    self.$later = editor.$later_kind(field, self.$later)?;
                })+
                Ok(())
            }
        }

        impl From<&Header<'_>> for OwnedHeader {
            fn from(fields: &Header<'_>) -> Self {
                Self {
                    $($head: own!(fields.$head, $head_kind),)+
                    $($middle: own!(fields.$middle, $middle_kind),)+
                    $($seal: own!(fields.$seal, $seal_kind),)+
                    $($later: own_later!(fields.$later, $later_kind),)+
                }
            }
        }

        impl<'a> Header<'a> {
            /// The fields that later forks added, in the order of their encoding.
            pub const LATER: &'static [LaterField] = {
                const NAMES: &[&str] = &[$($name),+];
                const FIELDS: [LaterField; NAMES.len()] = {
                    let mut fields = [LaterField { index: 0, name: "" }; NAMES.len()];
                    let mut index = 0;
                    while index < NAMES.len() {
                        fields[index] = LaterField { index, name: NAMES[index] };
                        index += 1;
                    }
                    fields
                };
                &FIELDS
            };

            /// Which of the later fields are present.
            #[inline]
            #[must_use]
            pub fn later_present(&self) -> [bool; Header::LATER.len()] {
                [$(self.$later.is_some()),+]
            }

            /// The values of the later fields.
            #[must_use]
            pub fn later(&self) -> [LaterValue<'a>; Header::LATER.len()] {
                [$(later_value!(self.$later, $later_kind)),+]
            }

            #[inline(always)]
            fn write_before_seal<W: Write>(&self, out: &mut W) {
                $(self.$head.write(out);)+
                $(self.$middle.write(out);)+
            }

            #[inline(always)]
            fn write_seal<W: Write>(&self, out: &mut W) {
                $(self.$seal.write(out);)+
            }

            #[inline(always)]
            fn write_later<W: Write>(&self, out: &mut W) {
                $(self.$later.write(out);)+
            }

            /// Reads the fields after the head.
            #[inline(always)]
            fn read_after(head: Head<'a>, list: &mut Reader<'a>) -> Result<Self, Error> {
                Ok(Self {
                    $($head: head.$head,)+
                    $($middle: Decode::read(list)?,)+
                    $($seal: Decode::read(list)?,)+
                    $($later: Decode::read(list)?,)+
                })
            }
        }

        /// The fields before the difficulty, which have the same size in every header.
        struct Head<'a> {
            $($head: borrowed_type!('a $head_kind $head_size),)+
        }

        impl<'a> Head<'a> {
            /// Reads the fields one by one, to find the error.
            #[cold]
            fn one_by_one(list: &mut Reader<'a>) -> Result<Self, Error> {
                Ok(Self { $($head: Decode::read(list)?,)+ })
            }
        }

        /// The later fields without the bytes of a header: numbers by value. The place of a hash
        /// follows from the sizes of the fields before it.
        #[derive(Clone, Copy, Debug)]
        struct LaterIndex {
            $($later: indexed_type!($later_kind),)+
            /// How many are present; none is without all those before it.
            count: u8,
        }

        impl LaterIndex {
            #[inline]
            fn new(header: &Header<'_>) -> Self {
                let present = header.later_present();
                let count = match present[0] {
                    false => 0,
                    true => present.map(u8::from).iter().sum(),
                };
                Self { $($later: indexed!(header.$later, $later_kind),)+ count }
            }

            /// Sets the later fields of `header`; `bytes` are those of its encoding after the seal.
            #[inline]
            fn give_back<'a>(&self, bytes: &'a [u8], header: &mut Header<'a>) {
                let mut fields = Places { bytes, left: self.count };
                $(
                    if fields.left == 0 {
                        return;
                    }
                    header.$later = Some(fields.$later_kind(self.$later));
                )+
            }
        }
    };
}

macro_rules! borrowed_type {
    ($life:lifetime fixed $size:literal) => { &$life [u8; $size] };
    ($life:lifetime boxed $size:literal) => { &$life [u8; $size] };
    ($life:lifetime hash) => { &$life [u8; 32] };
    ($life:lifetime bytes) => { &$life [u8] };
    ($life:lifetime number) => { u64 };
    ($life:lifetime wei) => { U256 };
}

macro_rules! owned_type {
    (fixed $size:literal) => { [u8; $size] };
    (boxed $size:literal) => { Box<[u8; $size]> };
    (hash) => { [u8; 32] };
    (bytes) => { Vec<u8> };
    (number) => { u64 };
    (wei) => { U256 };
}

macro_rules! indexed_type {
    (hash) => {
        ()
    };
    (number) => {
        u64
    };
    (wei) => {
        U256
    };
}

macro_rules! zero {
    (fixed $size:literal) => {
        &[0; $size]
    };
    (boxed $size:literal) => {
        &[0; $size]
    };
    (bytes) => {
        &[]
    };
    (number) => {
        0
    };
    (wei) => {
        U256::ZERO
    };
}

macro_rules! borrow {
    ($field:expr, number) => {
        $field
    };
    ($field:expr, wei) => {
        $field
    };
    ($field:expr, $bytes:ident) => {
        &$field
    };
}

macro_rules! borrow_later {
    ($field:expr, hash) => {
        $field.as_ref()
    };
    ($field:expr, $number:ident) => {
        $field
    };
}

macro_rules! own {
    ($field:expr, boxed) => {
        Box::new(*$field)
    };
    ($field:expr, bytes) => {
        $field.to_vec()
    };
    ($field:expr, fixed) => {
        *$field
    };
    ($field:expr, $number:ident) => {
        $field
    };
}

macro_rules! own_later {
    ($field:expr, hash) => {
        $field.copied()
    };
    ($field:expr, $number:ident) => {
        $field
    };
}

macro_rules! later_value {
    ($field:expr, hash) => {
        LaterValue::Hash($field)
    };
    ($field:expr, number) => {
        LaterValue::Number($field)
    };
    ($field:expr, wei) => {
        LaterValue::Wei($field)
    };
}

macro_rules! indexed {
    ($field:expr, hash) => {
        ()
    };
    ($field:expr, $number:ident) => {
        $field.unwrap_or_default()
    };
}
