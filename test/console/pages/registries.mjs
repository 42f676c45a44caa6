import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes } from "../harness.mjs";

// detail opens the page of a registry.
async function detail(page, name) {
  await page.goto("/console/registries");
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

// noteProgress runs in the page: Playwright looks at no page that is being left, so the page notes what it shows.
function noteProgress(status) {
  delete sessionStorage.progress;
  new MutationObserver(() => (sessionStorage.progress ||= status.textContent)).observe(status, { childList: true });
}

for (const role of ["admin", "member"]) {
  accessible("the list of registries", role, "/console/registries");

  test(`the list of registries, filtered and sorted by ${role}`, async (t) => {
    const page = await as(t, role, { javaScriptEnabled: role === "admin" });
    await page.goto("/console/registries");
    const rows = page.getByRole("region", { name: "Registries" }).getByRole("row");
    const failing = rows.filter({ hasText: "wrong-password" });
    assert.match(await failing.textContent(), /Failing.*rejected the credentials/s);
    assert.equal(await page.getByRole("link", { name: "Add a registry" }).count(), role === "admin" ? 1 : 0);

    await page.getByLabel("Health", { exact: true }).selectOption("failing");
    await page.getByRole("button", { name: "Filter" }).click();
    await failing.waitFor();
    assert.equal(await rows.filter({ hasText: "charts" }).filter({ hasText: "healthy" }).count(), 0);
    await page.getByLabel("Health", { exact: true }).selectOption("");
    await page.getByLabel("Name contains").fill("HART");
    await page.getByRole("button", { name: "Filter" }).click();
    await rows.filter({ hasText: "charts" }).waitFor();
    assert.equal(await failing.count(), 0);
    await page.getByLabel("Name contains").fill("no such name");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No registry matches.").waitFor();
    await page.getByRole("link", { name: "Show all registries" }).click();

    await page.getByRole("link", { name: "Since" }).click();
    await page.locator("th[aria-sort=descending]", { hasText: "Since" }).waitFor();
    assert.match(page.url(), /sort=since/);
  });

  test(`the list of registries, sorted both ways by ${role}`, async (t) => {
    const page = await as(t, role, { javaScriptEnabled: role === "admin" });
    await page.goto("/console/registries");
    const names = page.getByRole("region", { name: "Registries" }).getByRole("rowheader").getByRole("link");
    await page.locator("th[aria-sort=ascending]", { hasText: "Health" }).getByRole("link", { name: "Health healthy first" }).waitFor();
    for (const [link, sort, first] of [["Registry A to Z", "ascending", 0], ["Registry Z to A", "descending", -1], ["Registry A to Z", "ascending", 0]]) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.locator(`th[aria-sort=${sort}]`, { hasText: "Registry" }).waitFor();
      const shown = await names.allTextContents();
      assert.equal(shown.at(first), [...shown].sort().at(0));
    }
    assert.equal(await page.locator("th[aria-sort]").count(), 1);
  });

  for (const javaScriptEnabled of [true, false]) {
    test(`the list of registries on a phone begins with what fails and why, ${role}, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      await page.setViewportSize({ width: 320, height: 640 });
      await page.goto("/console/registries");
      const list = page.getByRole("region", { name: "Registries" });
      assert.match(await list.getByRole("row").nth(1).textContent(), /Failing/);
      const failing = list.getByRole("row", { name: "wrong-password" });
      const [row, cause] = [await failing.boundingBox(), await failing.getByText(/rejected the credentials/).boundingBox()];
      assert.ok(cause.x >= 0 && cause.x + cause.width <= 320, `the cause is at ${cause.x}, ${cause.width} px wide`);
      assert.ok(cause.y - row.y < 200, `the cause is ${cause.y - row.y} px below the name`);
      assert.ok(await list.evaluate((element) => element.scrollWidth <= element.clientWidth), "the list scrolls sideways");
    });

    test(`what expires soon, found by ${role} with one click, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      await page.goto("/console/");
      await page.getByRole("term").filter({ hasText: "Expires soon" }).locator("+ dd").getByRole("link").click();
      const rows = page.getByRole("region", { name: "Registries" }).getByRole("row");
      await page.locator("th[aria-sort=ascending]", { hasText: "Expires" }).waitFor();
      assert.match(await rows.nth(1).textContent(), /^expiring-token.*\d{4}-\d\d-\d\d, in 3 days/s);
      assert.equal(await rows.filter({ hasText: "charts" }).filter({ hasText: "wrong-password" }).count(), 0);
      if (javaScriptEnabled) await assertAccessible(page);
      await page.getByLabel("Expiry").selectOption("");
      await page.getByLabel("Label").fill("team=none");
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByText("No registry matches.").waitFor();
    });
  }

  test(`a registry, shown to ${role}`, async (t) => {
    const page = await as(t, role);
    await detail(page, "wrong-password");
    assert.match(await page.getByRole("region", { name: "Failing" }).textContent(), /rejected the credentials.*Fix: Correct the username.*Field: Password/s);
    await page.getByText(/^Uptime 0 %. Since it was stored: failing for .*\.$/).waitFor();
    const day = page.getByRole("radio", { name: /^20\d\d-\d\d-\d\d: 0 % healthy, 1 failure$/ });
    assert.equal(await page.getByRole("group", { name: "Days in UTC" }).getByRole("radio").count(), await day.count());
    await day.first().press("Space");
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".day span")).opacity === "1");
    await page.getByRole("heading", { name: "First report of this result" }).waitFor();
    const [result, definition] = [await page.getByRole("region", { name: "Failing" }).boundingBox(), await page.getByRole("region", { name: "Definition", exact: true }).boundingBox()];
    assert.ok(definition.x >= result.x + result.width && definition.y < result.y + 10, "the definition is next to the result");
    if (role === "admin") await page.getByText("More", { exact: true }).click();
    for (const action of ["Edit", "Delete"]) {
      assert.equal(await page.getByRole("link", { name: action }).count(), role === "admin" ? 1 : 0, action);
    }
    const heights = await page.locator("main > .actions").locator("button, .button").evaluateAll((all) => all.map((one) => one.offsetHeight));
    assert.equal(new Set(heights).size, 1, String(heights));
    await assertAccessible(page);
    if (role === "admin") {
      await page.getByRole("link", { name: "Delete" }).press("Escape");
      assert.equal(await page.getByRole("link", { name: "Delete" }).isVisible(), false);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "More");
      await page.getByRole("link", { name: "Password", exact: true }).click();
      await page.getByLabel("Password").waitFor();
      assert.match(page.url(), /\/edit#field-password$/);
    }
  });

  test(`the content of a registry, shown to ${role}`, async (t) => {
    const page = await as(t, role);
    await detail(page, "charts");
    const content = page.getByRole("link", { name: "Show repositories and tags" });
    while ((await content.count()) === 0) await page.reload(); // until the first synchronization has ended
    await content.click();
    const table = page.getByRole("region", { name: "Repositories and tags" });
    await table.getByRole("row", { name: /6\.7\.1/ }).waitFor();
    await assertAccessible(page);
    await page.getByLabel("Repository").fill("nothing");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("link", { name: "Show all content" }).click();
    await table.waitFor();
  });

  for (const javaScriptEnabled of [true, false]) {
    test(`${role} checks a registry now, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      await detail(page, "charts");
      if (javaScriptEnabled) await page.locator("form[data-progress] [role=status]").evaluate(noteProgress); // progress.js adds it
      await page.getByRole("button", { name: "Check now" }).click();
      await page.getByText("The check has ended.").waitFor();
      await page.getByText("The registry works").waitFor();
      if (javaScriptEnabled) assert.equal(await page.evaluate(() => sessionStorage.progress), "The registry is being checked, which takes a minute at most.");
    });
  }
}

test("a check that the browser canceled can be requested again", async (t) => {
  const page = await as(t, "admin", { expect: ["ERR_ABORTED"] });
  await page.clock.install();
  await detail(page, "charts");
  await page.route("**/check", (route) => route.abort("aborted"));
  const button = page.getByRole("button", { name: "Check now" });
  await button.click();
  await becomes(button, "[aria-disabled]");
  await page.clock.fastForward(75_000); // longer than a check takes
  await becomes(button, ":not([aria-disabled])");
});

test("times are absolute on demand, in the zone of the reader", async (t) => {
  const page = await as(t, "member", { timezoneId: "Asia/Tokyo" });
  await detail(page, "wrong-password");
  const time = page.getByRole("region", { name: "Failing" }).getByRole("time").first();
  assert.match(await time.textContent(), /ago$|^Just now$/);
  const exact = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+9$/;
  assert.match(await time.getAttribute("title"), exact);
  await page.getByRole("button", { name: "Absolute times" }).click();
  assert.match(await time.textContent(), exact);
  await page.goto("/console/");
  assert.match(await page.getByRole("time").first().textContent(), exact);
  await page.getByRole("button", { name: "Absolute times" }).click();
  assert.doesNotMatch(await page.getByRole("time").first().textContent(), exact);
});
