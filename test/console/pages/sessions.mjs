import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, assertAccessible, fillIn, open } from "../harness.mjs";
import { logIn, newAccount } from "../account.mjs";

const list = "/console/sessions";
const ended = (page) => page.goto("/console/").then(() => page.getByText("Your session has ended.").waitFor());

for (const role of ["admin", "member"]) {
  accessible("the list of sessions", role, list);

  test(`${role} ends sessions`, async (t) => {
    const account = await newAccount(role);
    const page = await logIn(t, account);
    const others = [];
    for (let n = 0; n < 2; n++) others.push(await logIn(t, account));
    await page.goto(list);
    const sessions = page.locator("tbody tr"); // on a phone the row of headings is hidden
    assert.equal(await sessions.count(), 3);
    const current = page.getByRole("row", { name: "This session" });
    assert.equal(await current.getByRole("button").count(), 0);
    assert.match(await current.textContent(), /127\.0\.0\.1.*A browser.*In 7 days/s);
    await assertAccessible(page);

    await page.getByRole("row", { name: "End the session" }).last().getByRole("button").click(); // the oldest is the last
    await page.getByText("The session has ended.").waitFor();
    assert.equal(await sessions.count(), 2);
    await ended(others[0]);

    await page.getByRole("button", { name: "End all other sessions" }).click();
    await page.getByText("Your other sessions have ended.").waitFor();
    assert.equal(await sessions.count(), 1);
    assert.equal(await page.getByRole("button", { name: /^End/ }).count(), 0);
    await ended(others[1]);
  });

  test(`${role} changes the own password, JavaScript off`, async (t) => {
    const account = await newAccount(role);
    const other = await logIn(t, account);
    const page = await logIn(t, account, { javaScriptEnabled: false });
    const password = "two herons in the reeds";
    const change = async (current, next) => {
      await page.getByLabel("Current password").fill(current);
      await page.getByLabel("New password").fill(next);
      await page.getByRole("button", { name: "Change the password" }).click();
    };
    await page.goto("/console/");
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("At least 15 characters").waitFor();
    await change(account.password, "short");
    await page.getByRole("alert").getByText("New password must").waitFor();
    await change("another password", password);
    const alert = page.getByRole("alert");
    await alert.getByText("Current password does not match your password").waitFor();
    assert.ok(!(await page.content()).includes(password));
    assert.equal(await page.getByRole("row").count(), 3);

    const [former] = (await page.context().cookies()).filter(({ name }) => name.endsWith("-session"));
    await change(account.password, password);
    await page.getByText("Your password is changed.").waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    const [renewed] = (await page.context().cookies()).filter(({ name }) => name.endsWith("-session"));
    assert.deepEqual({ ...renewed, value: "", expires: 0 }, { ...former, value: "", expires: 0 });
    assert.notEqual(renewed.value, former.value);
    const copy = await open(t);
    await copy.context().addCookies([former]);
    await ended(copy); // the former cookie is of no use
    await ended(other);
    await fillIn(other, { ...account, password });
    await other.getByRole("heading", { name: "Overview" }).waitFor();
  });
}

test("a form of a tab in which another user was logged in is refused", async (t) => {
  const page = await logIn(t, await newAccount("admin"), { expect: ["status of 409"] });
  await page.goto("/console/projects/new");
  await page.getByLabel("Name").fill("opened by another user");
  const other = await logIn(t, await newAccount("admin"));
  await page.context().addCookies(await other.context().cookies());
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Another user opened this form.").waitFor();
  await page.goto("/console/projects");
  assert.equal(await page.getByText("opened by another user").count(), 0);
});

test("a user cannot end the session of another user", async (t) => {
  const first = await newAccount();
  const second = await newAccount("admin");
  const page = await logIn(t, first);
  await logIn(t, first);
  await page.goto(list);
  const path = await page.locator("form[action$='/end']").getAttribute("action");
  const other = await logIn(t, second);
  assert.equal((await other.request.post(path)).status(), 404);
  await other.request.post(list + "/end-others");
  await page.reload();
  assert.equal(await page.getByRole("row").count(), 3);
});
