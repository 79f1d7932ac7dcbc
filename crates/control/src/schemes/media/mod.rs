//! What the schemes for interactive media have in common: their receiver, which reports arrivals. Each scheme is a file or
//! folder of its own beside this one.

mod reports;

pub use reports::{ArrivalReports, ReportPlan};
