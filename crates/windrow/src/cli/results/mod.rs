pub mod compare;
pub mod export;
pub mod gates;
pub mod report;
pub mod report_target;
pub mod table;
