// Walks all pages by their links. The other tests of pages count what is stored, so this file must be the last one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { authenticate } from "../account.mjs";
import { api, as, service } from "../harness.mjs";

const markup = (name) => `"'><img src=x onerror="window.ran=true"><script>window.ran=true</script>${name}`;

// kind is the same for pages that differ only in what they show.
const kind = (path) => path.replace(/[0-9a-f-]{36}/g, "{uid}").replace(/^\/docs\/.*/, "/docs/{group}");

// labels name a part of a page or say a state. Names are as they are in code or as users wrote them: of actions,
// formats, programs, projects and roles in lists, of groups, schemas and errors of the API, and in headings of single objects.
const labels = "h1, h2, h3, h4, legend, label, dt, summary, th[scope=col], option, button, a.button, .state, .scale span";
const names = "select:is(#field-action, #field-format, #field-as, #field-project, #field-role) option, label[for^=field-role-], h2:has(a[href^='/docs/']), dt:has(> code), summary:has(h3), summary h3, [id^=error-]";
const uncapitalized = (page, path) =>
  page.locator(labels).evaluateAll(
    (all, [names, ofObject]) => all.filter((label) => !label.matches(names) && !(ofObject && label.matches("h1")) && /^\p{Ll}/u.test(label.textContent.trim())).map((label) => label.outerHTML),
    [names, /{uid}|\/roles\/(?!new)/.test(path)],
  );

const never = "0001-01-01T00:00:00.000Z";

// store stores objects with markup in all texts.
async function store() {
  const headers = { Authorization: await authenticate(service.admin) };
  const post = async (path, data) => {
    const response = await (await api).post(path, { headers, data });
    assert.equal(response.status(), 201, `${path}: ${await response.text()}`);
    return (await response.json()).uid;
  };
  const project = await post("/v1/projects", { metadata: { name: markup("project") } });
  await post("/v1/users", { metadata: { creationTimestamp: never }, spec: { emailId: "marked@acme.example", firstName: markup("first"), lastName: markup("last"), password: "nine windmills in the rain" } });
  await post("/v1/apiKeys", { metadata: { name: markup("key"), creationTimestamp: never }, spec: { expiry: new Date(Date.now() + 5 * 864e5).toISOString() } });
  await post("/v1/registries/oci/basic", {
    metadata: { name: markup("registry"), creationTimestamp: never, deletionTimestamp: never, lastModifiedTimestamp: never, labels: { label: markup("label") } },
    spec: { endpoint: service.registry.endpoint, providerType: "helm", baseContentPath: "none", scope: markup("scope"), auth: { type: "basic", username: markup("username"), password: "x", tls: { enabled: true, ca: service.registry.ca } } },
  });
  await post(`/v1/projects/${project}/alerts/RegistryHealth`, { type: "http", isActive: true, alertAllUsers: false, identifiers: [], http: { url: `https://hooks.example.com/${encodeURIComponent(markup("url"))}`, method: "POST", headers: {}, body: "" } });
}

test("no page runs what is stored, and labels begin with a capital", async (t) => {
  await store();
  for (const role of ["admin", "member"]) {
    const page = await as(t, role);
    page.on("dialog", () => assert.fail("a page opened a dialog"));
    const seen = new Map([["/console/", "/console/"]]);
    for (const path of seen.values()) { // also visits what is added
      const response = await page.goto(path);
      assert.ok(response.status() < 400, `${role}: ${path} returns ${response.status()}`);
      assert.equal(await page.evaluate(() => window.ran), undefined, path);
      assert.deepEqual(await uncapitalized(page, kind(path)), [], `${path} has labels without a capital`);
      for (const link of await page.locator("a[href]:not([download])").evaluateAll((links) => links.map((link) => link.href))) {
        const { origin, pathname } = new URL(link);
        assert.equal(origin, service.url, `${path} links to ${link}`);
        if (!/^\/v1\/|\.csv$/.test(pathname) && !seen.has(kind(pathname))) seen.set(kind(pathname), pathname);
      }
    }
    assert.ok(["/console/registries", "/console/registries/{uid}", "/docs/{group}"].every((path) => seen.has(path)), [...seen.keys()].join(" "));
  }
});
