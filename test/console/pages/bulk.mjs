import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, download } from "../harness.mjs";

accessible("the list with actions", "admin", "/console/registries?name=bulk");

// store creates registries with these names and one password.
async function store(page, names, password) {
  for (const name of names) {
    await page.goto("/console/registries/new");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Endpoint").fill("http://127.0.0.1:1");
    await page.getByLabel("Authentication").selectOption("basic");
    await page.getByLabel("Username").fill("robot");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
  }
}

// choose opens the list of registries with this name, and chooses some of them.
async function choose(page, filter, ...names) {
  await page.goto(`/console/registries?name=${filter}`);
  for (const name of names) await page.getByLabel(`Choose ${name}`, { exact: true }).check();
}

for (const javaScriptEnabled of [true, false]) {
  test(`many registries are labeled, checked, given a password and deleted, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    const of = (name) => `bulk-${javaScriptEnabled}-${name}`;
    await store(page, [of("a"), of("b<b>")], "first 7713 secret");
    await store(page, [of("c")], "other 9918 secret");

    await page.goto("/console/registries");
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText("Choose at least one registry.").waitFor();

    await choose(page, of(""), of("a"), of("b<b>"));
    await page.getByRole("button", { name: "Set labels" }).click();
    await page.getByRole("heading", { name: "Set labels of 2 registries?" }).waitFor();
    assert.match(await page.getByRole("main").textContent(), new RegExp(`${of("a")}.*${of("b<b>")}`, "s"));
    await page.getByRole("button", { name: "Set labels" }).click();
    await page.getByText("Labels is required").first().waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Labels").fill(`team=${of("x")}\nold-`);
    await page.getByRole("button", { name: "Set labels" }).click();
    await page.getByRole("heading", { name: "The labels of 2 registries are changed." }).waitFor();

    await page.goto(`/console/registries?label=team%3D${of("x")}`);
    await page.getByLabel("All 2 that match").check();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByRole("heading", { name: "Checks of 2 registries are requested." }).waitFor();

    await choose(page, of(""), of("b<b>"));
    await page.getByRole("button", { name: "Replace credentials" }).click();
    await page.getByText("These registries have the same credentials").waitFor();
    const main = await page.getByRole("main").textContent();
    assert.ok(main.includes(of("a")) && !main.includes(of("c")), main);
    assert.equal(await page.getByLabel("Username").inputValue(), "robot");
    await page.getByRole("button", { name: "Replace credentials" }).click();
    await page.getByText("Password is required").first().waitFor();
    await page.getByLabel("Password").fill("entirely zw5512 new");
    await page.getByRole("button", { name: "Replace credentials" }).click();
    await page.getByRole("heading", { name: "The credentials of 2 registries are replaced." }).waitFor();
    assert.ok(!(await page.content()).includes("zw5512"));

    await choose(page, of(""));
    await page.getByLabel("All 3 that match").check();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Delete 3 registries?" }).waitFor();
    await page.getByRole("link", { name: "Cancel" }).click();
    await choose(page, of(""), of("a"), of("b<b>"), of("c"));
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "3 registries deleted." }).waitFor();
    await page.goto(`/console/registries?name=${of("")}`);
    await page.getByText("No registry matches.").waitFor();
  });
}

test("what a registry of the request is refused for is said, and the others are changed", async (t) => {
  const page = await as(t, "admin");
  await store(page, ["bulk-stays", "bulk-gone"], "first 7713 secret");
  await choose(page, "bulk-", "bulk-stays", "bulk-gone");
  await page.getByRole("button", { name: "Delete" }).click();
  const other = await as(t, "admin");
  await choose(other, "bulk-gone", "bulk-gone");
  await other.getByRole("button", { name: "Delete" }).click();
  await other.getByRole("button", { name: "Delete" }).click();
  await other.getByRole("heading", { name: "1 registry deleted." }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Refused: 1 registry" }).waitFor();
  assert.match(await page.getByRole("main").textContent(), /1 registry deleted.*Registry not found/s);
});

test("a member sees only the actions that it may do", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/registries");
  assert.equal(await page.getByRole("button", { name: "Check now" }).count(), 1);
  assert.equal(await page.getByRole("button", { name: "Delete" }).count(), 0);
  const refused = await page.request.post("/console/registries/bulk", { form: { action: "delete", all: "true" }, headers: { "Sec-Fetch-Site": "same-origin" } });
  assert.equal(refused.status(), 403);
});

test("the list as CSV has what the filter matches, and no formula", async (t) => {
  const page = await as(t, "admin");
  await store(page, ["=1+1 csv"], "first 7713 secret");
  await page.goto("/console/registries?name=csv");
  const { name, text } = await download(page, "Download as CSV");
  assert.equal(name, "registries.csv");
  assert.match(text, /^uid,name,endpoint,.*\n[0-9a-f-]{36},'=1\+1 csv,http:\/\/127.0.0.1:1,[^\n]*\n$/);
  await choose(page, "csv", "=1+1 csv");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "1 registry deleted." }).waitFor();
});
