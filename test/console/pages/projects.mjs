import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible } from "../harness.mjs";
import { newAccount } from "../account.mjs";

const list = "/console/projects";

for (const role of ["admin", "member"]) accessible("the list of projects", role, list);
accessible("the form of a new project", "admin", list + "/new");

for (const javaScriptEnabled of [true, false]) {
  test(`an administrator creates, renames and deletes a project, JavaScript ${javaScriptEnabled}`, async (t) => {
    const name = `<img src=x onerror=alert(1)> ${javaScriptEnabled}`;
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(list);
    await page.getByRole("link", { name: "Create a project" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("Name is required").waitFor();
    await page.getByLabel("Name").fill("default");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("A project with this name already exists.").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "default");
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The project is created.").waitFor();

    await page.getByRole("searchbox", { name: "Name" }).fill("ONERROR=");
    await page.getByRole("button", { name: "Filter" }).click();
    assert.equal(await page.getByRole("row").count(), 2);
    await page.getByRole("link", { name: `Rename ${name}` }).click();
    assert.equal(await page.getByLabel("Name").inputValue(), name);
    await page.getByLabel("Name").fill("renamed " + name);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("The project has a new name.").waitFor();

    await page.getByRole("link", { name: `Delete renamed ${name}` }).click();
    await page.getByRole("heading", { name: `Delete the project renamed ${name}?` }).waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByRole("button", { name: "Delete the project" }).click();
    await page.getByText("The project is deleted.").waitFor();
    assert.equal(await page.getByRole("row", { name }).count(), 0);
  });
}

test("a project that has members is not deleted", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list + "/new");
  await page.getByLabel("Name").fill("in use");
  await page.getByRole("button", { name: "Create" }).click();
  const user = await newAccount();
  await page.goto(`/console/users/${user.uid}`);
  await page.getByLabel("Projects").fill("in use");
  await page.getByRole("button", { name: "Set the projects" }).click();
  await page.goto(list);
  await page.getByRole("link", { name: "Delete in use" }).click();
  await page.getByRole("button", { name: "Delete the project" }).click();
  await page.getByRole("heading", { name: "Not possible" }).waitFor();
  await page.getByText(`members (${user.email})`).waitFor();
  await page.getByRole("link", { name: "Go to Projects" }).click();
  await page.getByRole("rowheader", { name: "in use" }).waitFor();
});

test("a member sees its projects, and changes none", async (t) => {
  const admin = await as(t, "admin");
  await admin.goto(list);
  const path = await admin.getByRole("link", { name: "Rename Default" }).getAttribute("href");
  const page = await as(t, "member");
  await page.goto(list);
  await page.getByText("You are not a member of any project.").waitFor();
  assert.equal(await page.getByRole("link", { name: "Create a project" }).count(), 0);
  for (const address of [list + "/new", path, path + "/delete"]) {
    assert.equal((await page.goto(address)).status(), 403, address);
  }
  for (const address of [list + "/new", path, path + "/delete"]) {
    assert.equal((await page.request.post(address, { form: { name: "forged" } })).status(), 403, address);
  }
  await admin.reload();
  await admin.getByRole("rowheader", { name: "Default" }).waitFor();
  assert.equal(await admin.getByText("forged").count(), 0);
});
