//! Values stream in for a key of a dimension of a project, and declared calculations over declared intervals stay up to date.
//!
//! Of every interval of a key that something is declared over, the count and the exact sum of its values are kept (`total`), so that
//! a value costs the same however many are stored, may replace an earlier one, and may come in any order. Everything asked for
//! is computed from these totals. The hashes of results that other programs read follow within a second (`refresh`).
//!
//! A write reads what it changes and puts the key's state into a guard; see `state`. What is declared later is built from
//! the values that are there (`building`).

mod alert;
mod building;
mod calculation;
mod catalog;
mod declaration;
mod declaring;
mod draft;
mod error;
mod keys;
mod listing;
mod memory;
mod name;
mod outcome;
mod project;
mod reading;
mod refresh;
mod removal;
mod rule;
mod state;
mod total;
mod values;
mod watch;
mod work;
mod writing;

pub use alert::{ALERTS_MAX, Alert, Delivery, Posting};
pub use building::{BUILD_PAGE, INLINE_VALUES_MAX, Settled};
pub use calculation::Calculation;
pub use catalog::{Calculations, Part, Writing};
pub use declaration::{Declaration, Intervals};
pub use declaring::{Declared, DimensionView, KeyView, Progress};
pub use error::CalculationError;
pub use listing::{Page, ValuePage};
pub use memory::{REMEMBERED_MAX, Recalled};
pub use name::{DimensionPath, KeyPath, PartName};
pub use outcome::{Figures, Outcome};
pub use project::{Gaps, Project};
pub use refresh::{Change, Refreshed, TOUCHED_MAX, Unmarking};
pub use rule::{Field, Operator, RULES_MAX, Rule, Webhook};
pub use values::{Incoming, VALUES_MAX, Values};
pub use work::{LEASE_MS, Work};
