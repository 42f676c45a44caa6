import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, download } from "../harness.mjs";

// Names, messages and labels that are too long for a row are stored by storeLong in console_test.go.
const list = "/console/registries?name=long";
const twoLines = 66; // px: two lines of 24 px, and what is around them

for (const role of ["admin", "member"]) {
  accessible("the list with long texts", role, list);

  for (const javaScriptEnabled of [true, false]) {
    test(`rows of registries have two lines at most, ${role}, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      for (const width of [1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(list);
        const region = page.getByRole("region", { name: "Registries" });
        const rows = region.locator("tbody tr");
        assert.ok((await rows.count()) > 0);
        await region.evaluate((list) => list.querySelectorAll("time").forEach((time) => / ago$|^just now$/.test(time.textContent) && (time.textContent = "119 minutes ago"))); // the longest one
        for (const row of await rows.all()) {
          const { height } = await row.boundingBox();
          assert.ok(height <= twoLines, `${height} px at ${width} px: ${await row.textContent()}`);
        }
        assert.ok(await region.evaluate((element) => element.scrollWidth <= element.clientWidth), `the list scrolls sideways at ${width} px`);
        assert.equal(await region.getByRole("columnheader", { name: "Content" }).isVisible(), width > 1536);
      }
      const row = page.getByRole("row", { name: /^(Choose )?long/ }).first();
      assert.match(await row.getByRole("rowheader").getByRole("link").getAttribute("title"), /^long.{200}/);
      assert.match(await row.getByText("team-00=").getAttribute("title"), /team-00=.*team-29=/);
      await row.getByRole("img", { name: "0 % healthy in 30 days" }).waitFor();
      await row.getByText("No credentials").waitFor();
      if (javaScriptEnabled) await assertAccessible(page);
    });

    test(`the first cause is in the first screen of a phone, ${role}, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      await page.setViewportSize({ width: 390, height: 844 });
      await page.goto("/console/registries");
      const region = page.getByRole("region", { name: "Registries" });
      const cause = await region.locator("td.text").first().boundingBox();
      assert.ok(cause.height > 20 && cause.y + cause.height <= 844, `the cause ends at ${cause.y + cause.height} px`);
      assert.ok(await region.evaluate((element) => element.scrollWidth <= element.clientWidth), "the list scrolls sideways");
    });
  }
}

test("the file has what narrow windows leave out", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list);
  const { text } = await download(page, "Download as CSV");
  assert.match(text, /kind,authentication,repositories,tags,labels,history/);
  assert.match(text, /OCI,No credentials,0,0,"team-00=.*team-29=[^"]*",0 % healthy in 30 days/);
});
