//! An encoded list whose items were checked once and are read again later.

use blockmill_rlp::{Decode, Error, Item, Reader};

/// An encoded list and the number of its items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'a> {
    /// Prefix and payload.
    pub raw: &'a [u8],
    /// How many items.
    pub count: usize,
    item: Item<'a>,
}

impl<'a> List<'a> {
    /// Reads the next item of `outer`, a list, and calls `read` for each of its items.
    pub fn read<E: From<Error>>(
        outer: &mut Reader<'a>,
        mut read: impl FnMut(&mut Reader<'a>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut items = outer.clone().list()?;
        let item = outer.item()?;
        let mut count = 0;
        while !items.is_empty() {
            read(&mut items)?;
            count += 1;
        }
        Ok(Self { raw: item.raw, count, item })
    }

    /// The items.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item<'a>> + use<'a> {
        Items { reader: self.item.reader(), left: self.count }
    }

    /// The items as values, which `read` was called for.
    pub fn values<T: Decode<'a>>(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let mut items = self.item.reader();
        (0..self.count).map_while(move |_| T::read(&mut items).ok())
    }

    /// What the list's trie holds: lists as they are, and what is in a byte string (EIP-2718).
    pub fn encodings(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.items().map(|item| if item.is_list { item.raw } else { item.payload })
    }
}

struct Items<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.reader.item().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Items<'_> {}
