//! The OpenAPI document: made from the handlers, completed with what all of them have in common.
//!
//! A handler's annotation says what is particular to it. That a request may be refused for its token, its body or the
//! state of the server is added here, from what the operation is: so it is said everywhere, and nowhere twice.

use std::sync::Arc;

use tickmark_store::Store;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use crate::context::Context;
use crate::problem::ProblemBody;
use crate::router;
use crate::settings::Settings;

const TOKEN: &str = "token";

/// The complete document.
pub fn document(store: Arc<dyn Store>) -> OpenApi {
    complete(router::assembled(&Context::new(Settings::default(), store)).into_openapi())
}

/// What the document has before any route.
pub(crate) fn frame() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Tickmark")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Live statistics over time."))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()))
        .build();
    let mut components = Components::new();
    components.schemas.insert(ProblemBody::name().into(), ProblemBody::schema());
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "A token (`tm_…`), or a JWT where the server is told whose. On loopback without tokens, none.",
        ))
        .build();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(bearer));
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// Says of every operation that it takes a token.
pub(crate) fn require_token(document: &mut OpenApi) {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let none: [&str; 0] = [];
        operation.1.security = Some(vec![SecurityRequirement::new(TOKEN, none)]);
    }
}

pub(crate) fn complete(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        let has_parameters = path.contains('{');
        for (method, operation) in operations(item) {
            complete_operation(operation, method, has_parameters);
        }
    }
    document
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Reads,
    Writes,
}

fn complete_operation(operation: &mut Operation, method: Method, has_parameters: bool) {
    let mut refusals: Vec<(&str, &str)> = Vec::new();
    if operation.security.is_some() {
        refusals.extend([
            ("401", "There is no token, or not a valid one."),
            ("403", "The token does not allow this."),
            ("429", "The token's limits are used up. `Retry-After` says when they are not."),
            ("503", "The server or its store cannot answer now. `Retry-After` says when to try again."),
        ]);
    }
    if has_parameters || operation.parameters.as_ref().is_some_and(|parameters| !parameters.is_empty()) {
        refusals.push(("400", "A parameter or header is malformed."));
        refusals.push(("422", "A parameter breaks a rule."));
    }
    if operation.request_body.is_some() {
        refusals.extend([
            ("400", "The body, a parameter or a header is malformed."),
            ("408", "The body took too long to arrive."),
            ("413", "The body is too large."),
            ("415", "The body has a type or an encoding that is not read here."),
            ("422", "The body or a parameter breaks a rule."),
        ]);
    }
    if method == Method::Writes {
        refusals.push(("400", "A parameter or header is malformed."));
        refusals.push(("409", "The `Idempotency-Key` came with another body before."));
        operation.parameters.get_or_insert_default().push(idempotency_key().into());
        mark_replays(operation);
    }
    for (status, description) in refusals {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| problem(status, description));
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem { get, put, post, delete, .. } = item;
    let reads = get.as_mut().map(|operation| (Method::Reads, operation));
    let writes =
        [put, post, delete].into_iter().filter_map(Option::as_mut).map(|operation| (Method::Writes, operation));
    reads.into_iter().chain(writes)
}

fn problem(status: &str, description: &str) -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemBody::name()))).build();
    let mut response = ResponseBuilder::new().description(description).content("application/problem+json", content);
    if matches!(status, "429" | "503") {
        let seconds = HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(Type::Integer)));
        response = response.header("Retry-After", seconds.description(Some("Seconds to wait.")).build());
    }
    response.build().into()
}

fn idempotency_key() -> utoipa::openapi::path::Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .min_length(Some(1))
        .max_length(Some(200))
        .pattern(Some("^[!-~]+$"));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .description(Some("The same key within 24 hours is answered as the first time, and nothing is written again."))
        .schema(Some(Schema::from(schema)))
        .build()
}

fn mark_replays(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let (true, RefOr::T(response)) = (status.starts_with('2'), response) {
            let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["true"]));
            let header = HeaderBuilder::new().schema(Some(schema)).description(Some("There where this is a replay."));
            response.headers.insert("Idempotency-Replayed".into(), header.build().into());
        }
    }
}
