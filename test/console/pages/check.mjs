import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes, serve, service, unfold } from "../harness.mjs";

const { registry } = service;
const good = {
  Endpoint: registry.endpoint, "Content path": registry.content, Authentication: "Basic", Username: registry.username, Password: registry.password,
  "CA certificate": registry.ca,
};
const wrongPassword = { ...good, Password: "hunter2 is wrong" };
const markup = `<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>'"`;

const field = (page, label) => page.getByLabel(label, { exact: true });
const checkButton = (page) => page.getByRole("button", { name: "Check" });
const outcome = (page, text) => page.getByRole("heading", { name: text, exact: true });

async function fill(page, values) {
  for (const [label, value] of Object.entries(values)) {
    const input = field(page, label);
    if (!(await input.isVisible())) await unfold(page);
    if (label === "Authentication") await input.selectOption(value);
    else await input.fill(value);
  }
}

async function check(page, values) {
  await page.goto("/console/check");
  await fill(page, values);
  await checkButton(page).click();
}

for (const role of ["admin", "member"]) {
  accessible("the check", role, "/console/check");
}
for (const [name, values, text] of [["a valid definition", good, "Valid"], ["a definition that is not valid", wrongPassword, "Not valid"]]) {
  test(`the report of ${name} is accessible`, async (t) => {
    const page = await as(t, "admin");
    await check(page, values);
    await outcome(page, text).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: /^[0-9a-f-]{36}$/ }).click();
    await page.getByRole("heading", { name: "Report" }).waitFor();
    await assertAccessible(page);
  });
}

test("a check can be canceled, which ends it, and keeps the form", async (t) => {
  let close;
  const closed = new Promise((done) => (close = done));
  const address = await serve(t, (request) => request.socket.on("close", close)); // never responds
  const page = await as(t, "admin");
  await check(page, { Endpoint: address, Authentication: "None, without credentials" });
  await page.getByRole("log").getByText("Connect: ok").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alert").getByText("The check was canceled.").waitFor();
  await closed;
  assert.equal(await field(page, "Endpoint").inputValue(), address);
});

for (const role of ["admin", "member"]) {
  test(`Back shows ${role} form and report again, without secrets`, async (t) => {
    const page = await as(t, role);
    await check(page, { ...wrongPassword, "Client key": "" });
    await outcome(page, "Not valid").waitFor();
    await page.getByRole("link", { name: /^[0-9a-f-]{36}$/ }).click();
    await page.getByRole("heading", { name: "Report" }).waitFor();
    await page.goBack();
    await outcome(page, "Not valid").waitFor();
    const { Authentication, Password, ...texts } = wrongPassword;
    await page.getByText("Enter it again.").waitFor();
    await assertFilledWithout(page, texts);
    await field(page, "Password").fill(registry.password);
    await checkButton(page).click();
    await outcome(page, "Valid").waitFor();
    await field(page, "Endpoint").fill("typed after the check");
    await field(page, "Content path").focus();
    await page.getByRole("link", { name: "Registries", exact: true }).click();
    await page.getByRole("heading", { name: "Registries", level: 1 }).waitFor();
    await page.goBack();
    await outcome(page, "Valid").waitFor();
    assert.equal(await field(page, "Endpoint").inputValue(), "typed after the check");
    await assertAccessible(page);
  });
}

// assertFilledWithout fails unless the form has these texts, and secrets are neither in it nor in the history.
async function assertFilledWithout(page, values) {
  for (const [label, value] of Object.entries(values)) assert.equal(await field(page, label).inputValue(), value, label);
  assert.equal(await field(page, "Password").inputValue(), "");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify(history.state)), /hunter/);
}

