// The form of a definition: folded fields, files, and saving what was checked.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { as, assertAccessible, becomes, service, unfold } from "../harness.mjs";

const { registry } = service;
const field = (page, label) => page.getByLabel(label, { exact: true });
const fold = (page, name) => page.locator("details.fold").filter({ has: page.locator("summary", { hasText: name }) });
const more = (page) => fold(page, /^Kind, base path/);
const tls = (page) => fold(page, /^TLS/);
const isOpen = (details) => details.evaluate(({ open }) => open);
const button = (page, name) => page.getByRole("button", { name, exact: true });
const outcome = (page, text) => page.getByRole("heading", { name: text, exact: true });

async function fill(page, { Authentication = "basic", ...values }) {
  await field(page, "Authentication").selectOption(Authentication);
  for (const [label, value] of Object.entries(values)) await field(page, label).fill(value);
}

const modes = ["admin", "member"].flatMap((role) => [true, false].map((javaScriptEnabled) => ({ role, javaScriptEnabled })));
const named = ({ role, javaScriptEnabled }) => `${role}, JavaScript ${javaScriptEnabled}`;
const good = { Endpoint: registry.endpoint, "Content path": registry.content, Username: registry.username, Password: registry.password };

for (const mode of modes) {
  test(`the short form is seen first, ${named(mode)}`, async (t) => {
    const page = await as(t, mode.role, { javaScriptEnabled: mode.javaScriptEnabled });
    for (const [address, name, most] of [["/console/check", "Check", 800], ["/console/registries/new", "Add", 850]].slice(0, mode.role === "admin" ? 2 : 1)) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(address);
      for (const label of ["Kind", "Base path", "References", "Provider type", "CA certificate", "Client certificate", "Client key", "Skip TLS verification"]) {
        assert.equal(await field(page, label).isVisible(), false, label);
      }
      const { y, height } = await button(page, name).boundingBox();
      assert.ok(y + height <= most, `${name} ends at ${y + height} px`);
      if (mode.javaScriptEnabled) await assertAccessible(page);
      await unfold(page);
      await field(page, "Base path").fill("a");
      await field(page, "Client key").fill("a");
      if (mode.javaScriptEnabled) await assertAccessible(page);
    }
  });

  test(`fields with a value or a problem are not folded, ${named(mode)}`, async (t) => {
    const page = await as(t, mode.role, { javaScriptEnabled: mode.javaScriptEnabled });
    await page.goto("/console/check");
    await fill(page, { Authentication: "noAuth", Endpoint: registry.endpoint });
    await button(page, "Check").click();
    await outcome(page, "Not valid").waitFor();
    assert.deepEqual([await isOpen(more(page)), await isOpen(tls(page))], [false, true], "the problem is in TLS");
    await page.getByRole("link", { name: "CA certificate" }).click();
    await becomes(field(page, "CA certificate"), ":target");
    await page.goto("/console/check");
    await unfold(page);
    await field(page, "Base path").fill("a");
    await field(page, "Client key").fill("no key");
    await button(page, "Check").click();
    await page.getByRole("alert").waitFor();
    assert.deepEqual([await isOpen(more(page)), await isOpen(tls(page))], [true, true]);
    await field(page, "Client key").waitFor();
    await page.getByRole("alert").getByRole("link", { name: /^Client key/ }).waitFor();
  });

  test(`PEM comes from a file, ${named(mode)}`, async (t) => {
    const page = await as(t, mode.role, { javaScriptEnabled: mode.javaScriptEnabled });
    await page.goto("/console/check");
    await fill(page, good);
    await unfold(page);
    await choose(page, "CA certificate", registry.ca);
    await button(page, "Check").click();
    await outcome(page, "Valid").waitFor();
    assert.equal(await field(page, "CA certificate").inputValue(), registry.ca);

    const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
    await field(page, "Password").fill(registry.password);
    await choose(page, "Client key", key);
    await button(page, "Check").click();
    const alert = page.getByRole("alert");
    await alert.getByText("Client certificate").waitFor();
    assert.equal(await field(page, "Client key").inputValue(), mode.javaScriptEnabled ? key : "");
    assert.ok(!(await page.content()).includes("PRIVATE KEY"), "the page has the key");
    assert.equal(await page.getByText("Enter it again.").count(), mode.javaScriptEnabled ? 0 : 2);
    if (mode.javaScriptEnabled) {
      assert.equal(await field(page, "Client key").evaluate((area) => getComputedStyle(area).webkitTextSecurity), "disc");
      assert.doesNotMatch(await page.evaluate(() => JSON.stringify(history.state)), /PRIVATE/);
      await assertAccessible(page);
    }
  });

  test(`files that are not PEM, or too large, ${named(mode)}`, async (t) => {
    const page = await as(t, mode.role, { javaScriptEnabled: mode.javaScriptEnabled });
    await page.goto("/console/check");
    await fill(page, good);
    await unfold(page);
    await choose(page, "CA certificate", Buffer.from([0x30, 0x82, 0xff, 0x00, 0x80]));
    await button(page, "Check").click();
    const alert = page.getByRole("alert");
    await alert.getByText("CA certificate must contain a PEM certificate").waitFor();
    await field(page, "Password").fill(registry.password);
    await choose(page, "CA certificate", "a".repeat(300 * 1024));
    if (mode.javaScriptEnabled) {
      await alert.getByText("The file must be at most 256 KiB.").waitFor();
    } else {
      await button(page, "Check").click();
      await alert.getByText("CA certificate must be at most 262144 bytes").waitFor();
    }
    assert.equal(await field(page, "Endpoint").inputValue(), registry.endpoint);
  });
}

