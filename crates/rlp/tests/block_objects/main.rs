//! Headers, transactions, bodies and blocks of every fork: what is written is read again, and what
//! is damaged is an error at the right place.

mod damage;
mod made;
mod round_trip;
