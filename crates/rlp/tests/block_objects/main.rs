//! Headers, transactions, bodies and blocks of every fork: encoded objects are decoded again, and a
//! corrupt one is an error at the right offset.

mod corruption;
mod generated;
mod round_trip;
