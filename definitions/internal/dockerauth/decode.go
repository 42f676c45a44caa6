package dockerauth

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/inspect"
	"github.com/regwarden/regwarden/secret"
)

// decoded is a file as a consumer reads it.
type decoded struct {
	entries  []*Entry // in the order of the file, the last of each key
	byKey    map[string]*Entry
	byHost   map[string]*hostEntries // by the host that the consumer sees in the key; kubelet has none
	rejected *Rejection
}

// hostEntries are the entries of one host.
type hostEntries struct {
	entries   []*Entry
	ambiguous bool // whether they differ in what the consumer sends
	steps     []string
}

// Entries returns the entries as the consumer reads them, in the order of the file. Of several with the same key it has the last.
func (c *Config) Entries(rules Rules) []*Entry { return c.as(rules).entries }

// Only returns the configuration for consumers with these rules alone, which takes less memory.
func (c *Config) Only(rules Rules) *Config {
	c.as(rules)
	c.entries, c.last = nil, nil
	return c
}

// Rejected returns why the consumer rejects the whole file, nil if it does not. A bad entry is a reason for all but ORAS and podman.
func (c *Config) Rejected(rules Rules) *Rejection { return c.as(rules).rejected }

func (c *Config) as(rules Rules) *decoded {
	if d := c.decoded[rules]; d != nil {
		return d
	}
	d := &decoded{byKey: map[string]*Entry{}, byHost: map[string]*hostEntries{}, rejected: c.rejected(rules)}
	seen := map[string]bool{}
	for i, raw := range c.entries {
		e := raw.decode(rules)
		if _, ok := kubeletPattern(e.Key); !ok && rules == Keychain {
			e.reject("wrongShape", "has a key that is not a URL")
		}
		used := c.last[raw.key] == i
		if d.rejected == nil && e.Problem != "" && rules.fatal(e, used) {
			d.rejected = &Rejection{e.Line, e.Problem, e.Message}
		}
		if used {
			e.Repeated = seen[e.Key]
			d.entries = append(d.entries, e)
			d.byKey[e.Key] = e
			d.addHost(rules, rules.hostOf(e.Key, c.legacy), e)
		}
		seen[e.Key] = true
	}
	c.decoded[rules] = d
	return d
}

func (d *decoded) addHost(rules Rules, host string, e *Entry) {
	same := d.byHost[host]
	if same == nil {
		same = &hostEntries{}
		d.byHost[host] = same
	}
	e.sameHost = same
	same.entries = append(same.entries, e)
	same.ambiguous = same.ambiguous || rules.differ(e, same.entries[0])
}

// differ reports whether it matters which of two entries the consumer uses.
func (r Rules) differ(a, b *Entry) bool {
	return a.Credential != b.Credential || r.Fails(a) != r.Fails(b)
}

// rejected is without the entries.
func (c *Config) rejected(rules Rules) *Rejection {
	if found := c.rejectedText(rules); found != nil {
		return found
	}
	for _, found := range c.shape {
		if rules.reads(found.member) {
			return &found.Rejection
		}
	}
	return nil
}

func (c *Config) rejectedText(rules Rules) *Rejection {
	strict := rules == Kubelet || rules == Keychain || rules == Podman
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
		return r == Docker || r == ORAS || r == GitLabRunner
	case "credHelpers":
		return r == Docker || r == ORAS || r == Podman || r == GitLabRunner
	case "HttpHeaders":
		return r == Docker || r == Kubelet || r == GitLabRunner
	case unknownMember:
		return r == DockerEnv
	}
	return true
}

// fatal reports whether the problem of an entry makes the consumer reject the whole file. An entry is not used if a later one has
// the same key, but most consumers still read it.
func (r Rules) fatal(e *Entry, used bool) bool {
	switch r {
	case ORAS:
		return false
	case Podman:
		return e.Problem == "wrongShape"
	case Kubelet, Keychain:
		return true
	default:
		return used || e.Problem == "wrongShape"
	}
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
	case ORAS, Keychain:
		return []string{"auth", "username", "password", "identitytoken", "registrytoken"}
	default:
		return []string{"auth", "username", "password", "identitytoken", "registrytoken", "serveraddress"}
	}
}

func (raw rawEntry) decode(rules Rules) *Entry {
	e := &Entry{Key: raw.key, Line: raw.line}
	values, ok := raw.values(rules, e)
	if !ok {
		return e
	}
	e.Credential = Credential{values["username"], secret.String(values["password"]), secret.String(values["identitytoken"]),
		secret.String(values["registrytoken"])}
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
	values, names := map[string]string{}, rules.members()
	for _, member := range raw.value.Pairs() {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, member.Key) })
		switch {
		case i < 0 && rules == DockerEnv:
			e.reject("wrongShape", "has members other than auth, which docker does not accept in DOCKER_AUTH_CONFIG")
			return nil, false
		case i < 0:
			if member.Value.Text() != "" && slices.Contains(Docker.members(), member.Key) && member.Key != "serveraddress" {
				e.Ignored = append(e.Ignored, member.Key)
			}
		case !isString(member.Value):
			e.reject("wrongShape", "has a value of "+names[i]+" that is not a string")
			return nil, false
		case !isNull(member.Value):
			values[names[i]] = member.Value.Text()
		}
	}
	return values, true
}

func (e *Entry) reject(problem, what string) {
	e.Credential = Credential{}
	e.Problem, e.Message = problem, fmt.Sprintf("The entry %q %s.", Show(e.Key), what)
}

// decodeAuth replaces username and password by those of auth, as every consumer does.
func (e *Entry) decodeAuth(rules Rules, auth string) {
	encoding := base64.StdEncoding
	unpadded := rules == Kubelet || rules == Keychain
	if unpadded && !strings.HasSuffix(strings.TrimSpace(auth), "=") {
		encoding = base64.RawStdEncoding
	}
	decoded, err := encoding.DecodeString(auth)
	switch {
	case inspect.IsTemplate(auth):
		e.reject("template", "has an auth that is an expression, which was not replaced")
		return
	case inspect.IsBase64Placeholder(auth): // such as changeme, which is also base64 of something
		e.reject("placeholder", "has a placeholder as its auth")
		return
	case err != nil:
		e.reject("invalidBase64", "has an auth that is not valid base64"+paddingHint(rules, auth))
		return
	}
	username, password, found := strings.Cut(string(decoded), ":")
	switch {
	case !found:
		e.reject("noPassword", "has an auth that is not the base64 of username:password: it has no colon")
		return
	case username == "" && (rules == Docker || rules == DockerEnv || rules == GitLabRunner):
		e.reject("noUser", "has an auth without a username")
		return
	}
	if rules == Docker || rules == DockerEnv || rules == Podman {
		password = strings.Trim(password, "\x00")
	}
	e.Credential.Username, e.Credential.Password = username, secret.String(password)
}

// paddingHint names the usual cause of base64 that cannot be decoded.
func paddingHint(rules Rules, auth string) string {
	if _, err := base64.RawStdEncoding.DecodeString(auth); err == nil && rules != Kubelet && rules != Keychain {
		return ": the padding with = is missing"
	}
	return ""
}

// Fails reports whether the consumer fails for a registry with this entry. podman connects without credentials if auth has no colon.
func (r Rules) Fails(e *Entry) bool {
	return e.Problem != "" && (r != Podman || e.Problem != "noPassword")
}

// Empty reports whether the entry has no credentials, as a credential helper leaves it.
func (e *Entry) Empty() bool { return e.Problem == "" && e.Credential == Credential{} }
