//! Declared statistics over values, over HTTP.

mod alerts;
mod declaration;
mod item;
mod listing;
mod path;
mod project;
mod removal;
mod result;
mod rules;
mod values;

use crate::once::{Answer, Part, Plan};
use tickmark_engine::calculations::Writing;

pub(crate) use alerts::{__path_alerts, __path_alerts_live, alerts, alerts_live};
pub(crate) use declaration::{
    __path_declare_dimension, __path_declare_key, __path_show_dimension, __path_show_key, declare_dimension,
    declare_key, show_dimension, show_key,
};
pub(crate) use listing::{__path_dimensions, __path_keys, __path_projects, dimensions, keys, projects};
pub(crate) use project::{__path_declare_project, __path_show_project, declare_project, show_project};
pub(crate) use removal::{
    __path_delete_dimension, __path_delete_key, __path_delete_project, __path_undeclare_dimension,
    __path_undeclare_key, delete_dimension, delete_key, delete_project, undeclare_dimension, undeclare_key,
};
pub(crate) use result::{__path_result, result};
pub(crate) use rules::{
    __path_declare_rule, __path_delete_rule, __path_rules, __path_show_rule, declare_rule, delete_rule, rules,
    show_rule,
};
pub(crate) use values::{__path_add, __path_show, add, show};

fn plan(writing: Writing, answer: Answer) -> Plan {
    let parts = writing.parts.into_iter().map(|part| Part { tag: part.tag, batch: part.batch });
    Plan { parts: parts.collect(), answer }
}
