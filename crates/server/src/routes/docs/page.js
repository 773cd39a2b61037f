// Reads /openapi.json and shows each operation with a form to try it. No dependencies, nothing from elsewhere.
"use strict";

const METHODS = ["get", "put", "post", "delete"];

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function resolve(api, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? api.components.schemas[name] : schema ?? {};
}

// A value that fits the schema, as a start for whoever tries it.
function example(api, schema, depth = 0) {
  const { type, properties, items, enum: allowed, example: given, oneOf, allOf } = resolve(api, schema);
  if (given !== undefined) return given;
  if (allowed) return allowed[0];
  if (allOf) return Object.assign({}, ...allOf.map((part) => example(api, part, depth)));
  if (oneOf) return example(api, oneOf.at(-1), depth);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === "object" && depth < 4) {
    return Object.fromEntries(Object.entries(properties ?? {}).map(([key, value]) => [key, example(api, value, depth + 1)]));
  }
  if (kind === "array") return [example(api, items, depth + 1)];
  return { integer: 1, number: 1, boolean: true, string: "text" }[kind] ?? null;
}

function parameterInputs(operation) {
  return (operation.parameters ?? []).map((parameter) => {
    const input = element("input", { placeholder: parameter.description ?? "" });
    const label = element("label", {}, `${parameter.name} (${parameter.in}${parameter.required ? ", required" : ""})`, input);
    return { parameter, input, label };
  });
}

async function attempt(path, method, inputs, body, output) {
  let url = path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of inputs) {
    if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value && parameter.in === "query") query.append(parameter.name, input.value);
    else if (input.value && parameter.in === "header") headers[parameter.name] = input.value;
  }
  const token = document.getElementById("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body?.value) headers["Content-Type"] = body.dataset.type;
  if (query.size) url += `?${query}`;
  output.textContent = "…";
  try {
    const answer = await fetch(url, { method: method.toUpperCase(), headers, body: body?.value || undefined });
    output.textContent = `${answer.status} ${answer.statusText}\n`;
    for (const name of ["content-type", "retry-after", "idempotency-replayed"]) {
      if (answer.headers.has(name)) output.textContent += `${name}: ${answer.headers.get(name)}\n`;
    }
    output.textContent += "\n";
    // Read as it comes, so that live updates are seen live.
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
      output.textContent = (output.textContent + part.value).slice(0, 20000);
    }
  } catch (error) {
    output.textContent = String(error);
  }
}

function operationView(api, path, method, operation) {
  const inputs = parameterInputs(operation);
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const body = type && element("textarea", { value: JSON.stringify(example(api, content.schema), null, 2) });
  if (body) body.dataset.type = type;
  const output = element("pre", { hidden: true });
  const button = element("button", { textContent: "Try it" });
  button.addEventListener("click", () => {
    output.hidden = false;
    attempt(path, method, inputs, body, output);
  });
  const answers = Object.entries(operation.responses).map(([status, answer]) =>
    element("tr", {}, element("td", {}, element("code", { textContent: status })), element("td", { textContent: answer.description || "" })));
  return element("details", {},
    element("summary", {}, element("b", { textContent: method.toUpperCase() }), element("code", { textContent: path }), ` ${operation.summary ?? ""}`),
    element("p", { textContent: operation.description ?? "" }),
    ...inputs.map(({ label }) => label),
    ...(body ? [element("label", {}, `Body (${type})`, body)] : []),
    button, output,
    element("table", {}, ...answers));
}

async function show() {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("about").textContent = `${api.info.description} Version ${api.info.version}.`;
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const group = item[method].tags?.[0] ?? "other";
      if (!groups.has(group)) groups.set(group, element("section", {}, element("h2", { textContent: group })));
      groups.get(group).append(operationView(api, path, method, item[method]));
    }
  }
  document.getElementById("operations").append(...groups.values());
}

show().catch((error) => {
  document.getElementById("about").textContent = String(error);
});
