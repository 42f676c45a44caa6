// A second click, or a second Enter, does not send a form again: the response to the first has what is shown once, such as a new key. After
// a while it does, since a page stays if its request is canceled.
const again = 2000; // ms
let last, lastAt;
addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.getAttribute("method") !== "post") return; // a script sends it, or it changes nothing
  if (event.target === last && event.timeStamp - lastAt < again) event.preventDefault();
  else [last, lastAt] = [event.target, event.timeStamp];
});
addEventListener("pageshow", ({ persisted }) => (last = persisted ? undefined : last)); // the browser shows the page again as it was

// Shows that a form waits for its response: <form data-progress="what is being done">. A second click is ignored, until the request has
// ended or was canceled.
const longest = 70; // s, more than the server takes
for (const form of document.querySelectorAll("form[data-progress]")) {
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.className = "progress";
  form.append(status);
  const seconds = document.createElement("span");
  seconds.setAttribute("aria-hidden", "true"); // else each second is read out
  let timer;
  const end = () => {
    clearInterval(timer);
    timer = undefined;
    status.textContent = "";
    seconds.remove();
    form.querySelector("button").removeAttribute("aria-disabled");
  };
  form.addEventListener("submit", (event) => {
    if (timer) {
      event.preventDefault();
      return;
    }
    const began = Date.now();
    status.textContent = form.dataset.progress;
    status.after(seconds);
    timer = setInterval(() => {
      const passed = Math.round((Date.now() - began) / 1000);
      if (passed > longest) end(); // such as after Escape, of which the page gets no event
      else seconds.textContent = `${passed} s`;
    }, 1000);
    form.querySelector("button").setAttribute("aria-disabled", "true");
  });
  addEventListener("pageshow", end); // also when the browser shows the page again as it was
}
