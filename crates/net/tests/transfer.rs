//! Transfers over real sockets, in good and in bad hands: a file arrives whole under its name, or both ends say within a
//! stated time why not, and what has arrived is taken up again. One file per idea; this one only names them.

#[path = "../common/accepting.rs"]
mod accepting;
mod changed;
#[path = "../common/ends.rs"]
mod ends;
#[path = "../common/folder.rs"]
mod folder;
mod given_up;
mod intruders;
mod kept;
mod lengths;
mod liars;
mod outages;
mod refused;
#[path = "../common/relay.rs"]
mod relay;
mod replays;
mod resumed;
mod rivals;
mod versions;
mod waiting;
mod whole;
