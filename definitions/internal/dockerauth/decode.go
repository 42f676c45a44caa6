package dockerauth

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/secret"
)

// Entries returns the entries as the consumer reads them, in the order of the file.
func (c *Config) Entries(rules Rules) []*Entry {
	entries := make([]*Entry, 0, len(c.entries))
	for _, raw := range c.entries {
		entries = append(entries, raw.decode(rules))
	}
	return entries
}

// Rejected returns why the consumer rejects the whole file, nil if it does not. A bad entry is a reason for all but ORAS and podman.
func (c *Config) Rejected(rules Rules) *Rejection {
	if found := c.rejectedText(rules); found != nil {
		return found
	}
	for _, found := range c.shape {
		if rules.reads(found.member) {
			return &found.Rejection
		}
	}
	for _, e := range c.Entries(rules) {
		if e.Problem != "" && rules.fatal(e) {
			return &Rejection{e.Line, e.Problem, e.Message}
		}
	}
	return nil
}

func (c *Config) rejectedText(rules Rules) *Rejection {
	strict := rules == Kubelet || rules == Podman
	switch {
	case c.quirks.byteOrderMark:
		return &Rejection{1, "notJSON", "The file begins with a byte order mark, which JSON does not allow."}
	case strict && c.quirks.empty:
		return &Rejection{0, "notJSON", "The file is empty."}
	case (strict || rules == DockerEnv) && c.quirks.trailing:
		return &Rejection{c.quirks.endLine, "notJSON", "Text follows the JSON value."}
	}
	return nil
}

// reads reports whether the consumer reads a member of config.json at all. It does not notice wrong types of others.
func (r Rules) reads(member string) bool {
	switch member {
	case "credsStore":
		return r == Docker || r == ORAS
	case "credHelpers":
		return r == Docker || r == ORAS || r == Podman
	case unknownMember:
		return r == DockerEnv
	}
	return true
}

// fatal reports whether the problem of an entry makes the consumer reject the whole file.
func (r Rules) fatal(e *Entry) bool {
	switch r {
	case ORAS:
		return false
	case Podman:
		return !e.Replaced && e.Problem == "wrongShape"
	case Kubelet:
		return true
	}
	return !e.Replaced || e.Problem == "wrongShape"
}

// members are what the consumer reads of an entry.
func (r Rules) members() []string {
	switch r {
	case Podman:
		return []string{"auth", "identitytoken"}
	case Kubelet:
		return []string{"auth", "username", "password", "email"}
	case DockerEnv:
		return []string{"auth"}
	case ORAS:
		return []string{"auth", "username", "password", "identitytoken", "registrytoken"}
	}
	return []string{"auth", "username", "password", "identitytoken", "registrytoken", "serveraddress"}
}

func (raw rawEntry) decode(rules Rules) *Entry {
	e := &Entry{Key: raw.key, Line: raw.line, Replaced: raw.replaced}
	values, ok := raw.values(rules, e)
	if !ok {
		return e
	}
	e.Credential = Credential{values["username"], secret.String(values["password"]), secret.String(values["identitytoken"]), secret.String(values["registrytoken"])}
	switch {
	case values["auth"] != "":
		e.decodeAuth(rules, values["auth"])
	case rules == DockerEnv:
		e.reject("authMissing", "has no auth, and docker accepts nothing else in DOCKER_AUTH_CONFIG")
	case rules == Podman:
		e.Credential = Credential{} // an identity token without auth is not used
	}
	return e
}

// values returns the members of an entry that the consumer reads, by name in lowercase; of several the last is used.
func (raw rawEntry) values(rules Rules, e *Entry) (map[string]string, bool) {
	if !raw.value.IsObject() && !isNull(raw.value) {
		e.reject("wrongShape", "is not a JSON object")
		return nil, false
	}
	values := map[string]string{}
	for _, member := range raw.value.Pairs() {
		known := false
		for _, name := range rules.members() {
			if !strings.EqualFold(name, member.Key) {
				continue
			}
			known = true
			if !isString(member.Value) {
				e.reject("wrongShape", "has a value of "+name+" that is not a string")
				return nil, false
			}
			if !isNull(member.Value) {
				values[name] = member.Value.Text()
			}
		}
		if rules == DockerEnv && !known {
			e.reject("wrongShape", "has members other than auth, which docker does not accept in DOCKER_AUTH_CONFIG")
			return nil, false
		}
	}
	return values, true
}

func (e *Entry) reject(problem, what string) {
	e.Credential = Credential{}
	e.Problem, e.Message = problem, fmt.Sprintf("The entry %q %s.", shorten(e.Key), what)
}

// decodeAuth replaces username and password by those of auth, as every consumer does.
func (e *Entry) decodeAuth(rules Rules, auth string) {
	encoding := base64.StdEncoding
	if rules == Kubelet && !strings.HasSuffix(strings.TrimSpace(auth), "=") {
		encoding = base64.RawStdEncoding
	}
	decoded, err := encoding.DecodeString(auth)
	if err != nil {
		e.reject("invalidBase64", "has an auth that is not valid base64"+paddingHint(rules, auth))
		return
	}
	username, password, found := strings.Cut(string(decoded), ":")
	switch {
	case !found:
		e.reject("noPassword", "has an auth that is not the base64 of username:password: it has no colon")
		return
	case username == "" && (rules == Docker || rules == DockerEnv):
		e.reject("noUser", "has an auth without a username")
		return
	}
	if rules != ORAS && rules != Kubelet {
		password = strings.Trim(password, "\x00")
	}
	e.Credential.Username, e.Credential.Password = username, secret.String(password)
}

// paddingHint names the usual cause of base64 that cannot be decoded.
func paddingHint(rules Rules, auth string) string {
	if _, err := base64.RawStdEncoding.DecodeString(auth); err == nil && rules != Kubelet {
		return ": the padding with = is missing"
	}
	return ""
}

// Empty reports whether the entry has no credentials, as a credential helper leaves it.
func (e *Entry) Empty() bool { return e.Problem == "" && e.Credential == Credential{} }
