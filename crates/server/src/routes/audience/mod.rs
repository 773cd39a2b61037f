//! Audiences over HTTP.

mod events;
mod heartbeats;
mod live;
mod path;
mod reading;
mod script;
mod views;

pub(crate) use events::{
    __path_declare, __path_delete, __path_list, __path_sessions, __path_show, declare, delete, list, sessions, show,
};
pub(crate) use heartbeats::{__path_count, count};
pub(crate) use live::{__path_live, __path_session_live, live, session_live};
pub(crate) use reading::{
    __path_active, __path_attended, __path_overview, __path_peak, __path_session_active, __path_session_attended,
    __path_session_overview, __path_session_peak, __path_session_statistics, __path_session_statistics_live,
    __path_session_viewer, __path_session_viewing, __path_statistics, __path_statistics_live, __path_viewer,
    __path_viewing, active, attended, overview, peak, session_active, session_attended, session_overview, session_peak,
    session_statistics, session_statistics_live, session_viewer, session_viewing, statistics, statistics_live, viewer,
    viewing,
};
pub(crate) use script::{__path_script, script};
