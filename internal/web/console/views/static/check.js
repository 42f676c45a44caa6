// Checks and saves a definition without leaving the page, so that the form keeps what was typed, secrets too: stages appear as they end,
// then the report. A refusal is shown at the fields, or above the form.
import { prepare } from "./console.js";

const stages = "application/x-ndjson";

const main = document.getElementById("main");
const result = document.getElementById("result");
const progress = document.getElementById("progress");
const log = progress.querySelector("[role=log]");
const failure = document.getElementById("failure");
const login = failure.querySelector("[data-login]");
let form = document.getElementById("check");
let running = false;

// Enter in the name saves. The default button of the form checks.
main.addEventListener("keydown", (event) => {
  if (event.target.name !== "name" || event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("[formaction]"));
});

main.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  running = true;
  clear();
  const save = event.submitter?.getAttribute("formaction");
  try {
    await (save ? store(save) : check());
  } finally {
    running = false; // else an error of this script would disable the form
  }
});

async function store(address) {
  const request = await send(address, sent());
  const { responseURL } = request; // that of the registry, if it was stored
  if (responseURL === "" || responseURL === new URL(address, location).href || isLogin(request)) refuse(request);
  else location.assign(responseURL);
}

async function check() {
  result.replaceChildren();
  log.replaceChildren();
  progress.hidden = false;
  progress.focus();
  const body = sent();
  let last = {};
  const request = await send(form.action, body, (line) => {
    last = JSON.parse(line);
    if (last.stage) say(last.stage);
  });
  if (!isStream(request)) refuse(request);
  else if (last.report) await show(body, last.report);
  else fail(last.failed ?? "The check was interrupted. Try again.");
  progress.hidden = true;
}

const sent = () => new URLSearchParams(new FormData(form));

// send sends a form. The response is a stream, whose lines are passed to onLine, or a page, of which no script runs.
function send(address, body, onLine) {
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
  });
}

const pageOf = ({ response }) => (response instanceof Document ? response : null); // "" without a response
const isStream = (request) => request.getResponseHeader("Content-Type") === stages;
const isLogin = ({ responseURL }) => responseURL !== "" && new URL(responseURL).pathname === login.querySelector("a").pathname;

function clear() {
  failure.hidden = true;
  for (const problem of form.querySelectorAll(".problems, .error")) problem.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  log.append(line);
}

// show shows the report. The request has no secrets, only which there are.
async function show(body, report) {
  for (const name of ["password", "token", "key"]) {
    if (body.get(name)) body.set(name, "set");
  }
  body.set("report", report);
  const request = await send(form.action, body);
  const found = pageOf(request)?.getElementById("result")?.childNodes;
  if (!found?.length) return refuse(request);
  result.replaceChildren(...found);
  prepare(result);
  document.getElementById("outcome").focus();
}

// refuse shows why a request was refused: by the form of the response, with the values of the present one, or above the form.
function refuse(request) {
  const page = pageOf(request);
  const next = page?.getElementById("check");
  if (next?.querySelector(".problems")) return replaceForm(next);
  if (isLogin(request)) return fail("Your session has ended.", true);
  if (request.status === 0) return fail("The connection was interrupted. Try again.");
  const messages = page?.querySelectorAll("#main [data-message]") ?? []; // none in a page of a proxy
  const message = Array.from(messages, (part) => part.textContent).join(" ");
  fail(message || `The service responded with the status ${request.status}. Try again later.`);
}

function replaceForm(next) {
  const former = form;
  for (const hint of next.querySelectorAll("[data-again]")) hint.remove();
  former.replaceWith(next);
  form = next;
  for (const { name, value, checked } of former.elements) {
    const field = form.elements[name];
    if (field) Object.assign(field, { value, checked });
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