// choose chooses a file for a field, and waits until a script has read it.
async function choose(page, label, content) {
  await page.getByLabel(`${label} from a file`).setInputFiles({ name: "file.pem", mimeType: "application/x-pem-file", buffer: Buffer.from(content) });
}

for (const javaScriptEnabled of [true, false]) {
  test(`a registry is saved two Tabs after its check, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/check");
    await fill(page, { Authentication: "noAuth", Endpoint: "https://127.0.0.1:1" });
    assert.equal(await button(page, "Save as registry").count(), 0, "there is no result yet");
    const focused = () => page.evaluate(() => document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent.trim());
    const save = async () => {
      await page.keyboard.press("Tab");
      assert.equal(await focused(), "Name");
      await page.keyboard.press("Tab");
      assert.equal(await focused(), "Save as registry");
    };
    await button(page, "Check").press("Enter");
    await becomes(outcome(page, "Not valid"), ":focus");
    await save();
    assert.ok(await page.evaluate(() => document.activeElement.closest(".result") !== null), "it is not in the result");
    await button(page, "Check").focus();
    await save();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type(`after two tabs, ${javaScriptEnabled}`);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("The registry is stored.").waitFor();
    await page.getByRole("heading", { name: `after two tabs, ${javaScriptEnabled}` }).waitFor();
    await page.goto(page.url().split("?")[0] + "/delete");
    await button(page, "Delete the registry").click();
    await page.getByText("The registry is deleted.").waitFor();
  });

  test(`a stored registry gets its CA from a file, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/registries/new");
    await fill(page, { ...good, Name: `from a file, ${javaScriptEnabled}` });
    await unfold(page);
    await choose(page, "CA certificate", registry.ca);
    await button(page, "Add").click();
    await page.getByText("The registry is stored.").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await field(page, "CA certificate").inputValue(), registry.ca);
    assert.deepEqual([await isOpen(more(page)), await isOpen(tls(page))], [false, true]);
    await unfold(page);
    await field(page, "Kind").selectOption("Chart repository");
    await field(page, "Content path").fill("podinfo");
    await field(page, "Password").fill(registry.password);
    await button(page, "Save").click();
    await page.getByText("The registry is stored.").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    assert.ok(await isOpen(more(page)));
    await button(page, "Save").click();
    await page.getByText("The registry is stored.").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await field(page, "Kind").inputValue(), "chartRepository", "saving the form changed the kind");
    await page.getByRole("link", { name: "Cancel" }).click();
    const kind = page.locator("dl div").filter({ has: page.getByText("Kind", { exact: true }) });
    assert.equal(await kind.locator("dd").textContent(), "Chart repository");
    await page.goto(page.url().split("?")[0] + "/delete");
    await button(page, "Delete the registry").click();
    await page.getByText("The registry is deleted.").waitFor();
  });
}

test("no button of the browser chooses files", async (t) => {
  const page = await as(t, "admin");
  for (const address of ["/console/check", "/console/registries/new", "/console/scan"]) {
    await page.goto(address);
    await unfold(page);
    const inputs = await page.locator("input[type=file]:visible").all();
    assert.ok(inputs.length > 0);
    for (const input of inputs) {
      const [radius, background, page_] = await input.evaluate((element) => {
        const style = getComputedStyle(element, "::file-selector-button");
        return [style.borderRadius, style.backgroundColor, getComputedStyle(document.body).backgroundColor];
      });
      assert.equal(radius, "6.4px", address);
      assert.equal(background, page_, address);
    }
  }
});
