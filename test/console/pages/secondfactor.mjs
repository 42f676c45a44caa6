import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { accessible, as, assertAccessible, fillIn, open, service } from "../harness.mjs";
import { logIn, newAccount } from "../account.mjs";

const page = "/console/sessions/second-factor";

// code is that of an app (RFC 6238), so many time steps from now.
function code(key, steps) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...key].map((letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000) + steps));
  const sum = createHmac("sha1", Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))).update(counter).digest();
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1e6).padStart(6, "0");
}

// wrongCode is six digits that no app shows around now.
function wrongCode(key) {
  const right = [-1, 0, 1, 2].map((steps) => code(key, steps));
  return ["000000", "000001", "000002", "000003", "000004"].find((digits) => !right.includes(digits));
}

accessible("the second factor", "member", page);

for (const javaScriptEnabled of [true, false]) {
  test(`a second factor is added, asked for and removed, JavaScript ${javaScriptEnabled}`, async (t) => {
    const account = await newAccount("member");
    const tab = await logIn(t, account, { javaScriptEnabled });
    await tab.goto("/console/sessions");
    await tab.getByRole("link", { name: "Set up or change it" }).click();
    await tab.getByLabel("Current password").fill("wrong");
    await tab.getByRole("button", { name: "Add a second factor" }).click();
    assert.match(await tab.getByRole("alert").textContent(), /does not match your password/);
    await tab.getByLabel("Current password").fill(account.password);
    await tab.getByRole("button", { name: "Add a second factor" }).click();
    await tab.getByRole("img", { name: "QR code of the key" }).waitFor();
    if (javaScriptEnabled) await assertAccessible(tab);
    const key = (await tab.locator("#factor").textContent()).trim();
    assert.match(key, /^[A-Z2-7]{32}$/);
    await tab.getByRole("textbox", { name: "Code" }).fill(wrongCode(key));
    await tab.getByRole("button", { name: "Confirm" }).click();
    assert.match(await tab.getByRole("alert").textContent(), /is wrong, or was used before/);
    assert.ok(!(await tab.content()).includes(key)); // shown once
    const used = code(key, 0);
    await tab.getByRole("textbox", { name: "Code" }).fill(used);
    await tab.getByRole("button", { name: "Confirm" }).click();
    await tab.getByRole("heading", { name: "Recovery codes" }).waitFor();
    if (javaScriptEnabled) await assertAccessible(tab);
    const recovery = (await tab.locator("#codes").textContent()).trim().split("\n");
    assert.equal(recovery.length, 10);
    assert.equal(await tab.getByRole("button", { name: "Print" }).isVisible(), javaScriptEnabled);
    await tab.getByRole("link", { name: "Continue" }).click();
    await tab.getByText("You have 10 recovery codes left.").waitFor();
    if (javaScriptEnabled) await assertAccessible(tab);

    const other = await open(t, { javaScriptEnabled });
    await other.goto("/console/check");
    await fillIn(other, account);
    await other.getByRole("heading", { name: "Enter a code" }).waitFor();
    if (javaScriptEnabled) await assertAccessible(other);
    await other.goto("/console/"); // the password alone is no login
    await other.getByRole("heading", { name: "Log in" }).waitFor();
    await other.goto("/console/login/code?next=%2Fconsole%2Fcheck");
    await other.getByRole("textbox", { name: "Code" }).fill(used);
    await other.getByRole("button", { name: "Log in" }).click();
    assert.match(await other.getByRole("alert").textContent(), /wrong, or was used before/);
    await other.getByRole("textbox", { name: "Code" }).fill(code(key, 1)); // the present one may be the one before still
    await other.getByRole("button", { name: "Log in" }).click();
    await other.getByRole("heading", { name: /^Check/ }).waitFor();
    const cookies = await other.context().cookies();
    assert.deepEqual(cookies.map((cookie) => cookie.name).sort(), ["__Host-regwarden-organization", "__Host-regwarden-session"]);

    await other.goto(page);
    const remove = other.locator("form[action$='/remove']");
    await remove.getByLabel("Current password").fill(account.password);
    await remove.getByRole("textbox", { name: "Code" }).fill(recovery[0]);
    await remove.getByRole("button").click();
    await other.getByText("Your second factor is removed.").waitFor();
    const third = await logIn(t, account);
    await third.goto(page);
    await third.getByRole("button", { name: "Add a second factor" }).waitFor();
  });
}

test("a login that does not wait any more", async (t) => {
  const tab = await open(t);
  await tab.goto("/console/login/code");
  await tab.getByText("The login was not completed in time. Log in again.").waitFor();
});

test("an administrator removes the second factor of a user", async (t) => {
  const account = await newAccount("member");
  const tab = await logIn(t, account);
  await tab.goto(page);
  await tab.getByLabel("Current password").fill(account.password);
  await tab.getByRole("button", { name: "Add a second factor" }).click();
  const key = (await tab.locator("#factor").textContent()).trim();
  await tab.getByRole("textbox", { name: "Code" }).fill(code(key, 0));
  await tab.getByRole("button", { name: "Confirm" }).click();
  await tab.getByRole("heading", { name: "Recovery codes" }).waitFor();

  const admin = await as(t, "admin");
  await admin.goto("/console/users?filter=" + encodeURIComponent(account.email));
  await admin.getByRole("button", { name: "Require a second factor" }).waitFor();
  await admin.getByRole("link", { name: account.email }).click();
  await admin.getByRole("button", { name: "Remove the second factor" }).click();
  await admin.getByText("The second factor of the user is removed.").waitFor();
  assert.ok(service.url);
  await logIn(t, account);
});
