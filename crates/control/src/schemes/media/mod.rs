//! What the schemes for interactive media have in common: their receiver, which reports arrivals, and the sender's half that
//! hears of them. Each scheme's law is a file or folder of its own beside this one.

mod reports;
mod sender;

pub use reports::{ArrivalReports, ReportPlan};
pub use sender::{MediaLaw, MediaSender};
