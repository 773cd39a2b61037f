// Reads /openapi.json and shows each operation with a form to try it. No dependencies, nothing from elsewhere.
"use strict";

const METHODS = ["get", "put", "post", "delete"];
// Characters of an answer on the page.
const SHOWN_MAX = 20000;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function resolve(api, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? api.components.schemas[name] : schema ?? {};
}

// A value that fits the schema. Of a request only what is required, so that trying it does nothing that was not meant.
function example(api, schema, properties, depth = 0) {
  const { type, items, required, enum: allowed, example: given, oneOf, allOf, ...rest } = resolve(api, schema);
  const part = (inner) => example(api, inner, properties, depth + 1);
  if (given !== undefined) return given;
  if (allowed) return allowed[0];
  if (allOf) return Object.assign({}, ...allOf.map(part));
  if (oneOf) return part(oneOf.at(-1));
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === "object" && depth < 6) {
    const shown = Object.entries(rest.properties ?? {}).filter(([key]) => properties === "all" || required?.includes(key));
    return Object.fromEntries(shown.map(([key, inner]) => [key, part(inner)]));
  }
  if (kind === "array") return [part(items)];
  return { integer: 1, number: 1, boolean: true, string: "text" }[kind] ?? null;
}

// A status, what it means, and what such an answer looks like.
function answerRow(api, status, answer) {
  const [type, content] = Object.entries(answer.content ?? {})[0] ?? [];
  const meaning = element("td", { textContent: answer.description || "As asked for." });
  if (status.startsWith("2") && /json|event-stream/.test(type)) {
    meaning.append(element("pre", { textContent: JSON.stringify(example(api, content.schema, "all"), null, 2) }));
  }
  return element("tr", {}, element("td", {}, element("code", { textContent: status })), meaning);
}

function parameterInputs(operation) {
  return (operation.parameters ?? []).map((parameter) => {
    const input = element("input", { placeholder: parameter.description ?? "", required: parameter.required ?? false, spellcheck: false });
    const where = element("small", { textContent: ` in the ${parameter.in}${parameter.required ? "" : ", may be left out"}` });
    return { parameter, input, label: element("label", {}, element("code", { textContent: parameter.name }), where, input) };
  });
}

// What the form says, as the request it stands for.
function composed(path, method, inputs, body) {
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
  return { url, method: method.toUpperCase(), headers, body: body?.value || undefined };
}

// The same request for a terminal. The token is left for the shell to fill in, so that it does not end up where this is pasted.
function curl({ url, method, headers, body }) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl", "-N", "-X", method];
  for (const [name, value] of Object.entries(headers)) {
    parts.push("-H", name === "Authorization" ? '"Authorization: Bearer $TOKEN"' : quote(`${name}: ${value}`));
  }
  if (body) parts.push("--data-binary", quote(body));
  return [...parts, quote(location.origin + url)].join(" ");
}

function pretty(type, text) {
  if (!/json$/.test(type ?? "")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function attempt({ url, ...request }, output, signal) {
  output.className = "";
  output.textContent = "…";
  try {
    const answer = await fetch(url, { ...request, signal });
    output.className = answer.ok ? "good" : "bad";
    let head = `${answer.status} ${answer.statusText}\n`;
    for (const name of ["content-type", "retry-after", "idempotency-replayed"]) {
      if (answer.headers.has(name)) head += `${name}: ${answer.headers.get(name)}\n`;
    }
    // Shown as it comes, so that live updates are seen live; of an endless answer, its end.
    let text = "";
    output.textContent = head;
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
      text = (text + part.value).slice(-SHOWN_MAX);
      output.textContent = `${head}\n${text}`;
    }
    output.textContent = `${head}\n${pretty(answer.headers.get("content-type"), text)}`;
  } catch (error) {
    if (error.name !== "AbortError") {
      output.className = "bad";
      output.textContent = String(error);
    }
  }
}

function operationView(api, path, method, operation) {
  const inputs = parameterInputs(operation);
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const start = type && example(api, content.schema, "required");
  const body = type && element("textarea", { value: start === null ? "" : JSON.stringify(start, null, 2), spellcheck: false });
  if (body) body.dataset.type = type;
  const output = element("pre", { hidden: true });
  const attemptButton = element("button", { textContent: "Try it" });
  const curlButton = element("button", { type: "button", textContent: "As curl" });
  const stopButton = element("button", { type: "button", textContent: "Stop", hidden: true });
  const answers = Object.entries(operation.responses).map(([status, answer]) => answerRow(api, status, answer));
  const form = element("form", {},
    ...inputs.map(({ label }) => label),
    ...(body ? [element("label", {}, "Body ", element("small", { textContent: type }), body)] : []),
    attemptButton, curlButton, stopButton, output);
  let running = new AbortController();
  // Submitting, not clicking, so that Enter in a field works and what is required is asked for. Nothing is sent by the form.
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    running.abort();
    const mine = (running = new AbortController());
    output.hidden = stopButton.hidden = false;
    await attempt(composed(path, method, inputs, body), output, mine.signal);
    if (mine === running) stopButton.hidden = true;
  });
  stopButton.addEventListener("click", () => {
    running.abort();
    stopButton.hidden = true;
  });
  curlButton.addEventListener("click", () => {
    running.abort();
    output.hidden = false;
    stopButton.hidden = true;
    output.className = "";
    output.textContent = curl(composed(path, method, inputs, body));
  });
  const view = element("details", { className: method, id: `${method}-${path}` },
    element("summary", {}, element("b", { textContent: method.toUpperCase() }), element("code", { textContent: path }), element("span", { textContent: operation.summary ?? "" })),
    element("div", { className: "inside" }, element("p", { textContent: operation.description ?? "" }), form, element("table", {}, ...answers)));
  view.addEventListener("toggle", () => view.open || running.abort());
  return view;
}

async function show() {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("about").replaceChildren(
    `${api.info.description} Version ${api.info.version}. Made from `, element("a", { href: "/openapi.json", textContent: "/openapi.json" }), ".");
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const group = item[method].tags?.[0] ?? "other";
      if (!groups.has(group)) groups.set(group, element("section", {}, element("h2", { textContent: group })));
      groups.get(group).append(operationView(api, path, method, item[method]));
    }
  }
  // What the server says of itself is what most come for last.
  const order = [...groups.keys()].sort((a, b) => (a === "server") - (b === "server") || a.localeCompare(b));
  document.getElementById("operations").append(...order.map((group) => groups.get(group)));
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (linked) linked.open = true;
}

show().catch((error) => {
  document.getElementById("about").textContent = String(error);
});
