package service_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	mfaPath    = "/v1/users/me/mfa"
	verifyPath = "/v1/auth/mfa/verify"
	enrollPath = "/v1/auth/mfa/enroll"

	wrongCode = "00000x" // is the code of no key
)

func codeBody(code string) string { return instance.JSON(object{"code": code}) }

func proofBody(password, code string) string {
	return instance.JSON(object{"currentPassword": password, "code": code})
}

// withFactor logs a user in and gives it a second factor. Its code of the present time step was used, and is
// returned. That of the next one is accepted after it, whether that step has begun or not.
func withFactor(t *testing.T, server *instance.Server, email string) (p person, key, used string, recovery []string) {
	t.Helper()
	p, _ = loggedIn(t, server, email, instance.Org, matePassword)
	var enrollment api.MFAEnrollment
	p.do("POST", mfaPath, instance.JSON(object{"currentPassword": matePassword})).Want(http.StatusOK).Into(&enrollment)
	if !strings.Contains(enrollment.URI, "secret="+enrollment.Secret) {
		t.Errorf("the URI has another secret than %s", enrollment.Secret)
	}
	var codes api.MFARecoveryCodes
	used = instance.Code(t, enrollment.Secret, 0)
	p.do("POST", mfaPath+"/confirm", codeBody(used)).Want(http.StatusOK).Into(&codes)
	return p, enrollment.Secret, used, codes.RecoveryCodes
}

// pending logs in with a password, and returns the token of a login that waits for a code.
func pending(t *testing.T, server *instance.Server, email, action string) person {
	t.Helper()
	client := server.Client(t)
	var waits api.AuthenticateResponse
	client.Do(http.MethodPost, "/v1/auth/authenticate", instance.Credentials(email, instance.Org, matePassword)).Want(http.StatusOK).
		Into(&waits)
	if !waits.IsMFA || waits.MFAAction != action || waits.RefreshToken != "" {
		t.Fatalf("a login with a password alone: %+v", waits)
	}
	return person{t, client, []string{"Authorization", waits.Authorization}}
}

// A user adds a second factor, logs in with it, and removes it.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	const email = "mate@acme.example"
	uid := admin.make("/v1/users", newUser(email))
	mate, key, used, recovery := withFactor(t, server, email)
	var status api.MFAStatus
	if mate.get(mfaPath, &status); !status.IsActive || status.IsRequired || status.RecoveryCodesLeft != 10 || status.ActiveSince.IsZero() {
		t.Errorf("status %+v", status)
	}
	mate.refused("POST", mfaPath, instance.JSON(object{"currentPassword": matePassword}), http.StatusConflict, "SecondFactorActive")
	mate.refused("POST", mfaPath+"/confirm", codeBody(instance.Code(t, key, 0)), http.StatusConflict, "SecondFactorActive")

	waits := pending(t, server, email, api.MFAVerify)
	waits.refused("POST", verifyPath, codeBody(used), http.StatusUnauthorized, "AuthenticationFailed")
	waits.refused("POST", verifyPath, codeBody(""), http.StatusBadRequest, "InvalidRequest")
	waits.refused("POST", enrollPath, "", http.StatusConflict, "SecondFactorActive")
	waits.client.Do("POST", verifyPath, `{}`, append(waits.credential, "Content-Type", "text/plain")...).
		Want(http.StatusUnsupportedMediaType)
	waits.client.Do("POST", verifyPath, codeBody(strings.Repeat("1", 65<<10)), waits.credential...).Want(http.StatusRequestEntityTooLarge)
	code := instance.Code(t, key, 1)
	var done api.AuthenticateResponse
	waits.do("POST", verifyPath, codeBody(code)).Want(http.StatusOK).Into(&done)
	if done.IsMFA || done.RefreshToken == "" || done.RecoveryCodes != nil {
		t.Errorf("a complete login: %+v", done)
	}
	person{t, waits.client, []string{"Authorization", done.Authorization}}.get("/v1/users/info", new(api.UserInfo))
	waits.client.Do(http.MethodGet, refresh+done.RefreshToken, "").Want(http.StatusOK)
	waits.refused("POST", verifyPath, codeBody(recovery[0]), http.StatusUnauthorized, "UnAuthorizedAccess") // complete
	pending(t, server, email, api.MFAVerify).do("POST", verifyPath, codeBody(recovery[0])).Want(http.StatusOK)

	mate.invalid("POST", mfaPath+"/recoveryCodes", proofBody("wrong", recovery[1]), "currentPassword")
	mate.invalid("POST", mfaPath+"/recoveryCodes", proofBody(matePassword, recovery[0]), "code")
	var renewed api.MFARecoveryCodes
	mate.do("POST", mfaPath+"/recoveryCodes", proofBody(matePassword, recovery[1])).Want(http.StatusOK).Into(&renewed)
	mate.invalid("POST", mfaPath+"/remove", proofBody(matePassword, recovery[2]), "code")
	mate.do("POST", mfaPath+"/remove", proofBody(matePassword, renewed.RecoveryCodes[0])).Want(http.StatusNoContent)
	mate.refused("POST", mfaPath+"/remove", proofBody(matePassword, renewed.RecoveryCodes[1]), http.StatusConflict, "SecondFactorNotActive")
	mate.refused("POST", mfaPath+"/recoveryCodes", proofBody(matePassword, renewed.RecoveryCodes[1]), http.StatusConflict,
		"SecondFactorNotActive")
	mate.refused("POST", mfaPath+"/confirm", codeBody("123456"), http.StatusConflict, "SecondFactorNotActive")
	loggedIn(t, server, email, instance.Org, matePassword)

	withFactor(t, server, email)
	admin.do("DELETE", "/v1/users/"+uid+"/mfa", "").Want(http.StatusNoContent)
	loggedIn(t, server, email, instance.Org, matePassword)
	wantAudited(t, admin, "mfa.enroll", "mfa.confirm", "mfa.remove", "mfa.recoveryCodes", "mfa.reset")
}

