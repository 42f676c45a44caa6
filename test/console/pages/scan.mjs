import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes, serve, service } from "../harness.mjs";

for (const role of ["admin", "member"]) accessible("the scan", role, "/console/scan");

// docker is a file with the password of one registry, where nothing listens, and a helper with that of another.
const docker = {
  name: "config.json",
  mimeType: "application/json",
  buffer: Buffer.from(JSON.stringify({
    auths: { "127.0.0.1:9": { auth: Buffer.from("ada:hunter2").toString("base64") } },
    credHelpers: { "127.0.0.1:10": "pass" },
  })),
};

const noSecrets = async (page) => assert.ok(!/hunter2|YWRhOmh1bnRlcjI|ada password/.test(await page.content()), "the page has a secret");

for (const role of ["admin", "member"]) {
  for (const javaScriptEnabled of [true, false]) {
    test(`${role} lists and checks what a file has, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled, reducedMotion: "reduce" });
      await page.goto("/console/scan");
      await page.getByRole("button", { name: "List" }).click();
      await page.getByRole("alert").getByRole("link", { name: "File is required" }).waitFor();

      await page.getByLabel("File").setInputFiles(docker);
      await page.getByRole("button", { name: "List" }).click();
      await page.getByRole("heading", { name: "2 definitions found" }).waitFor();
      const row = page.getByRole("row", { name: "127.0.0.1:9" });
      assert.match(await row.textContent(), /Not checked.*ada.*by docker/s);
      assert.match(await page.getByRole("row", { name: "127.0.0.1:10" }).textContent(), /Unresolved.*credentials that are not in the file/s);
      assert.ok(await page.getByRole("checkbox", { name: "127.0.0.1:9" }).isChecked());
      await noSecrets(page);
      if (javaScriptEnabled) await assertAccessible(page);

      const again = page.getByText("The service has not stored the file.");
      assert.equal(await again.count(), javaScriptEnabled ? 0 : 1);
      if (!javaScriptEnabled) await page.getByLabel("File").setInputFiles(docker);
      await page.getByRole("button", { name: "Check the chosen" }).click();
      await row.getByText("not valid").waitFor();
      await noSecrets(page);
      assert.equal(await page.getByRole("button", { name: "Save the chosen" }).count(), role === "admin" ? 1 : 0);
    });
  }
}

test("a file is dropped anywhere on the page", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/scan");
  const input = page.getByLabel("File");
  const { height } = await input.boundingBox();
  assert.ok(height >= 120, `the area is ${height} px high`);
  const dataTransfer = await page.evaluateHandle(({ name, text }) => {
    const dragged = new DataTransfer();
    dragged.items.add(new File([text], name));
    return dragged;
  }, { name: docker.name, text: docker.buffer.toString() });
  const highlighted = () => input.evaluate((element) => element.matches(".over"));
  await page.dispatchEvent("h1", "dragover", { dataTransfer });
  assert.ok(await highlighted());
  await page.dispatchEvent("h1", "dragleave", { dataTransfer });
  assert.ok(!(await highlighted()));
  await page.dispatchEvent("h1", "dragover", { dataTransfer });
  await page.dispatchEvent("h1", "drop", { dataTransfer });
  assert.ok(!(await highlighted()));
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("heading", { name: "2 definitions found" }).waitFor();
});

test("a text is checked against a real registry, and saved", async (t) => {
  const { endpoint, ca, username, password, content } = service.registry;
  const page = await as(t, "admin");
  await page.goto("/console/scan");
  const definition = { endpoint, baseContentPath: content, auth: { type: "basic", username, password, tls: { enabled: true, ca } } };
  await page.getByLabel("Or its text").fill(JSON.stringify({ ...definition, providerType: "helm" }));
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("heading", { name: "1 definition found" }).waitFor();
  assert.equal(await page.getByText("Enter it again.").count(), 0, "the text is still there");
  await becomes(page.getByRole("heading", { name: "1 definition found" }), ":focus");
  await page.getByRole("button", { name: "Check the chosen" }).click();
  await page.getByText("Valid", { exact: true }).waitFor();
  await noSecrets(page);
  await assertAccessible(page);
  await page.getByRole("button", { name: "Save the chosen" }).click();
  await page.getByText(/Stored already, as (charts|wrong-password|after-a-refusal|after-login)/).waitFor();
  await noSecrets(page);

  await page.getByLabel("Or its text").fill(JSON.stringify({ ...definition, providerType: "zarf" }));
  await page.getByRole("button", { name: "Save the chosen" }).click();
  await page.getByText("Choose at least one definition, and the file of the list.").waitFor(); // the list is that of the former text
});

test("the keyboard alone lists and checks", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/scan");
  await page.getByLabel("Or its text").focus();
  await page.keyboard.insertText(docker.buffer.toString());
  for (const name of ["as", "format"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.name), name);
  }
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "2 definitions found" }).waitFor();
});

test("a form can be sent again after a response that is not a page of the service", async (t) => {
  const page = await as(t, "member", { expect: ["status of 504", "ERR_FAILED"] });
  await page.goto("/console/scan");
  await page.getByLabel("Or its text").fill(docker.buffer.toString());
  const list = page.getByRole("button", { name: "List" });
  for (const [respond, message] of [
    [{ status: 504, contentType: "text/html", body: "<h1>Gateway Timeout</h1>" }, /status 504\. Try again later/],
    [{ status: 504, contentType: "text/plain", body: "timeout" }, /status 504\. Try again later/],
    [null, /connection was interrupted/],
  ]) {
    await page.route("**/console/scan", (route) => (respond ? route.fulfill(respond) : route.abort()));
    await list.click();
    await page.getByRole("status").filter({ hasText: message }).waitFor();
    await page.unroute("**/console/scan");
    await list.click();
    await page.getByRole("heading", { name: "2 definitions found" }).waitFor();
    await page.goto("/console/scan");
    await page.getByLabel("Or its text").fill(docker.buffer.toString());
  }
});

test("a scan after the session has ended leads to the login", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/scan");
  await page.context().clearCookies();
  await page.getByLabel("Or its text").fill("{}");
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
});

// jsonPath finds the names that a definition of the API has, which no file of another program and no form has.
const jsonPath = /\b(auth\.|tls\.|endpoint\b|baseContentPath|auth\.tls\.ca)/;

test("results are in the words of the file's program", async (t) => {
  const registry = new URL(await serve(t, (_, response) => response.end()));
  const page = await as(t, "member");
  await page.goto("/console/scan");
  const text = page.getByLabel("Or its text");
  const check = async (file) => {
    await text.fill(file);
    await page.getByRole("button", { name: "List" }).click();
    await page.getByRole("heading", { name: "1 definition found" }).waitFor();
    if (!(await text.inputValue())) await text.fill(file);
    await page.getByRole("button", { name: "Check the chosen" }).click();
    await page.getByRole("row").getByText("not valid").waitFor();
    return page.getByRole("row").nth(1).innerText();
  };
  const flux = await check(`apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {type: oci, url: "oci://${registry.host}/charts"}
`);
  assert.match(flux, /insecure/);
  assert.doesNotMatch(flux, jsonPath);
});

test("problems of a definition name its fields as the file or the form does", async (t) => {
  const page = await as(t, "member");
  const problems = async (file) => {
    await page.goto("/console/scan"); // else the row before may be read
    await page.getByLabel("Or its text").fill(file);
    await page.getByRole("button", { name: "List" }).click();
    await page.getByRole("row").getByText("not valid").waitFor();
    return page.getByRole("row").nth(1).innerText();
  };
  const auth = Buffer.from("ada:hunter2\n").toString("base64");
  const docker = await problems(JSON.stringify({ auths: { "registry.example.com": { auth } } }));
  assert.match(docker, /the password.*trailing newline/s);
  assert.doesNotMatch(docker, jsonPath);
  const own = await problems(JSON.stringify({ endpoint: "https://registry.example.com", auth: { type: "basic", username: "ada", password: "hunter2\n" } }));
  assert.match(own, /Password .*trailing newline/s);
  assert.doesNotMatch(own, jsonPath);
});
