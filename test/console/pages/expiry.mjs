import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, as, assertAccessible, service } from "../harness.mjs";

accessible("what expires", "admin", "/console/expiry");
accessible("what expires", "member", "/console/expiry");

test("what expires has a date and the days that are left, JavaScript off", async (t) => {
  const admin = await as(t, "admin", { javaScriptEnabled: false });
  for (const [name, days] of [["expires second", 200], ["expires <b>first</b>", 100]]) {
    await admin.goto("/console/api-keys/new");
    await admin.getByLabel("Name").fill(name);
    await admin.getByLabel("Expires on").fill(new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    await admin.getByRole("button", { name: "Create" }).click();
  }
  await admin.goto("/console/");
  await admin.getByRole("link", { name: "Expiry", exact: true }).click();
  const row = admin.getByRole("row", { name: "expires <b>first</b>" });
  assert.match(await row.textContent(), /API key.*20\d\d.*(99|100) days/s);
  const text = await admin.content();
  assert.ok(text.indexOf("&lt;b&gt;first") < text.indexOf("expires second"));
  const member = await as(t, "member");
  await member.goto("/console/expiry");
  assert.ok(!(await member.content()).includes("expires second"));
  await row.getByRole("link").click();
  await admin.getByRole("heading", { name: "API key expires" }).waitFor();
});

// subscribe requests a calendar as a program does: without cookie and header.
const subscribe = async (link) => {
  const response = await (await api).get(link, { headers: { Cookie: "" } });
  return { status: response.status(), type: response.headers()["content-type"], text: (await response.text()).replaceAll("\r\n ", "") };
};

for (const javaScriptEnabled of [true, false]) {
  test(`a link for a calendar is created, shown once, and deleted, JavaScript ${javaScriptEnabled ? "on" : "off"}`, async (t) => {
    const name = `calendar <b>${javaScriptEnabled}`;
    const page = await as(t, "member", { javaScriptEnabled, ...(javaScriptEnabled ? { permissions: ["clipboard-read", "clipboard-write"] } : {}) });
    await page.goto("/console/expiry");
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create a link" }).click();
    await page.getByRole("heading", { name: "Calendar link created" }).waitFor();
    const link = await page.locator("#link").textContent();
    assert.ok(link.startsWith(`${service.url}/v1/expiry/rwl_`), link);
    if (javaScriptEnabled) {
      await page.getByRole("button", { name: "Copy" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
      await assertAccessible(page);
    }
    const calendar = await subscribe(link);
    assert.equal(calendar.status, 200);
    assert.equal(calendar.type, "text/calendar; charset=utf-8");
    assert.match(calendar.text, /^BEGIN:VCALENDAR\r\n.*SUMMARY:API key calendar <b>(true|false) expires\r\n.*END:VCALENDAR\r\n$/s);

    await page.getByRole("link", { name: "Go to Expiry" }).click();
    const row = page.getByRole("region", { name: "Calendar links" }).getByRole("row", { name });
    assert.match(await row.textContent(), /In 12 months|In 1 year/);
    assert.ok(!(await page.content()).includes(link.split("/").at(-2)));
    if (javaScriptEnabled) await assertAccessible(page);

    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create a link" }).click();
    await page.getByRole("alert").getByText("already has an API key").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), name);

    await page.goto("/console/expiry");
    await row.getByRole("link", { name: `Delete ${name}` }).click();
    await page.getByRole("button", { name: "Delete the API key" }).click();
    await page.getByText("The API key is deleted.").waitFor();
    assert.equal((await subscribe(link)).status, 404);
    await page.goto("/console/expiry");
    assert.ok(!(await page.content()).includes("Calendar links"));
  });
}
