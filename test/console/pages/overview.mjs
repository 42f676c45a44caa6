import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, as, assertAccessible, serve, service } from "../harness.mjs";
import { authenticate } from "../account.mjs";

const outage = (page, name) => page.getByRole("region", { name: "Failing registries" }).locator("li").filter({ has: page.locator("summary", { hasText: name }) });

for (const role of ["admin", "member"]) {
  accessible("the overview", role, "/console/", (page) => page.locator(".outages summary").first().click());

  test(`the overview shows ${role} which registries fail`, async (t) => {
    const page = await as(t, role);
    await page.goto("/console/");
    for (const [label, least] of [["Healthy", 1], ["Failing", 1], ["Unknown", 0]]) { // other tests store registries too
      const n = await page.getByRole("term").filter({ hasText: label }).locator("+ dd").textContent();
      assert.ok(/^\d+$/.test(n) && Number(n) >= least, `${label}: ${n}`);
    }
    const row = outage(page, "wrong-password");
    const line = await row.locator("summary").textContent();
    assert.match(line, /The credentials were rejected\.wrong-password at 127\.0\.0\.1:\d+Auth/);
    assert.equal(await row.getByText("Correct the username").isVisible(), false);
    await row.locator("summary").press("Enter");
    await row.getByText("Correct the username").waitFor();
    assert.ok(await row.getByRole("link", { name: "wrong-password" }).isVisible());
    const since = row.locator("summary").getByRole("time");
    assert.match(await since.textContent(), /^(Just now|\d+ minutes? ago)$/);
    assert.match(await since.getAttribute("title"), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  });
}

for (const role of ["admin", "member"]) {
  test(`the overview, the list and the registry show ${role} that credentials expire soon`, async (t) => {
    const page = await as(t, role);
    await page.goto("/console/");
    const expiring = page.getByRole("region", { name: "Certificates and credentials that expire soon" });
    assert.equal(await expiring.getByRole("row", { name: "wrong-password" }).count(), 0);
    const text = /The credentials expire soon or have expired: \d{4}-\d\d-\d\d, in \d days\./;
    assert.match(await expiring.getByRole("row", { name: "expiring-token" }).textContent(), text);
    await expiring.getByRole("link", { name: "expiring-token" }).click();
    await page.getByText(new RegExp(`The registry works\\. ${text.source}`)).waitFor();
    await page.goto("/console/registries?name=expiring-token");
    await page.getByRole("row", { name: "expiring-token" }).filter({ hasText: text }).waitFor();
  });
}

test("the overview shows recent changes", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/");
  const changes = page.getByRole("region", { name: "Recent changes" });
  const rows = changes.getByRole("row");
  assert.equal(await rows.count(), 6); // with the headings
  for (const text of (await rows.allTextContents()).slice(1)) assert.match(text, /(Stored|Failing: Registry\w+|Healthy again|Credentials expire soon).*(ago|just now)$/i);
  await rows.filter({ hasText: /failing: Registry/i }).first().waitFor();
});

for (const javaScriptEnabled of [true, false]) {
  test(`the first steps lead to their pages until they are hidden, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/");
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByText("Add your registries (done)").waitFor();
    await steps.getByRole("link", { name: "Alerts" }).click();
    await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
    await page.goto("/console/");
    await steps.getByRole("button", { name: "Hide" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await steps.count(), 0);
  });
}

test("the overview is printed over the whole width", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/");
  await page.emulateMedia({ media: "print" });
  const [main, body] = await page.evaluate(() => [document.querySelector("main"), document.body].map((part) => part.offsetWidth));
  await page.emulateMedia({ media: null });
  assert.ok(main > 0.9 * body, `the page has ${main} of ${body} px`);
});

for (const javaScriptEnabled of [true, false]) {
  test(`the menu is folded on a phone, and opens by keyboard, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto("/console/");
    const link = page.getByRole("link", { name: "Registries", exact: true });
    assert.equal(await link.isVisible(), false);
    const heading = await page.getByRole("heading", { name: "Overview" }).boundingBox();
    assert.ok(heading.y < 160, `the page begins at ${heading.y} px`);
    await page.getByLabel("Menu").press("Space");
    if (javaScriptEnabled) await assertAccessible(page);
    await page.setViewportSize({ width: 320, height: 640 });
    await link.click();
    await page.getByRole("heading", { name: "Registries", level: 1 }).waitFor();
    assert.equal(await link.isVisible(), false);
    await page.setViewportSize({ width: 1280, height: 800 });
    await link.waitFor();
    assert.equal(await page.getByLabel("Menu").isVisible(), false);
  });
}

test("the overview uses the width of a large screen", async (t) => {
  const page = await as(t, "admin");
  await page.setViewportSize({ width: 2560, height: 1300 });
  await page.goto("/console/");
  const [failing, expiring] = await Promise.all(["Failing registries", "Certificates and credentials that expire soon"].map((name) => page.getByRole("region", { name }).boundingBox()));
  assert.ok(expiring.x > failing.x + failing.width && expiring.x + expiring.width > 2500, `lists at ${failing.x} and ${expiring.x} px`);
});

