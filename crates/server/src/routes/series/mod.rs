//! Counts and uniques over time, over HTTP.

mod counting;
mod declaration;
mod events;
mod item;
mod live;
mod path;
mod points;
mod spelling;
mod times;
mod total;
mod write;

pub(crate) use counting::commit;
pub(crate) use declaration::{__path_declare, __path_delete, __path_list, __path_show, declare, delete, list, show};
pub(crate) use events::{__path_count, __path_count_one, count, count_one};
pub(crate) use live::{__path_live, live};
pub(crate) use points::{__path_points, __path_points_of_many, points, points_of_many};
pub(crate) use times::{TimeText, When, now, parameter};
pub(crate) use total::{__path_total, total};
pub(crate) use write::{__path_write, __path_write_v2, write, write_v2};
