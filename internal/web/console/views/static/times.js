// Times are relative, or absolute in the zone of the reader, as it chose. Without this script the title is absolute, in UTC.
const storage = { get: () => attempt(() => localStorage.getItem("times")), set: (value) => attempt(() => localStorage.setItem("times", value)) };
let absolute = storage.get() === "absolute";

function attempt(action) {
  try {
    return action();
  } catch {
    return undefined; // the browser stores nothing for this page
  }
}

const day = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" }); // 2026-11-28 13:00:00
const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

function inZone(at) {
  return `${day.format(at)} ${zone.formatToParts(at).find((part) => part.type === "timeZoneName").value}`;
}

// showTimes shows the times of an element as the reader chose.
export function showTimes(part) {
  for (const time of part.querySelectorAll("time[datetime]")) {
    time.dataset.relative ??= time.textContent;
    const exact = inZone(new Date(time.dateTime));
    time.textContent = absolute ? exact : time.dataset.relative;
    time.title = absolute ? time.dataset.relative : exact;
  }
}

const button = document.querySelector("button[data-times]");
button.hidden = false;
button.addEventListener("click", () => {
  absolute = !absolute;
  storage.set(absolute ? "absolute" : "relative");
  show();
});

function show() {
  button.setAttribute("aria-pressed", absolute);
  showTimes(document);
}

show();
