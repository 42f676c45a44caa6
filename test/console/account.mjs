import assert from "node:assert/strict";
import { api, fillIn, open, service } from "./harness.mjs";

let created = 0;
let token; // of the administrator
let until = 0; // when it is renewed: it is valid for 15 minutes, and the tests take longer on a busy machine

// newAccount creates a user of its own for a test that ends sessions or changes a user.
export async function newAccount(role = "member") {
  const { org } = service.admin;
  if (Date.now() > until) {
    token = await authenticate(service.admin);
    until = Date.now() + 10 * 60_000;
  }
  const account = { org, email: `user${++created}@acme.example`, password: "nine barrels under the stairs" };
  const spec = { emailId: account.email, password: account.password, roles: [role] };
  const response = await (await api).post("/v1/users", { headers: { Authorization: token }, data: { metadata: { creationTimestamp: "0001-01-01T00:00:00.000Z" }, spec } });
  assert.equal(response.status(), 201);
  return { ...account, uid: (await response.json()).uid };
}

// authenticate returns a token for the API.
export async function authenticate({ org, email, password }) {
  const response = await (await api).post("/v1/auth/authenticate", { data: { org, emailId: email, password } });
  return (await response.json()).Authorization;
}

// logIn returns a page of a new context, in a session of its own.
export async function logIn(t, account, options) {
  const page = await open(t, options);
  await page.goto("/console/login");
  await fillIn(page, account);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}
