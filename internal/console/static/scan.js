// Sends the form of a scan without leaving the page, so that the chosen file stays in it.
const main = document.getElementById("main");

main.addEventListener("submit", (event) => {
  if (event.target.id !== "scan") return;
  event.preventDefault();
  const status = document.getElementById("scanning");
  if (status.textContent) return; // is waiting
  status.textContent = event.submitter?.value === "check" ? "Checking. This may take up to a minute." : "Reading the file.";
  const request = new XMLHttpRequest();
  request.open("POST", event.target.action);
  request.responseType = "document"; // no script of it runs
  request.onload = () => show(request, event.target);
  request.onerror = () => (status.textContent = "The connection was interrupted. Try again.");
  request.send(new FormData(event.target, event.submitter));
});

// show replaces the page by that of the response, except for the file and the text.
function show({ response, responseURL }, form) {
  if (responseURL !== form.action) {
    location.assign(responseURL); // such as that of the login
    return;
  }
  const sent = ["file", "text"].map((name) => form.elements[name]);
  main.replaceChildren(...response.getElementById("main").childNodes);
  for (const input of sent) document.getElementById(input.id)?.replaceWith(input);
  document.querySelector("[data-again]")?.remove();
  main.querySelector("[autofocus]")?.focus();
}
