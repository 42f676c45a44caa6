// Checks and saves a definition without leaving the page, so that the form keeps what was typed, secrets too: stages appear as they end,
// then the report. A refusal is shown at the fields, or above the form.
import { prepare } from "./console.js";
import { readFile } from "./readfile.js";

const stages = "application/x-ndjson";

const main = document.getElementById("main");
const result = document.getElementById("result");
const progress = document.getElementById("progress");
const log = progress.querySelector("[role=log]");
const waiting = [...log.children]; // a line for each stage
const failure = document.getElementById("failure");
const login = failure.querySelector("[data-login]");
let form = document.getElementById("check");
let running = false;
let shown; // uid of the report that the page shows
let name = ""; // under which the definition is to be stored
let reading = Promise.resolve(); // of a chosen file
let cancel = () => {}; // ends the check that runs

// Enter in the name saves. The default button of the form checks.
main.addEventListener("keydown", (event) => {
  if (event.target.name !== "name" || event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit(result.querySelector("[formaction]"));
});

main.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  running = true;
  clear();
  const save = event.submitter?.hasAttribute("formaction");
  try {
    await reading;
    await (save ? store(event.submitter) : check());
  } finally {
    running = false; // else an error of this script would disable the form
  }
});

// The entry of the history has what was typed, without secrets, and the report: both are there again after Back.
main.addEventListener("change", async ({ target }) => {
  if (target.type === "file") {
    reading = readFile(target);
    const problem = await reading;
    if (problem) fail(problem);
  }
  remember();
});

function remember() {
  const body = withoutSecrets(sent());
  if (shown) body.set("report", shown);
  history.replaceState({ check: String(body) }, "");
}

async function restore(body) {
  name = body.get("name") ?? "";
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = body.has(field.name);
    else if (body.has(field.name) && !isSecret(field)) field.value = body.get(field.name);
    if (isSet(field)) field.closest("details")?.setAttribute("open", "");
  }
  const report = (shown = body.get("report"));
  if (!report) return;
  const before = String(sent());
  const request = await send(form.action, body);
  if (shown !== report) return; // a check began
  const next = pageOf(request)?.getElementById("check"); // says which secrets to enter again
  if (!next || !showResult(request)) return refuse(request);
  if (String(sent()) !== before) return; // the form was changed
  form.replaceWith(next);
  form = next;
}

function isSet({ type, checked, selectedIndex, value }) {
  return type === "checkbox" ? checked : type === "select-one" ? selectedIndex > 0 : value;
}

function withoutSecrets(body) {
  for (const field of form.elements) {
    if (isSecret(field) && body.get(field.name)) body.set(field.name, "set");
  }
  return body;
}

async function store(button) {
  const address = button.getAttribute("formaction");
  const request = await send(address, sent(button));
  const { responseURL } = request; // that of the registry, if it was stored
  if (responseURL === "" || responseURL === new URL(address, location).href || isLogin(request)) refuse(request);
  else location.assign(responseURL);
}

progress.querySelector("[data-cancel]").addEventListener("click", () => cancel());

async function check() {
  let canceled = false;
  const body = sent();
  result.replaceChildren();
  shown = undefined;
  log.replaceChildren(...waiting.map((line) => line.cloneNode(true)));
  progress.hidden = false;
  progress.focus();
  let last = {};
  const request = await send(form.action, body, (line) => {
    last = JSON.parse(line);
    if (last.stage) say(last.stage);
  }, (abort) => {
    cancel = () => {
      canceled = true;
      abort();
    };
  });
  cancel = () => {};
  if (canceled) fail("The check was canceled.");
  else if (!isStream(request)) refuse(request);
  else if (last.report) await show(body, last.report);
  else fail(last.failed ?? "The check was interrupted. Try again.");
  progress.hidden = true;
}

function isSecret({ type, dataset }) {
  return type === "password" || "secret" in dataset;
}

// sent returns what is sent: no file, since readFile has read it, and the name also while there is no report with its field.
function sent(button) {
  const body = new URLSearchParams([...new FormData(form, button)].filter(([, value]) => typeof value === "string"));
  name = body.get("name") ?? name;
  body.delete("name"); // its field may come and go, but its place stays the last: restore compares what is sent
  body.set("name", name);
  return body;
}

