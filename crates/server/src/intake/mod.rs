//! Bodies: read within bounds, unpacked within bounds, and turned into items.
//!
//! One path for every route that takes data. A handler asks for a [`Body`] and then for its items, which may borrow from
//! the body, so that a million small events cost no allocation but those of the events themselves.

mod budget;
mod format;
mod items;
mod read;
pub mod text;
mod unpack;
pub mod whole;

pub(crate) use budget::Budget;
pub use format::Format;
pub use items::each;
pub use read::Body;
