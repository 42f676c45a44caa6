// Shows that a form waits for its response: <form data-progress="what is being done">. A second click is ignored.
for (const form of document.querySelectorAll("form[data-progress]")) {
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.className = "progress";
  form.append(status);
  const seconds = document.createElement("span");
  seconds.setAttribute("aria-hidden", "true"); // else each second is read out
  let timer;
  form.addEventListener("submit", (event) => {
    if (timer) {
      event.preventDefault();
      return;
    }
    const began = Date.now();
    status.textContent = form.dataset.progress;
    status.after(seconds);
    timer = setInterval(() => (seconds.textContent = `${Math.round((Date.now() - began) / 1000)} s`), 1000);
    form.querySelector("button").setAttribute("aria-disabled", "true");
  });
  window.addEventListener("pageshow", () => { // also when the browser shows the page again as it was
    clearInterval(timer);
    timer = undefined;
    status.textContent = "";
    seconds.remove();
    form.querySelector("button").removeAttribute("aria-disabled");
  });
}
