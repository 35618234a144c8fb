pub mod compare;
pub mod gates;
pub mod report;
pub mod report_target;
