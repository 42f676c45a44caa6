import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as } from "../harness.mjs";

accessible("the settings", "admin", "/console/settings");

test("an administrator sees the settings and their source", async (t) => {
  const page = await as(t, "admin", { javaScriptEnabled: false });
  await page.goto("/console/");
  await page.getByRole("link", { name: "Settings" }).click();
  for (const [name, ...want] of [["tls-self-signed", "true", "flag", "serve TLS with a generated certificate, for trials"], ["log-format", "text", "default", "format of log lines: text or json"]]) {
    const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    assert.deepEqual(await row.getByRole("cell").allTextContents(), want, name);
  }
});

test("a member has no page of settings", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/");
  assert.equal(await page.getByRole("link", { name: "Settings" }).count(), 0);
  assert.equal((await page.goto("/console/settings")).status(), 403);
  assert.equal(await page.getByText("session-idle").count(), 0);
});