for (const role of ["admin", "member"]) {
  for (const javaScriptEnabled of [true, false]) {
    test(`${role} checks a valid definition, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      const bodies = [];
      page.on("response", (response) => response.url().includes("/console/check") && bodies.push(response.text().catch(() => "")));
      await check(page, good);
      await outcome(page, "Valid").waitFor();
      const stages = page.getByRole("region", { name: "Stages" }).getByRole("row");
      assert.equal(await page.getByRole("region", { name: "Stages" }).getByRole("rowheader").count(), 7);
      assert.match(await stages.filter({ hasText: "Auth" }).textContent(), /Ok.*(\d+ ms)/s);
      assert.equal(await field(page, "Endpoint").inputValue(), registry.endpoint);
      assert.equal(await field(page, "CA certificate").inputValue(), registry.ca);
      assert.equal(await field(page, "Password").inputValue(), javaScriptEnabled ? registry.password : "");
      const text = await page.locator("main").textContent();
      assert.match(text, /\d round trips/);
      for (const part of [`--username ${registry.username}`, '"password": "$REGISTRY_PASSWORD"', "password = var.registry_password"]) {
        assert.ok(text.includes(part), part);
      }
      for (const body of await Promise.all(bodies)) assert.ok(!body.includes(registry.password), body);
      assert.ok(!(await page.content()).includes(registry.password));
    });
  }
}

for (const javaScriptEnabled of [true, false]) {
  test(`a wrong password, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "member", { javaScriptEnabled });
    await check(page, wrongPassword);
    const heading = outcome(page, "Not valid");
    await becomes(heading, ":focus");
    assert.ok(await heading.evaluate((element) => element.getBoundingClientRect().top < innerHeight), "the outcome is not seen first");
    const report = page.getByRole("region", { name: "Not valid" });
    assert.match(await report.textContent(), /rejected the credentials.*Fix: Correct the username and password/s);
    await report.getByRole("link", { name: "Password" }).click();
    await becomes(field(page, "Password"), ":target");
    assert.ok(!(await page.content()).includes(wrongPassword.Password));
    await field(page, "Password").fill(registry.password);
    await page.keyboard.press("Enter");
    await outcome(page, "Valid").waitFor();
  });

  test(`a definition that is not complete, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "member", { javaScriptEnabled });
    await check(page, { "Base path": "a", Authentication: "Basic", Password: "hunter2", "CA certificate": "no certificate" });
    const alert = page.getByRole("alert");
    await alert.waitFor();
    assert.match(await alert.textContent(), /Correct 3 fields.*Endpoint is required.*Username is required.*CA certificate/s);
    await becomes(alert, ":focus");
    await alert.getByRole("link", { name: "Username" }).click();
    await becomes(field(page, "Username"), javaScriptEnabled ? ":focus" : ":target");
    assert.equal(await field(page, "Username").getAttribute("aria-invalid"), "true");
    assert.equal(await field(page, "Base path").inputValue(), "a");
    assert.equal(await field(page, "Password").inputValue(), javaScriptEnabled ? "hunter2" : "");
    assert.equal(await field(page, "CA certificate").inputValue(), "no certificate");
    assert.equal(await page.getByText("Enter it again.").count(), javaScriptEnabled ? 0 : 1);
    assert.ok(!(await page.content()).includes("hunter2"));
    await assertAccessibleUnless(javaScriptEnabled, page);
    await fill(page, { ...good, "Base path": "" });
    await checkButton(page).click();
    await outcome(page, "Valid").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });
}

// axe needs JavaScript.
const assertAccessibleUnless = async (enabled, page) => enabled && assertAccessible(page);

test("stages appear while the check runs", async (t) => {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const endpoint = await serve(t, (_, response) => released.then(() => response.writeHead(404).end()));
  const page = await as(t, "member");
  await check(page, { Endpoint: endpoint });
  const log = page.getByRole("log", { name: "Checking" });
  await log.getByText(/^Connect: ok, /).waitFor();
  assert.deepEqual((await log.locator("p").allTextContents()).slice(-3), ["API: waiting", "Auth: waiting", "Content: waiting"]);
  await becomes(page.getByRole("region", { name: "Checking" }), ":focus");
  assert.equal(await outcome(page, "Not valid").count(), 0);
  release();
  await outcome(page, "Not valid").waitFor();
  assert.equal(await log.count(), 0);
  await page.reload();
  assert.equal(await field(page, "Endpoint").inputValue(), "");
});

test("a check ends when its tab is closed", async (t) => {
  let arrived, closed;
  const reached = new Promise((resolve) => (arrived = resolve));
  const ended = new Promise((resolve) => (closed = resolve));
  const endpoint = await serve(t, (request) => (arrived(), request.socket.on("close", closed)));
  const page = await as(t, "member");
  const tab = await page.context().newPage();
  await check(tab, { Endpoint: endpoint });
  await reached;
  const began = Date.now();
  await tab.close();
  await ended;
  // A check that goes on ends after 30 s; a busy machine is slow.
  assert.ok(Date.now() - began < 15_000, `the check ended ${Date.now() - began} ms after its tab`);
});

const secrets = { Password: "hunter2", "Client key": "hunter3" };
const typed = { Endpoint: registry.endpoint, Authentication: "Basic", Username: "ada", ...secrets };

// assertFilled fails unless the form has what was typed, and the page has no secret.
async function assertFilled(page, values = typed) {
  for (const [label, value] of Object.entries(values)) {
    if (label !== "Authentication") assert.equal(await field(page, label).inputValue(), value, label);
  }
  assert.doesNotMatch(await page.content(), /hunter[23]/);
  assert.equal(await page.getByText("Enter it again.").count(), 0);
  assert.equal(await page.getByRole("region", { name: "Checking" }).isVisible(), false);
}

test("what was typed stays when the check is refused", async (t) => {
  const page = await as(t, "admin");
  const values = { ...typed, Endpoint: "ftp://x", "CA certificate": registry.ca };
  await check(page, values);
  const alert = page.getByRole("alert");
  await becomes(alert, ":focus");
  await alert.getByRole("link", { name: /^Endpoint/ }).press("Enter");
  await becomes(field(page, "Endpoint"), ":focus");
  assert.equal(await field(page, "Endpoint").getAttribute("aria-invalid"), "true");
  await assertFilled(page, values);
  await fill(page, { ...good, Password: "", "Client key": "" });
  await field(page, "Password").fill(registry.password);
  await field(page, "Endpoint").press("Enter");
  await outcome(page, "Valid").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
});

test("what was typed stays when the name exists", async (t) => {
  const page = await as(t, "admin");
  await check(page, good);
  await outcome(page, "Valid").waitFor();
  await field(page, "Name").fill("charts");
  await field(page, "Name").press("Enter");
  const alert = page.getByRole("alert");
  await alert.getByText("A registry with this name already exists").waitFor();
  await becomes(alert, ":focus");
  await outcome(page, "Valid").waitFor(); // it still is
  const { Authentication, ...texts } = good;
  await assertFilled(page, { ...texts, Name: "charts" });
  await assertAccessible(page);
  await field(page, "Name").fill("");
  await field(page, "Name").press("Enter");
  await alert.getByRole("link", { name: "Name is required" }).click();
  await becomes(field(page, "Name"), ":focus");
  assert.equal(await field(page, "Name").getAttribute("aria-invalid"), "true");
  await field(page, "Name").fill("after-a-refusal");
  await page.getByRole("button", { name: "Save as registry" }).click();
  await page.getByText("The registry is stored.").waitFor();
});

// What is not a page of the console: of a proxy, of the service before the console, or nothing.
for (const [what, respond, message] of [
  ["a page of a proxy", { status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }, "responded with the status 502."],
  ["an error of the API", { status: 429, contentType: "application/json", body: "{}" }, "responded with the status 429."],
  ["no response", undefined, "The connection was interrupted. Try again."],
]) {
  test(`what was typed stays after ${what}`, async (t) => {
    const page = await as(t, "admin", { expect: ["ERR_FAILED", "status of 502"] });
    const values = { ...typed, "Client key": "" };
    await check(page, values);
    await outcome(page, "Not valid").waitFor();
    await field(page, "Name").fill("typed before");
    await page.route(/console.check/, (route) => (respond ? route.fulfill(respond) : route.abort()));
    for (const button of ["Save as registry", "Check"]) {
      await page.getByRole("button", { name: button, exact: true }).click();
      const alert = page.getByRole("alert");
      await alert.getByText(message).waitFor();
      await becomes(alert, ":focus");
      await assertFilled(page, values);
    }
    await assertAccessible(page);
    await page.unroute(/console.check/);
    await checkButton(page).click();
    await outcome(page, "Not valid").waitFor();
    assert.equal(await field(page, "Name").inputValue(), "typed before");
    await field(page, "Endpoint").fill("");
    await checkButton(page).click();
    await page.getByRole("alert").getByText("Endpoint is required").waitFor();
  });
}

test("a check whose connection breaks", async (t) => {
  let arrived;
  const reached = new Promise((resolve) => (arrived = resolve));
  const endpoint = await serve(t, () => arrived());
  const page = await as(t, "admin");
  await page.goto("/console/check");
  await page.evaluate(() => {
    const real = XMLHttpRequest.prototype.send; // ends the stream as a broken connection does
    XMLHttpRequest.prototype.send = function (body) {
      window.breakConnection = () => this.abort();
      real.call(this, body);
    };
  });
  await fill(page, { ...typed, "Client key": "", Endpoint: endpoint });
  await checkButton(page).click();
  await page.getByRole("log").getByText(/^Connect/).waitFor();
  await reached;
  await page.evaluate(() => window.breakConnection());
  const alert = page.getByRole("alert");
  await alert.getByText("The connection was interrupted. Try again.").waitFor();
  await becomes(alert, ":focus");
  await assertFilled(page, { ...typed, "Client key": "", Endpoint: endpoint });
});

test("a session that ended", async (t) => {
  const page = await as(t, "admin");
  await check(page, good);
  await outcome(page, "Valid").waitFor();
  await field(page, "Name").fill("after-login");
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  for (const button of ["Save as registry", "Check"]) {
    await page.getByRole("button", { name: button, exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("Your session has ended.").waitFor();
    await becomes(alert, ":focus");
    const { Authentication, ...texts } = good;
    await assertFilled(page, texts);
  }
  await assertAccessible(page);
  const [tab] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: "Log in" }).click()]);
  await tab.getByRole("heading", { name: "Log in" }).waitFor();
  await tab.close();
  await page.context().addCookies(cookies); // as the login in the other tab would
  await checkButton(page).click();
  await outcome(page, "Valid").waitFor();
  assert.equal(await field(page, "Name").inputValue(), "after-login");
  await page.getByRole("button", { name: "Save as registry" }).click();
  await page.getByText("The registry is stored.").waitFor();
});

test("a session that ended, JavaScript false", async (t) => {
  const page = await as(t, "member", { javaScriptEnabled: false });
  await page.goto("/console/check");
  await page.context().clearCookies();
  await fill(page, { Endpoint: registry.endpoint });
  await checkButton(page).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
});

test("keyboard only: check and save", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/check");
  const to = async (label) => {
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((label) => (document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim() === label, label)) return;
    }
    assert.fail(`${label} cannot be reached`);
  };
  for (const [label, text] of Object.entries(good)) {
    if (label === "CA certificate") continue;
    await to(label);
    await page.keyboard.type(text);
  }
  await to("TLS and certificates");
  await page.keyboard.press("Enter");
  await to("CA certificate");
  await page.keyboard.insertText(registry.ca);
  await to("Check");
  await page.keyboard.press("Enter");
  await becomes(outcome(page, "Valid"), ":focus");
  await page.keyboard.press("Tab");
  await page.keyboard.type("typed");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/console\/registries\/[0-9a-f-]{36}/);
  await page.getByText("The registry is stored.").waitFor();
  await page.goto("/console/");
  await page.getByRole("region", { name: "Recent changes" }).getByRole("row", { name: "typed" }).first().waitFor();
});

test("Enter in the name saves", async (t) => {
  const page = await as(t, "admin");
  await check(page, good);
  await outcome(page, "Valid").waitFor();
  await field(page, "Name").fill("entered");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/console\/registries\/[0-9a-f-]{36}/); // the page's script removes the notice from the address
  await page.getByText("The registry is stored.").waitFor();
});

test("saving without JavaScript, and a name that exists", async (t) => {
  const page = await as(t, "admin", { javaScriptEnabled: false });
  await check(page, good);
  await outcome(page, "Valid").waitFor();
  const save = async (password, name) => {
    await field(page, "Password").fill(password);
    await field(page, "Name").fill(name);
    await page.getByRole("button", { name: "Save as registry" }).click();
  };
  await save("", "");
  assert.match(await page.getByRole("alert").textContent(), /Name is required.*Password is required|Password is required.*Name is required/s);
  await becomes(page.getByRole("alert"), ":focus");
  await page.getByRole("alert").getByRole("link", { name: "Name is required" }).click();
  await becomes(field(page, "Name"), ":target");
  await save(registry.password, "charts");
  assert.match(await page.getByRole("alert").textContent(), /exists|taken|already/);
  assert.equal(await field(page, "Name").inputValue(), "charts");
  assert.equal(await outcome(page, "Valid").count(), 1);
  await save(registry.password, "saved");
  await page.waitForURL(/\/console\/registries\/[0-9a-f-]{36}\?/);
});

test("a member cannot save", async (t) => {
  const page = await as(t, "member");
  await check(page, good);
  await outcome(page, "Valid").waitFor();
  assert.equal(await page.getByText("Save as registry").count(), 0);
  const forged = await page.request.post("/console/check/save", { form: { endpoint: registry.endpoint, authType: "noAuth", name: "forged" } });
  assert.equal(forged.status(), 403);
});

test("a report is at its address, for colleagues too", async (t) => {
  const page = await as(t, "admin");
  await check(page, wrongPassword);
  await page.getByRole("link", { name: /^[0-9a-f-]{36}$/ }).click();
  await page.getByRole("heading", { name: "Report" }).waitFor();
  const colleague = await as(t, "member");
  await colleague.goto(page.url());
  assert.match(await colleague.locator("main").innerText(), new RegExp(`Not valid[^]*rejected the credentials[^]*by ${service.admin.email}`));
  assert.equal((await colleague.goto("/console/check/00000000-0000-4000-8000-000000000000")).status(), 404);
  assert.equal((await colleague.goto("/console/check/" + markup)).status(), 404);
  assert.equal(await colleague.locator("main img").count(), 0);
});

// assertText fails if text of a user or registry became part of the page.
async function assertText(page) {
  assert.equal(await page.locator("main").locator("img, script, iframe").count(), 0);
  assert.equal(await page.evaluate(() => window.ran), undefined);
}

test("markup in every field is text", async (t) => {
  const page = await as(t, "admin");
  const labels = ["Endpoint", "Base path", "Content path", "Username", "CA certificate", "Client certificate", "Client key"];
  const values = { Authentication: "Basic", Password: markup, ...Object.fromEntries(labels.map((label) => [label, markup])) };
  await check(page, values);
  await page.getByRole("alert").waitFor();
  for (const label of labels) assert.equal(await field(page, label).inputValue(), markup, label);
  await assertText(page);
  await page.request.post("/console/check", { form: { providerType: markup, authType: markup, report: markup } });
  await check(page, { ...good, Username: markup.replaceAll(":", ""), "Content path": "a" });
  await outcome(page, "Not valid").waitFor();
  assert.ok((await page.locator("main").textContent()).includes(`--username '<img src=x`));
  await assertText(page);
  await fill(page, { Endpoint: markup, Name: markup });
  await page.getByRole("button", { name: "Save as registry" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await field(page, "Name").inputValue(), markup);
  await assertText(page);
});

