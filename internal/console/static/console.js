import "./once.js";
import "./progress.js";

// Copies the text of an element: <button data-copy="id" hidden>. Without this script, the button stays hidden.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
  });
}
