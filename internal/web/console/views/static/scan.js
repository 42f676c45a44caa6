// Sends the form of a scan without leaving the page, so that the chosen file stays in it.
const main = document.getElementById("main");
const say = (text) => (document.getElementById("scanning").textContent = text);
let waiting = false;

main.addEventListener("submit", (event) => {
  if (event.target.id !== "scan") return;
  event.preventDefault();
  if (waiting) return;
  waiting = true;
  say(event.submitter?.value === "check" ? "Checking. Many definitions may take minutes." : "Reading the file.");
  const request = new XMLHttpRequest();
  request.open("POST", event.target.action);
  request.responseType = "document"; // no script of it runs
  request.onload = () => show(request, event.target);
  request.onerror = () => say("The connection was interrupted. Try again.");
  request.onloadend = () => (waiting = false);
  request.send(new FormData(event.target, event.submitter));
});

// A file can be dropped anywhere on the page. Otherwise, the browser would leave the page to open a file that misses its field.
const hasFile = (event) => event.dataTransfer.types.includes("Files");
const highlight = (on) => document.getElementById("field-file").classList.toggle("over", on);

addEventListener("dragover", (event) => {
  if (!hasFile(event)) return;
  event.preventDefault();
  highlight(true);
});
addEventListener("dragleave", (event) => event.relatedTarget || highlight(false)); // without a related target, it left the window
addEventListener("drop", (event) => {
  highlight(false);
  if (!hasFile(event)) return;
  event.preventDefault();
  document.getElementById("field-file").files = event.dataTransfer.files;
});

// show replaces the page by that of the response, except for the file and the text. A page of a proxy is not shown.
function show({ response, responseURL, status }, form) {
  if (responseURL !== form.action) {
    location.assign(responseURL); // such as that of the login
    return;
  }
  const next = response?.getElementById("main");
  if (!next) {
    say(`The service responded with the status ${status}. Try again later, or with fewer definitions.`);
    return;
  }
  const sent = ["file", "text"].map((name) => form.elements[name]);
  main.replaceChildren(...next.childNodes);
  for (const input of sent) document.getElementById(input.id)?.replaceWith(input);
  for (const hint of document.querySelectorAll("[data-again]")) hint.remove();
  main.querySelector("[autofocus]")?.focus();
}