test("on a phone no cause is cut off, and no label is broken within a word", async (t) => {
  const page = await as(t, "admin");
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 640 });
    await page.goto("/console/");
    for (const part of await page.locator(".outages, .outages summary > span").all()) {
      assert.ok(await part.evaluate((part) => part.scrollWidth <= part.clientWidth + 1), `${await part.textContent()} is cut off at ${width} px`);
    }
    const lines = await page.locator(".counts dt").evaluateAll((labels) => labels.map((label) => [label.textContent, label.clientHeight]));
    for (const [label, height] of lines) assert.ok(height < 26 * label.split(" ").length, `${label} is ${height} px high at ${width} px`);
  }
});

// store stores registries that reject the password, each at an address of its own, until the test ends.
async function store(t, number) {
  const headers = { Authorization: await authenticate(service.admin) };
  const request = await api;
  const never = "0001-01-01T00:00:00.000Z";
  const uids = [];
  t.after(() => Promise.all(uids.map((uid) => request.delete(`/v1/registries/oci/${uid}/basic`, { headers }))));
  for (let n = 0; n < number; n++) {
    const endpoint = await serve(t, (_, response) => response.writeHead(401, { "WWW-Authenticate": 'Basic realm="r"' }).end());
    const data = {
      metadata: { name: `outage-${n}`, creationTimestamp: never, deletionTimestamp: never, lastModifiedTimestamp: never },
      spec: { endpoint, providerType: "helm", containsSpectroManifest: false, isSyncSupported: false, auth: { type: "basic", username: "ada", password: "ada password", tls: { enabled: false, insecureSkipVerify: false } } },
    };
    const created = await request.post("/v1/registries/oci/basic", { headers, data });
    assert.equal(created.status(), 201, await created.text());
    uids.push((await created.json()).uid);
  }
  return { remove: (n) => request.delete(`/v1/registries/oci/${uids.splice(n, 1)[0]}/basic`, { headers }) };
}

// storeKeys stores API keys that expire soon.
async function storeKeys(number) {
  const headers = { Authorization: await authenticate(service.admin) };
  const request = await api;
  const uids = [];
  const expiry = new Date(Date.now() + 2 * 86_400_000).toISOString();
  for (let n = 0; n < number; n++) {
    const created = await request.post("/v1/apiKeys", { headers, data: { metadata: { name: `ends soon ${n}` }, spec: { expiry } } });
    assert.equal(created.status(), 201, await created.text());
    uids.push((await created.json()).uid);
  }
  return { remove: () => Promise.all(uids.map((uid) => request.delete(`/v1/apiKeys/${uid}`, { headers }))) };
}

const failing = async (page) => Number(await page.getByRole("term").filter({ hasText: "Failing" }).locator("+ dd").textContent());

test("an overview of 34 outages has a line for each, fits two screens, and follows what changes", async (t) => {
  const overview = await as(t, "admin");
  await overview.goto("/console/");
  const all = (await failing(overview)) + 34;
  const { remove } = await store(t, 34);
  const keys = await storeKeys(6);
  const page = await as(t, "admin", { timezoneId: "Asia/Tokyo", expect: ["status of 503"] }); // a context whose clock is that of this test
  await page.clock.install();
  for (let fails = 0; fails < all; fails = await failing(page)) {
    await page.goto("/console/");
    await new Promise((resume) => setTimeout(resume, 300));
  }
  for (const [what, least] of [["first steps", 3], ["keys that expire", 5], ["neither", 15]]) {
    const heights = await page.locator(".outages > li").evaluateAll((lines) => lines.map((line) => line.clientHeight));
    assert.ok(heights.length >= least, `${heights.length} lines with ${what}`);
    assert.ok(heights.every((height) => height < 40), `lines are ${heights} px high`);
    const whole = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(whole <= 2 * 800, `the page with ${what} is ${whole} px high`);
    if (what === "first steps") await page.getByRole("button", { name: "Hide" }).click();
    if (what === "keys that expire") {
      await keys.remove();
      await page.goto("/console/");
    }
  }

  const before = await failing(page);
  assert.match(await page.title(), new RegExp(`^\\(${before}\\) Overview`));
  assert.ok(await page.getByRole("link", { name: `${before} registries failing` }).isVisible());
  const row = page.locator(".outages > li").nth(1);
  const id = await row.locator("details").getAttribute("id");
  await row.locator("summary").press("Enter");
  await remove(0);
  await page.clock.fastForward("00:31");
  await page.getByRole("link", { name: `${before - 1} registries failing` }).waitFor();
  assert.equal(await page.title(), `(${before - 1}) Overview · regwarden`);
  assert.equal(await failing(page), before - 1);
  assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), id);
  assert.ok(await page.locator(`#${id}[open]`).isVisible());

  await page.route("/console/", (route) => route.fulfill({ status: 503, contentType: "text/html", body: "<h1>Not available</h1>" }));
  await page.clock.fastForward("00:31");
  await page.getByText("The newest request failed.").waitFor();
  await page.unroute("/console/");
  await page.clock.fastForward("00:31");
  await page.getByText("The newest request failed.").waitFor({ state: "hidden" });

  await page.clock.fastForward("16:00"); // requests would extend the session
  await page.getByText("Not updated while the page is not used.").waitFor();
  await remove(0);
  await page.mouse.move(600, 300);
  await page.getByRole("link", { name: `${before - 2} registries failing` }).waitFor();
});

test("an overview whose session has ended says so", async (t) => {
  const page = await as(t, "member", { timezoneId: "Asia/Tokyo" });
  await page.clock.install();
  await page.goto("/console/");
  await page.context().clearCookies();
  await page.clock.fastForward("00:31");
  await page.getByText("your session has ended. Reload the page to log in.").waitFor();
});
