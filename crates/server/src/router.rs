//! All routes, a line each.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{self, admin_only, by_method};
use crate::context::Context;
use crate::layers::{cors, observe, under_pressure};
use crate::openapi;
use crate::problem::{Problem, Word};
use crate::routes::{audience, calculations, docs, health, metrics, series, tokens, updates};

pub(crate) fn router(context: &Context) -> Router {
    let (routes, _) = assembled(context).split_for_parts();
    let routes = routes.fallback(unknown_route).method_not_allowed_fallback(method_not_allowed).layer(from_fn(observe));
    let routes = match cors(&context.settings().cors_origins) {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes.with_state(context.clone())
}

/// The routes with their documentation, before anything is put around them.
pub(crate) fn assembled(context: &Context) -> OpenApiRouter<Context> {
    OpenApiRouter::with_openapi(openapi::frame())
        .merge(public())
        .merge(protected(admin()).route_layer(from_fn_with_state(context.clone(), admin_only)))
        .merge(protected(heartbeats()).route_layer(from_fn_with_state(context.clone(), access::heartbeats)))
        .merge(protected(data()).route_layer(from_fn_with_state(context.clone(), by_method)))
        .layer(from_fn_with_state(context.clone(), under_pressure))
        .merge(always())
}

/// What takes the scope `read` to read and `write` to write. This is where capabilities add their routes.
fn data() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(updates::announce))
        .routes(routes!(updates::live))
        .routes(routes!(series::list))
        .routes(routes!(series::show, series::declare, series::delete))
        .routes(routes!(series::count_one))
        .routes(routes!(series::count))
        .routes(routes!(series::write))
        .routes(routes!(series::write_v2))
        .routes(routes!(series::points))
        .routes(routes!(series::points_of_many))
        .routes(routes!(series::total))
        .routes(routes!(series::live))
        .routes(routes!(calculations::projects))
        .routes(routes!(calculations::show_project, calculations::declare_project, calculations::delete_project))
        .routes(routes!(calculations::add))
        .routes(routes!(calculations::dimensions))
        .routes(routes!(calculations::show_dimension, calculations::declare_dimension, calculations::delete_dimension))
        .routes(routes!(calculations::undeclare_dimension))
        .routes(routes!(calculations::keys))
        .routes(routes!(calculations::show_key, calculations::declare_key, calculations::delete_key))
        .routes(routes!(calculations::show))
        .routes(routes!(calculations::result, calculations::undeclare_key))
        .routes(routes!(calculations::rules))
        .routes(routes!(calculations::show_rule, calculations::declare_rule, calculations::delete_rule))
        .routes(routes!(calculations::alerts))
        .routes(routes!(calculations::alerts_live))
        .routes(routes!(audience::list))
        .routes(routes!(audience::show, audience::declare, audience::delete))
        .routes(routes!(audience::sessions))
        .routes(routes!(audience::active))
        .routes(routes!(audience::attended))
        .routes(routes!(audience::peak))
        .routes(routes!(audience::viewing))
        .routes(routes!(audience::viewer))
        .routes(routes!(audience::statistics_live))
        .routes(routes!(audience::statistics))
        .routes(routes!(audience::overview))
        .routes(routes!(audience::live))
        .routes(routes!(audience::session_active))
        .routes(routes!(audience::session_attended))
        .routes(routes!(audience::session_peak))
        .routes(routes!(audience::session_viewing))
        .routes(routes!(audience::session_viewer))
        .routes(routes!(audience::session_statistics_live))
        .routes(routes!(audience::session_statistics))
        .routes(routes!(audience::session_overview))
        .routes(routes!(audience::session_live))
}

/// What takes the scope `heartbeat`, or `write`.
fn heartbeats() -> OpenApiRouter<Context> {
    OpenApiRouter::new().routes(routes!(audience::count))
}

/// What takes the scope `admin`.
fn admin() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(metrics::metrics))
}

/// What anyone may see.
fn public() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(docs::home))
        .routes(routes!(docs::page))
        .routes(routes!(docs::script))
        .routes(routes!(docs::style))
        .routes(routes!(docs::openapi))
        .routes(routes!(audience::script))
}

/// What is answered however busy the server is.
fn always() -> OpenApiRouter<Context> {
    OpenApiRouter::new().routes(routes!(health::health)).routes(routes!(health::ready))
}

/// Marks routes as taking a token in the OpenAPI document.
fn protected(mut routes: OpenApiRouter<Context>) -> OpenApiRouter<Context> {
    openapi::require_token(routes.get_openapi_mut());
    routes
}

async fn unknown_route(request: Request) -> Problem {
    let detail = format!("There is nothing at {}; /docs shows what there is.", request.uri().path());
    Problem::new(Word::UnknownRoute, detail)
}

async fn method_not_allowed(request: Request) -> Problem {
    let detail = format!("{} has no {}; the Allow header says what it has.", request.uri().path(), request.method());
    Problem::new(Word::MethodNotAllowed, detail)
}
