//! Transfers over real sockets, in good and in bad hands: a file arrives whole under its name, or both ends say within a
//! stated time why not, and what has arrived is taken up again. One file per idea; this one only names them.

mod changed;
mod given_up;
mod intruders;
mod kept;
mod lengths;
mod liars;
mod outages;
mod refused;
mod replays;
mod resumed;
mod rivals;
mod versions;
mod waiting;
mod whole;
