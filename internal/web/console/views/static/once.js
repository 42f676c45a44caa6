// Removes what a page shows only once when the browser leaves the page, since some browsers show pages from memory when one goes back.
addEventListener("pagehide", () => {
  for (const element of document.querySelectorAll("[data-once]")) element.textContent = "";
});
