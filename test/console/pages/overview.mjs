import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as } from "../harness.mjs";

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
    assert.match(await since.getAttribute("title"), /^\w+, \d+ \w+ \d{4} \d\d:\d\d:\d\d UTC$/);
  });
}

test("the overview shows recent changes", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/");
  const changes = page.getByRole("region", { name: "Recent changes" });
  for (const [name, what] of [["charts", "stored"], ["wrong-password", "failing: RegistryAuthFailed"]]) {
    await changes.getByRole("row", { name }).filter({ hasText: what }).waitFor();
  }
});