// send sends a form. The response is a stream, whose lines are passed to onLine, or a page, of which no script runs. onStart gets the function
// that aborts the request.
function send(address, body, onLine, onStart) {
  const request = new XMLHttpRequest();
  request.open("POST", address);
  if (onLine) request.setRequestHeader("Accept", stages);
  let read = 0;
  const readLines = () => {
    if (!isStream(request)) return;
    const text = request.responseText;
    for (let end; (end = text.indexOf("\n", read)) >= 0; read = end + 1) onLine(text.slice(read, end));
  };
  request.onreadystatechange = () => {
    if (request.readyState === XMLHttpRequest.HEADERS_RECEIVED && !isStream(request)) request.responseType = "document";
  };
  request.onprogress = readLines;
  return new Promise((resolve) => {
    request.onloadend = () => { // also if the connection was interrupted: then there is no status
      readLines();
      resolve(request);
    };
    request.send(body);
    onStart?.(() => request.abort());
  });
}

const pageOf = ({ response }) => (response instanceof Document ? response : null); // "" without a response
const isStream = (request) => request.getResponseHeader("Content-Type") === stages;
const isLogin = ({ responseURL }) => responseURL !== "" && new URL(responseURL).pathname === login.querySelector("a").pathname;

function clear() {
  failure.hidden = true;
  for (const part of [form, result]) {
    for (const problem of part.querySelectorAll(".problems, .error")) problem.remove();
    for (const field of part.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }
}

// say shows the end of a stage in its line. Stages that not every check has get a line before those that wait.
function say(text) {
  const lines = [...log.children];
  let line = lines.find(({ dataset }) => text.startsWith(`${dataset.stage}: `));
  if (!line) {
    line = document.createElement("p");
    log.insertBefore(line, lines.find(({ className }) => className) ?? null);
  }
  line.textContent = text;
  line.className = "";
}

// show shows the report. The request has no secrets, only which there are.
async function show(body, report) {
  withoutSecrets(body).set("report", report);
  const request = await send(form.action, body);
  if (!showResult(request)) return refuse(request);
  shown = report;
  remember();
  document.getElementById("outcome").focus();
}

// unfold opens what is open in another state of the form.
function unfold(form, other) {
  const folds = form.querySelectorAll("details");
  other.querySelectorAll("details").forEach(({ open }, i) => (folds[i].open ||= open));
}

function showResult(request) {
  const found = pageOf(request)?.getElementById("result")?.childNodes;
  if (!found?.length) return false;
  result.replaceChildren(...found);
  prepare(result);
  unfold(form, pageOf(request).getElementById("check"));
  return true;
}

// refuse shows why a request was refused: by the form of the response, with the values of the present one, or above the form.
function refuse(request) {
  const page = pageOf(request);
  const next = page?.getElementById("check");
  if (next?.querySelector(".problems")) {
    showResult(request); // with what is wrong with the name
    return replaceForm(next);
  }
  if (isLogin(request)) return fail("Your session has ended.", true);
  if (request.status === 0) return fail("The connection was interrupted. Try again.");
  const messages = page?.querySelectorAll("#main [data-message]") ?? []; // none in a page of a proxy
  const message = Array.from(messages, (part) => part.textContent).join(" ");
  fail(message || `The service responded with the status ${request.status}. Try again later.`);
}

function replaceForm(next) {
  const former = form;
  for (const hint of next.querySelectorAll("[data-again]")) hint.remove();
  unfold(next, former);
  former.replaceWith(next);
  form = next;
  for (const { name, value, checked } of former.elements) {
    const field = form.elements[name];
    if (field && field.type !== "file") Object.assign(field, { value, checked });
  }
  form.querySelector(".problems").focus();
}

// fail shows a message above the form, and with needsLogin a link to the login.
function fail(message, needsLogin = false) {
  login.hidden = !needsLogin;
  progress.hidden = true;
  failure.querySelector("span").textContent = message;
  failure.hidden = false;
  failure.focus();
}

const [navigation] = performance.getEntriesByType("navigation");
if (navigation.type === "back_forward" && history.state?.check) await restore(new URLSearchParams(history.state.check));
