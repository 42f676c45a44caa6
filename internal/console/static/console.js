import "./once.js";
import "./progress.js";

// prepare enables the buttons that copy the text of an element: <button data-copy="id" hidden>. Without this script, they
// stay hidden.
export function prepare(part) {
  for (const button of part.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    });
  }
}

prepare(document);
