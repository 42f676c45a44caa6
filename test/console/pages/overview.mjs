import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, count } from "../harness.mjs";

for (const role of ["admin", "member"]) {
  accessible("the overview", role, "/console/");

  test(`the overview shows ${role} which registries fail`, async (t) => {
    const page = await as(t, role);
    await page.goto("/console/");
    for (const [label, least] of [["Healthy", 1], ["Failing", 1], ["Unknown", 0]]) { // other tests store registries too
      const n = await page.getByRole("term").filter({ hasText: label }).locator("+ dd").textContent();
      assert.ok(/^\d+$/.test(n) && Number(n) >= least, `${label}: ${n}`);
    }
    const row = page.getByRole("region", { name: "Failing registries" }).getByRole("row", { name: "wrong-password" });
    assert.match(await row.textContent(), /rejected the credentials.*Correct the username/s);
    const since = row.getByRole("time");
    assert.match(await since.textContent(), /^(just now|\d+ minutes? ago)$/);
    assert.match(await since.getAttribute("title"), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  });
}

for (const role of ["admin", "member"]) {
  test(`the overview, the list and the registry show ${role} that credentials expire soon`, async (t) => {
    const page = await as(t, role);
    await page.goto("/console/");
    const expiring = page.getByRole("region", { name: "Certificates and credentials that expire soon" });
    assert.equal(await count(expiring.getByRole("row", { name: "wrong-password" })), 0);
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
  for (const [name, what] of [["charts", "stored"], ["wrong-password", "failing: RegistryAuthFailed"], ["expiring-token", "credentials expire soon"]]) {
    await changes.getByRole("row", { name }).filter({ hasText: what }).waitFor();
  }
});

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
    const list = page.getByRole("region", { name: "Failing registries" });
    assert.ok(await list.evaluate((region) => region.scrollWidth <= region.clientWidth), `causes are cut off at ${width} px`);
    const lines = await page.locator(".counts dt").evaluateAll((labels) => labels.map((label) => [label.textContent, label.clientHeight]));
    for (const [label, height] of lines) assert.ok(height < 26 * label.split(" ").length, `${label} is ${height} px high at ${width} px`);
  }
});
