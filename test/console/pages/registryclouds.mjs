import assert from "node:assert/strict";
import { test } from "node:test";
import { as, assertAccessible, becomes, service, unfold } from "../harness.mjs";

const { cloud } = service;
const field = (page, label) => page.getByLabel(label, { exact: true });
const ofTypes = {
  basic: ["Username", "Password"], token: ["Username", "Token"], ecr: ["Access key", "Secret key", "Session token", "Role", "External ID"],
  gcp: ["Service account key"], azure: ["Tenant ID", "Client ID", "Client secret"], github: ["App ID", "Installation ID", "Private key"], noAuth: [],
};

// fill fills the form of a check or registry at ECR.
async function fill(page, secretKey) {
  await field(page, "Endpoint").fill(cloud.endpoint);
  await field(page, "Authentication").selectOption("ecr");
  await field(page, "Access key").fill(cloud.accessKey);
  await field(page, "Secret key").fill(secretKey);
  await unfold(page);
  await field(page, "CA certificate").fill(cloud.ca);
}

for (const javaScriptEnabled of [true, false]) {
  test(`the fields of each type of authentication, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    for (const address of ["/console/check", "/console/registries/new"]) {
      await page.goto(address);
      for (const [type, shown] of Object.entries(ofTypes)) {
        await field(page, "Authentication").selectOption(type);
        for (const label of new Set(Object.values(ofTypes).flat())) {
          assert.equal(await field(page, label).isVisible(), shown.includes(label), `${label} of ${type}`);
        }
        if (javaScriptEnabled && type !== "basic" && type !== "token") await assertAccessible(page);
      }
    }
  });

  for (const role of ["admin", "member"]) {
    test(`${role} checks a registry of a cloud, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, role, { javaScriptEnabled });
      await page.goto("/console/check");
      await fill(page, "typo-in-the-secret");
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByRole("heading", { name: "Not valid", exact: true }).waitFor();
      const stages = page.getByRole("region", { name: "Stages" });
      assert.match(await stages.getByRole("row", { name: /^Credentials/ }).textContent(), /Failed/);
      await page.getByText(/^Fix: Set the secret of this key/).waitFor();
      assert.ok(!(await page.content()).includes("typo-in-the-secret"));
      await page.getByRole("link", { name: "Secret key", exact: true }).click();
      await becomes(field(page, "Secret key"), ":target");
      await field(page, "Secret key").fill(cloud.secretKey);
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      assert.match(await stages.getByRole("row", { name: /^Credentials/ }).textContent(), /Ok.*issued a password for AWS, valid until/s);
      assert.ok(!(await page.content()).includes(cloud.secretKey));
      assert.equal(await field(page, "Secret key").inputValue(), javaScriptEnabled ? cloud.secretKey : "");
      if (javaScriptEnabled) await assertAccessible(page);
    });
  }

  for (const other of cloud.others) {
    test(`a registry at ${other.type} is checked, JavaScript ${javaScriptEnabled}`, async (t) => {
      const page = await as(t, "member", { javaScriptEnabled });
      await page.goto("/console/check");
      const enter = async (fields) => {
        for (const [label, value] of Object.entries(fields)) await field(page, label).fill(value);
      };
      await field(page, "Endpoint").fill(other.endpoint);
      await field(page, "Authentication").selectOption(other.type);
      await unfold(page);
      await field(page, "CA certificate").fill(cloud.ca);
      await enter({ ...other.fields, ...other.wrong });
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByRole("heading", { name: "Not valid", exact: true }).waitFor();
      await page.getByText(`Fix: ${other.fix}`).waitFor();
      await enter(other.fields);
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      const credentials = page.getByRole("region", { name: "Stages" }).getByRole("row", { name: /^Credentials/ });
      assert.match(await credentials.textContent(), /Ok.*issued a password for .*, valid until/s);
      assert.ok(!(await page.content()).includes(other.fields[other.secret]));
      if (javaScriptEnabled) await assertAccessible(page);
    });
  }

  test(`a registry of a cloud is created, edited and checked, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/registries/new");
    const name = `ecr-${javaScriptEnabled}`;
    await field(page, "Name").fill(name);
    await fill(page, "typo-in-the-secret");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByRole("heading", { name: "Failing", exact: true }).waitFor();
    await page.getByRole("link", { name: "Secret key", exact: true }).click();
    assert.equal(await field(page, "Access key").inputValue(), cloud.accessKey);
    assert.equal(await field(page, "Secret key").inputValue(), "");
    assert.ok(!(await page.content()).includes("typo-in-the-secret"));
    await field(page, "Secret key").fill(cloud.secretKey);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText("The registry works").waitFor();
    const definition = page.getByRole("region", { name: "Definition", exact: true });
    assert.match(await definition.textContent(), new RegExp(`Amazon ECR, by an access key.*Access key${cloud.accessKey}`, "s"));
    assert.ok(!(await page.content()).includes(cloud.secretKey));
    if (javaScriptEnabled) await assertAccessible(page);

    await page.getByRole("link", { name: "Edit" }).click();
    await field(page, "Access key").fill("AKIAOTHER"); // another identity has no stored secret
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByRole("link", { name: /^Secret key/ }).waitFor();
    await field(page, "Access key").fill(cloud.accessKey);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The registry is stored.").waitFor();
  });
}

test("a registry of a cloud, shown to a member", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/registries?name=ecr-true");
  await page.getByRole("link", { name: "ecr-true" }).click();
  await page.getByRole("region", { name: "Definition", exact: true }).getByText(cloud.accessKey).waitFor();
  assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 0);
});
