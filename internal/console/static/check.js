// Checks a definition without leaving the page, so that the form keeps its secrets: stages appear as they end, then the report.
import { prepare } from "./console.js";

const form = document.getElementById("check");
const result = document.getElementById("result");
const progress = document.getElementById("progress");
const log = progress.querySelector("[role=log]");

// Enter in the name saves. The default button of the form checks.
form.elements.name?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("[formaction]"));
});

let running = false;

form.addEventListener("submit", async (event) => {
  if (event.submitter?.hasAttribute("formaction")) return; // saves
  event.preventDefault();
  if (running) return;
  running = true;
  begin();
  try {
    await check(new URLSearchParams(new FormData(form)));
  } catch {
    say("The connection was interrupted. Try again.");
  }
  running = false;
});

async function check(sent) {
  const response = await fetch(form.action, { method: "POST", body: sent, headers: { Accept: "application/x-ndjson" } });
  if (response.headers.get("Content-Type") !== "application/x-ndjson") {
    form.submit(); // was refused: the page of the response says why
    return;
  }
  let last = {};
  for await (const line of lines(response.body)) {
    last = JSON.parse(line);
    if (last.stage) say(last.stage);
  }
  if (last.report) show(await page(sent, last.report));
  else say(last.failed ?? "The check was interrupted. Try again.");
}

function begin() {
  result.replaceChildren();
  log.replaceChildren();
  for (const problem of form.querySelectorAll(".problems, .error")) problem.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  progress.hidden = false;
  progress.focus();
}

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  log.append(line);
}

async function* lines(stream) {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    yield* parts;
  }
}

// page returns the page of the report. The request has no secrets, only which there are.
function page(sent, report) {
  for (const name of ["password", "token", "key"]) {
    if (sent.get(name)) sent.set(name, "set");
  }
  sent.set("report", report);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.responseType = "document"; // no script of it runs
    request.onload = () => resolve(request.response);
    request.onerror = reject;
    request.send(sent);
  });
}

function show(page) {
  result.replaceChildren(...page.getElementById("result").childNodes);
  prepare(result);
  progress.hidden = true;
  document.getElementById("outcome").focus();
}
