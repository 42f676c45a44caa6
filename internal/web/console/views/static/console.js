import "./once.js";
import "./progress.js";
import "./shortcuts.js";
import "./times.js";

// A message about a change is shown once: not again when the page is reloaded or visited again.
const address = new URL(location);
if (address.searchParams.has("notice")) {
  address.searchParams.delete("notice");
  history.replaceState(history.state, "", address);
}

// prepare enables the buttons that copy the text of an element: <button data-copy="id" hidden>. They stay hidden without
// this script, and without TLS on other hosts than this one, where browsers have no clipboard.
export function prepare(part) {
  if (!navigator.clipboard) return;
  for (const button of part.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    });
  }
}

prepare(document);

// Another user may have logged in from another tab: the service refuses a form that was opened as somebody else.
const { user } = document.body.dataset;
addEventListener("formdata", ({ target, formData }) => {
  if (user && target.getAttribute("method") === "post") formData.set("openedBy", user);
});

for (const button of document.querySelectorAll("button[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// A menu closes by Escape, and by a click outside.
for (const menu of document.querySelectorAll("details.more")) {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => (menu.open &&= menu.contains(event.target)));
}