// wantAudited requires a record of each action, without anything that is secret.
func wantAudited(t *testing.T, admin person, actions ...string) {
	t.Helper()
	for _, action := range actions {
		text := admin.do("GET", "/v1/audits?action="+action, "").Want(http.StatusOK).Body
		if !strings.Contains(text, `"`+action+`"`) || regexp.MustCompile(`otpauth|[A-Z2-7]{32}|([a-z2-7]{4}-){5}|rwp_`).MatchString(text) {
			t.Errorf("records of %s: %s", action, text)
		}
	}
}

// Where the organization requires a second factor, a user without one adds it at the next login. Sessions and API keys stay.
func TestRequiredSecondFactor(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	const email = "mate@acme.example"
	admin.make("/v1/users", newUser(email))
	mate, _ := loggedIn(t, server, email, instance.Org, matePassword)
	setting := "/v1/tenants/" + me.TenantUID + "/mfa"
	admin.invalid("PUT", setting, `{}`, "isRequired")
	mate.refused("PUT", setting, `{"isRequired":true}`, http.StatusForbidden, "OperationForbidden")
	admin.do("PUT", setting, `{"isRequired":true}`).Want(http.StatusNoContent)
	var required api.TenantMFA
	if mate.get(setting, &required); !required.IsRequired {
		t.Error("a member reads that nothing is required")
	}
	key := withKey(t, server, server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", email))
	key.get("/v1/users/info", &me)

	waits := pending(t, server, email, api.MFAEnroll)
	waits.refused("POST", verifyPath, codeBody("123456"), http.StatusConflict, "SecondFactorNotActive")
	var enrollment api.MFAEnrollment
	waits.do("POST", enrollPath, "").Want(http.StatusOK).Into(&enrollment)
	var done api.AuthenticateResponse
	waits.do("POST", verifyPath, codeBody(instance.Code(t, enrollment.Secret, 0))).Want(http.StatusOK).Into(&done)
	if len(done.RecoveryCodes) != 10 || done.Authorization == "" {
		t.Errorf("%d recovery codes", len(done.RecoveryCodes))
	}
	admin.do("PUT", setting, `{"isRequired":false}`).Want(http.StatusNoContent)
	pending(t, server, email, api.MFAVerify) // still asked: the user has one now
}

// Wrong codes wait like wrong passwords.
func TestWrongCodesWait(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for i, guess := range []func(person, person, []string) instance.Response{
		func(_, waits person, _ []string) instance.Response {
			return waits.do("POST", verifyPath, codeBody(wrongCode))
		},
		func(mate, _ person, _ []string) instance.Response {
			return mate.do("POST", mfaPath+"/remove", proofBody(matePassword, wrongCode))
		},
		func(mate, _ person, _ []string) instance.Response {
			return mate.do("POST", mfaPath+"/recoveryCodes", proofBody(matePassword, wrongCode))
		},
		func(mate, _ person, _ []string) instance.Response {
			return mate.do("POST", mfaPath, instance.JSON(object{"currentPassword": "wrong"}))
		},
	} {
		email := fmt.Sprintf("mate%d@acme.example", i)
		admin.make("/v1/users", newUser(email))
		mate, _, _, recovery := withFactor(t, server, email)
		waits := pending(t, server, email, api.MFAVerify)
		limited := false
		for range 10 {
			limited = limited || guess(mate, waits, recovery).Status == http.StatusTooManyRequests
		}
		if !limited {
			t.Errorf("guesses of kind %d are not throttled", i)
		}
		if i == 0 { // the others hash a password, which may take as long as the wait
			waits.do("POST", verifyPath, codeBody(recovery[0])).Want(http.StatusTooManyRequests)
		}
		mate.get("/v1/users/info", new(api.UserInfo)) // sessions go on
	}
	email := "confirming@acme.example"
	admin.make("/v1/users", newUser(email))
	mate, _ := loggedIn(t, server, email, instance.Org, matePassword)
	mate.do("POST", mfaPath, instance.JSON(object{"currentPassword": matePassword})).Want(http.StatusOK)
	for range 8 {
		if mate.do("POST", mfaPath+"/confirm", codeBody(wrongCode)).Status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("codes that confirm a second factor are not throttled")
}

// The token of a login that waits is refused by every other operation, and those who have no local password have no second factor.
func TestPendingLoginIsGoodForNothingElse(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	const email = "mate@acme.example"
	admin.make("/v1/users", newUser(email))
	mate, key, _, _ := withFactor(t, server, email)
	waits := pending(t, server, email, api.MFAVerify)
	token := waits.credential[1]
	for _, operation := range operations {
		for _, header := range []string{"Authorization", "ApiKey"} {
			response := waits.client.Do(operation.method, operation.path, operation.body, header, token).Want(http.StatusUnauthorized)
			if f := response.Fault(); f.Code != "UnAuthorizedAccess" || f.Details.Reason != "malformed" ||
				strings.Contains(response.Body, token) {
				t.Errorf("%s %s with %s: %s", operation.method, operation.path, header, response.Body)
			}
		}
	}
	waits.client.Do(http.MethodGet, refresh+token, "").Want(http.StatusUnauthorized)
	for _, cookie := range []string{"regwarden-session", "__Host-regwarden-session", "Authorization"} {
		if to := leadsTo(t, server, "/console/sessions", cookie+"="+token); !strings.HasPrefix(to, "/console/login") {
			t.Errorf("%s leads to %s", cookie, to)
		}
	}
	for _, other := range []string{mate.credential[1], "", "rwp_x"} { // nor do others complete a login
		sender := person{t, waits.client, []string{"Authorization", other}}
		sender.refused("POST", verifyPath, codeBody(instance.Code(t, key, 1)), http.StatusUnauthorized, "UnAuthorizedAccess")
		sender.refused("POST", enrollPath, "", http.StatusUnauthorized, "UnAuthorizedAccess")
	}
	twice := person{t, waits.client, []string{"Authorization", token, "Authorization", token}}
	twice.refused("POST", verifyPath, codeBody("123456"), http.StatusBadRequest, "InvalidRequest")
	twice.refused("POST", enrollPath, "", http.StatusBadRequest, "InvalidRequest")
	waits.do("POST", verifyPath, codeBody(instance.Code(t, key, 1))).Want(http.StatusOK) // it still waited
}

// leadsTo returns where a page of the console leads a browser with that cookie, which the description of the API does not have.
func leadsTo(t *testing.T, server *instance.Server, path, cookie string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", cookie)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Header.Get("Location")
}
