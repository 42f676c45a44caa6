// Package oracles_test compares definitions.Lookup with the libraries of the consumers themselves, on files that people write and on
// generated ones.
package oracles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Files per oracle: rapid's 100 checks of this many.
const filesPerCheck = 3

// How often an oracle is asked. Some choose by chance, and every choice of two is seen in many tries.
const fewTries, manyTries = 5, 100

// credentials are what an oracle returns.
type credentials struct{ username, password, identityToken, registryToken string }

// oracle looks for credentials with a consumer's own library. The error means that the consumer fails instead of connecting.
type oracle struct {
	consumer model.Consumer
	format   model.Format // of files that are not legacy
	applies  func(testCase) bool
	lookup   func(testCase) (credentials, error)
	differs  []difference
}

// difference is one that is intended.
type difference struct {
	reason  string
	is      func(testCase) bool
	example testCase
}

// outcome is what both sides are compared by.
type outcome struct{ kind, username, secret string }

func outcomeOf(c credentials, err error) outcome {
	switch {
	case err != nil:
		return outcome{kind: "fails"}
	case c.registryToken != "":
		return outcome{"token", "", c.registryToken}
	case c.identityToken != "":
		return outcome{"token", "", c.identityToken}
	case c.username == "" && c.password == "":
		return outcome{kind: "anonymous"}
	case c.username == "" || c.password == "":
		return outcome{kind: "incomplete"}
	}
	return outcome{"basic", c.username, c.password}
}

