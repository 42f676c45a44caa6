import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { as, fillIn, open, service } from "../harness.mjs";

// serve serves one page of another origin, and returns its addresses: one of the same site, which cookies do not
// distinguish from the service, and one of another site.
async function serve(t, html) {
  const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(html));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const { port } = server.address();
  return { "the same site": `http://127.0.0.1:${port}/`, "another site": `http://localhost:${port}/` };
}

const expect = ["request to http://127.0.0.1", "request to http://localhost", "CORS", "ERR_FAILED", "Framing", "ERR_BLOCKED_BY_RESPONSE", "frame"];

const stillLoggedIn = async (page) => {
  await page.goto("/console/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
};

for (const path of ["/console/logout", "/console/theme", "/console/login"]) {
  test(`a form of another origin cannot change ${path}`, async (t) => {
    const page = await as(t, "member", { expect });
    const form = `<form method="post" action="${service.url}${path}"><input name="theme" value="dark"></form><script>document.forms[0].submit()</script>`;
    for (const [site, address] of Object.entries(await serve(t, form))) {
      const refused = page.waitForResponse((response) => response.url() === service.url + path);
      await page.goto(address).catch(() => {}); // the form may be faster
      assert.equal((await refused).status(), 403, site);
    }
    await stillLoggedIn(page);
  });
}

test("a script of another origin can neither change nor read", async (t) => {
  const page = await as(t, "member", { expect });
  for (const [site, address] of Object.entries(await serve(t, "<title>other</title>"))) {
    await page.goto(address);
    const got = await page.evaluate(async (url) => {
      const read = await fetch(url + "/console/", { credentials: "include" }).then((response) => response.text(), (error) => String(error));
      const sent = await fetch(url + "/console/logout", { method: "POST", mode: "no-cors", credentials: "include" }).then((response) => response.type, (error) => String(error));
      return [read, sent];
    }, service.url);
    assert.match(got[0], /^TypeError/, site);
    assert.match(got[1], /opaque|TypeError/, site);
  }
  await stillLoggedIn(page);
});

test("another origin cannot frame a page", async (t) => {
  const page = await as(t, "member", { expect });
  for (const address of Object.values(await serve(t, `<iframe src="${service.url}/console/"></iframe>`))) {
    await page.goto(address);
    const [, frame] = page.frames();
    await frame.waitForLoadState();
    assert.ok(!(await frame.content()).includes("Overview"));
  }
});

test("a link on another site leads to the page, with the session", async (t) => {
  const page = await as(t, "member", { expect });
  for (const address of Object.values(await serve(t, `<a href="${service.url}/console/?from=link">console</a>`))) {
    await page.goto(address);
    await page.getByRole("link").click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(page.url(), service.url + "/console/?from=link");
  }
});

test("no script can read the cookie, and none that is injected runs", async (t) => {
  const page = await as(t, "member", { expect: ["Content Security Policy", "TrustedHTML", "TrustedScript"] });
  await page.goto("/console/");
  assert.equal(await page.evaluate(() => document.cookie), "");
  const ran = await page.evaluate(async () => {
    const script = document.createElement("script");
    try {
      script.textContent = "window.ran = true";
      document.body.append(script);
    } catch {}
    try {
      document.body.innerHTML = "<img src=x onerror='window.ran = true'>";
    } catch {}
    await new Promise((done) => setTimeout(done, 100));
    return Boolean(window.ran);
  });
  assert.equal(ran, false);
});

test("pages are not shown again after the logout", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await fillIn(page, service.member);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto("/console/?second");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("You are logged out.").waitFor();
  for (let n = 0; n < 2; n++) {
    await page.goBack();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    assert.equal(await page.getByText(service.member.email).count(), 0);
  }
});