test("what a registry sends is text", async (t) => {
  const page = await as(t, "member");
  const body = JSON.stringify({ errors: [{ code: markup, message: markup, detail: markup }] });
  const head = { "Content-Type": "application/json", "Docker-Distribution-Api-Version": "registry/2.0", "X-Message": markup };
  for (const [status, more] of [[500, {}], [404, {}], [401, { "WWW-Authenticate": `Bearer realm="${markup}",service="${markup}"` }], [307, { Location: "/" + encodeURI(markup) }], [403, {}]]) {
    const endpoint = await serve(t, (_, response) => response.writeHead(status, { ...head, ...more }).end(body));
    await check(page, { Endpoint: endpoint, "Content path": "a/b" });
    await outcome(page, "Not valid").waitFor();
    await assertText(page);
  }
  const names = await serve(t, (request, response) => response.writeHead(200, head).end(request.url.includes("catalog") ? JSON.stringify({ repositories: [markup, "a/" + markup] }) : JSON.stringify({ name: markup, tags: [markup] })));
  await check(page, { Endpoint: names, "Content path": "a" });
  await page.locator("#outcome").waitFor();
  await assertText(page);
  await check(page, { Endpoint: service.hostile });
  await outcome(page, "Not valid").waitFor();
  assert.ok((await page.locator("main").innerText()).includes("<img"), "the name in the certificate is not shown");
  await assertText(page);
});

test("the result is next to the form on a wide screen, and above it on a phone", async (t) => {
  const page = await as(t, "member");
  await check(page, { Endpoint: "https://127.0.0.1:1" });
  await outcome(page, "Not valid").waitFor();
  const boxes = async () => Promise.all([outcome(page, "Not valid").boundingBox(), page.locator("#check").boundingBox()]);
  let [result, form] = await boxes();
  assert.ok(result.x >= form.x + form.width && result.y < form.y + 100, `the result is at ${result.x}, ${result.y}`);
  assert.ok(await page.getByRole("region", { name: "Stages" }).evaluate((region) => region.scrollWidth <= region.clientWidth), "stages are cut off");
  await page.setViewportSize({ width: 390, height: 844 });
  [result, form] = await boxes();
  assert.ok(result.y + result.height <= form.y, "the form is below the result");
  assert.ok(await page.getByRole("region", { name: "Stages" }).evaluate((region) => region.scrollWidth <= region.clientWidth), "stages are cut off");
});