// ours returns the outcome of definitions.Lookup, and whether a helper was asked.
func ours(t interface{ Fatal(...any) }, o oracle, c testCase) (result outcome, helped bool, steps []string) {
	format := o.format
	if c.legacy {
		format = model.Dockercfg
	}
	r, steps, err := definitions.Lookup("config.json", []byte(c.config), c.reference, model.Options{Format: format, As: o.consumer,
		Helper: func(program, server string) (string, secret.String, error) {
			helped = true
			return program, secret.String(server), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Resolution == model.Resolved {
		a := r.Definition.Auth
		switch a.Kind() {
		case regcheck.Token:
			return outcome{"token", a.Username, a.Token.Reveal()}, helped, steps
		case regcheck.Basic:
			return outcome{"basic", a.Username, a.Password.Reveal()}, helped, steps
		default:
			return outcome{kind: "anonymous"}, helped, steps
		}
	}
	switch {
	case r.Reason == model.UnresolvedAmbiguous:
		return outcome{kind: "ambiguous"}, helped, steps
	case r.Reason == model.UnresolvedIncomplete && strings.HasPrefix(string(r.Detail), "The entry has a "):
		return outcome{kind: "incomplete"}, helped, steps
	case r.Reason == model.UnresolvedIncomplete:
		return outcome{kind: "fails"}, helped, steps
	}
	return outcome{kind: string(r.Reason)}, helped, steps
}

// compare returns how the two sides differ, "" if they do not. A choice by chance is made again until both outcomes were seen.
func compare(t interface{ Fatal(...any) }, o oracle, c testCase, tries int) string {
	mine, helped, steps := ours(t, o, c)
	switch {
	case mine.kind == "ambiguous":
		tries = manyTries
	case helped:
		tries = 1 // which starts a program
	}
	seen := map[credentials]outcome{}
	for range tries {
		theirs, err := o.lookup(c)
		if err != nil {
			theirs = credentials{username: "error"}
		}
		seen[theirs] = outcomeOf(theirs, err)
		if mine.kind == "ambiguous" && len(seen) > 1 {
			return ""
		}
		if got := seen[theirs]; mine.kind != "ambiguous" && got != mine {
			return fmt.Sprintf("ours %+v, theirs %+v (%v), by %q", mine, got, err, steps)
		}
	}
	if mine.kind == "ambiguous" {
		return fmt.Sprintf("ours is ambiguous, theirs always %v, by %q", seen, steps)
	}
	return ""
}

// check compares hand-written and generated files.
func (o oracle) check(t *testing.T) {
	for _, d := range o.differs {
		if !d.is(d.example) || compare(t, o, d.example, manyTries) == "" {
			t.Fatalf("there is no difference any more: %s", d.reason)
		}
	}
	for _, c := range written {
		o.compare(t, c)
	}
	files := 0
	rapid.Check(t, func(r *rapid.T) {
		for range filesPerCheck {
			o.compare(r, generate(r))
			files++
		}
	})
	if files < 200 && !t.Failed() {
		t.Errorf("%d files were compared", files)
	}
}

func (o oracle) compare(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, c testCase) {
	if o.applies != nil && !o.applies(c) {
		return
	}
	for _, d := range o.differs {
		if d.is(c) {
			return
		}
	}
	if difference := compare(t, o, c, fewTries); difference != "" {
		t.Fatalf("%s for\n%s\n%s", c.reference, c.config, difference)
	}
}

// written are files that people have.
var written = []testCase{
	{config: `{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}`, reference: "docker.io/library/nginx"},
	{config: `{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}`, reference: "index.docker.io/acme/app"},
	{config: `{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}`, reference: "registry-1.docker.io/acme/app"},
	{config: `{"auths": {"docker.io": {"auth": "dTpw"}}}`, reference: "docker.io/acme/app"},
	{config: `{"auths": {"docker.io": {"auth": "dTpw"}}}`, reference: "index.docker.io/acme/app"},
	{config: `{"auths": {"index.docker.io": {"auth": "dTpw"}}}`, reference: "docker.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}, "bad.test": {"auth": "dTp"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}, "bad.test": {"auth": "dQ=="}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "OnA="}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpwCg=="}}}`, reference: "ghcr.io/acme/app"},
	{config: "\ufeff" + `{"auths": {"ghcr.io": {"auth": "dTpw"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"GHCR.io": {"auth": "dTpw"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io:443": {"auth": "dTpw"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io/acme": {"auth": "dTpw"}, "ghcr.io/other": {"auth": "dTpx"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io/acme": {"auth": "dTpw"}, "ghcr.io": {"auth": "dTpx"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io/acme": {"auth": "dTpw"}}}`, reference: "ghcr.io/acmecorp/app"},
	{config: `{"auths": {"*.io": {"auth": "dTpw"}, "ghcr.io": {"auth": "dTpx"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"http://ghcr.io/": {"auth": "dQ=="}, "https://ghcr.io/": {}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}}, "credsStore": "three"}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}}, "credsStore": "three", "credHelpers": {"ghcr.io": ""}}`,
		reference: "ghcr.io/acme/app"},
	{config: `{"credHelpers": {"ghcr.io": "one"}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"index.docker.io/acme/app": {"auth": "dTpw"}}, "credHelpers": {"https://index.docker.io/v1/": "two"}}`,
		reference: "docker.io/acme/app"},
	{config: `{"auths": {"r.azurecr.io": {"auth": "MDA6", "identitytoken": "t"}}}`, reference: "r.azurecr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}, "ghcr.io": {"auth": "dTpx"}}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}}, "HttpHeaders": {"X-Meta": "1", "X-Other": null}}`, reference: "ghcr.io/acme/app"},
	{config: `{"auths": {"ghcr.io": {"auth": "dTpw"}}, "httpheaders": {"X-Meta": 1}}`, reference: "ghcr.io/acme/app"},
	{config: `{"https://r.test/v1/": {"auth": "dTpw", "email": "a@b.test"}}`, reference: "r.test/acme/app", legacy: true},
}

// files writes a config to a directory, as the libraries read files.
func writeFile(dir, name, text string) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// helpers puts credential helpers into PATH that return their own name and the server that they are asked for.
func helpers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two", "three"} {
		program := fmt.Sprintf("#!/bin/sh\nread -r server || true\nprintf "+
			"'{\"ServerURL\":\"%%s\",\"Username\":\"docker-credential-%s\",\"Secret\":\"%%s\"}' \"$server\" \"$server\"\n", name)
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}
