// The stages of a report, at a check and on the page of a registry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { authenticate } from "../account.mjs";
import { api, as, assertAccessible, service } from "../harness.mjs";

const regionOf = (page) => page.getByRole("region", { name: "Stages" });

const checked = async (page) => {
  await page.goto("/console/check");
  await page.getByLabel("Endpoint").fill(service.registry.endpoint);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("heading", { name: "Not valid" }).waitFor();
};
const stored = async (page) => {
  await page.goto("/console/registries?name=wrong-password");
  await page.getByRole("link", { name: "wrong-password", exact: true }).click();
  await page.getByRole("heading", { name: "Failing" }).waitFor();
};

// layout runs in the page: left and right edges of what is drawn.
function layout(region) {
  const edges = (element) => {
    const { left, right } = element.getBoundingClientRect();
    return [Math.round(left), Math.round(right)];
  };
  const all = (selector) => [...region.querySelectorAll(selector)].filter(({ textContent }) => textContent).map(edges);
  return {
    region: edges(region),
    bars: [...region.querySelectorAll(".bar")].map(edges),
    times: all("tbody .figure:nth-of-type(2)"),
    trips: all("tbody [data-label]"),
    overflow: region.scrollWidth > region.clientWidth || document.documentElement.scrollWidth > innerWidth,
    numbers: getComputedStyle(region.querySelector("tbody .figure")).fontVariantNumeric,
  };
}

for (const [name, open] of [["a check", checked], ["a registry", stored]]) {
  for (const role of ["admin", "member"]) {
    for (const javaScriptEnabled of [true, false]) {
      test(`the stages of ${name} are on one axis of the whole width, ${role}, JavaScript ${javaScriptEnabled}`, async (t) => {
        const page = await as(t, role, { javaScriptEnabled });
        await open(page);
        const region = regionOf(page);
        const distinct = (list, side) => [...new Set(list.map((edges) => edges[side]))];
        for (const width of [320, 768, 1280, 1920, 2560]) {
          await page.setViewportSize({ width, height: 800 });
          const { region: [left, right], bars, times, trips, overflow, numbers } = await region.evaluate(layout);
          assert.ok(bars.length >= 3, `${bars.length} bars`);
          assert.ok(!overflow, `overflow at ${width} px`);
          for (const [from, to] of bars) {
            assert.ok(from - left < 16 && right - to < 16, `a bar from ${from} to ${to}, in ${left} to ${right} at ${width} px`);
          }
          assert.equal(numbers, "tabular-nums");
          assert.equal(distinct(times, 1).length, 1, `times end at ${distinct(times, 1)} at ${width} px`);
          if (width === 2560) assert.equal(distinct(trips, 1).length, 1, `round trips end at ${distinct(trips, 1)}`);
        }
        assert.match(await region.locator(".scale").textContent(), /^0 ms[\d,]+ ms$/);
        if (javaScriptEnabled) await assertAccessible(page);
      });
    }
  }
}

test("stages and results have the words of the command line", async (t) => {
  const page = await as(t, "member");
  await checked(page);
  const response = await (await api).post("/v1/registries/oci/basic/diagnose", {
    headers: { Authorization: await authenticate(service.member) },
    data: { endpoint: service.registry.endpoint, auth: { type: "noAuth" } },
  });
  const report = await response.json();
  const rows = regionOf(page).locator("tbody");
  const lower = (list) => list.map((text) => text.toLowerCase());
  assert.deepEqual(lower(await rows.getByRole("rowheader").allTextContents()), report.stages.map(({ name }) => name));
  assert.deepEqual(lower(await rows.locator(".state").allTextContents()), report.stages.map(({ status }) => status));
  assert.equal(await page.getByText("Name resolution").count(), 0);
});
