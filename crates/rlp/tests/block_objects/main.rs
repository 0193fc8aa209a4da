//! Headers, transactions, bodies and blocks of every fork: encoded objects are decoded again, and a
//! corrupt one is an error at the right offset.

mod damage;
mod made;
mod round_trip;
