package regchecktest

import (
	"net/http"
	"strings"
)

// anonymous reads public content.
var anonymous = caller{may: func(repo string) bool { return strings.HasPrefix(repo, "public/") }}

// everybody reads everything: for registries without authentication.
var everybody = caller{may: func(string) bool { return true }}

func ada() caller {
	return caller{User, func(repo string) bool { return !strings.HasPrefix(repo, "vault/") && repo != "vault" }}
}

// robot has rights on one Harbor project: on all that is below it, not on its own name.
func robot() caller {
	return caller{RobotUser, func(repo string) bool {
		return strings.HasPrefix(repo, "charts/") || strings.HasPrefix(repo, "public/")
	}}
}

// login checks a username and a password or personal access token.
func login(user, password string) (caller, bool) {
	switch {
	case user == User && (password == Password || password == Token):
		return ada(), true
	case user == AdminUser && password == AdminPassword:
		return caller{AdminUser, everybody.may}, true
	case user == RobotUser && password == RobotPassword:
		return robot(), true
	case user == "AWS" && password == Password:
		return caller{"AWS", ada().may}, true
	case user == acrTokenUser && password == Token:
		return ada(), true
	}
	return anonymous, false
}

const acrTokenUser = "00000000-0000-0000-0000-000000000000"

// basicCaller reads Basic credentials; sent reports whether there are any.
func basicCaller(r *http.Request) (who caller, sent, good bool) {
	user, password, sent := r.BasicAuth()
	if !sent {
		return anonymous, false, false
	}
	who, good = login(user, password)
	return who, true, good
}

// bearerText gives the token of a Bearer header, "" when there is none.
func bearerText(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
