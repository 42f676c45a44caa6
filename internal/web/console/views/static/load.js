// load returns the page anew, undefined if that failed. No script of it runs.
export function load() {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onload = () => resolve(request.response);
    request.onerror = () => resolve(undefined); // the next request may succeed
    request.send();
  });
}
