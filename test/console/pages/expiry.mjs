import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, html } from "../harness.mjs";

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
  assert.match(await row.textContent(), /API key.*20\d\d.*100 days/s);
  const text = await html(admin);
  assert.ok(text.indexOf("&lt;b&gt;first") < text.indexOf("expires second"));
  const member = await as(t, "member");
  await member.goto("/console/expiry");
  assert.ok(!(await html(member)).includes("expires second"));
  await row.getByRole("link").click();
  await admin.getByRole("heading", { name: "API key expires" }).waitFor();
});
