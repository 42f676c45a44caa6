package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// definition reads the file, replaces fields by the flags, and reports all problems at once.
func (f *checkFlags) definition(ctx context.Context, stdin io.Reader, args []string) (regcheck.Definition, error) {
	var d regcheck.Definition
	if len(args) == 0 && f.endpoint == "" {
		return d, usageError{errors.New("give a definition file, - for standard input, or --endpoint\nSee 'regwarden check --help'")}
	}
	if f.passwordStdin && f.tokenStdin || len(args) == 1 && args[0] == "-" && (f.passwordStdin || f.tokenStdin) {
		return d, usageError{errors.New("standard input can be only one of: the definition, the password, the token")}
	}
	var wrong []fault.Field
	if len(args) == 1 {
		data, err := readDefinition(ctx, args[0], stdin)
		if err != nil {
			return d, err
		}
		if data, err = definitions.DefinitionJSON(data); err != nil {
			return d, usageError{fmt.Errorf("%s %w", inputName(args[0]), err)}
		}
		var sent api.OCIRegistryDefinition
		if wrong, err = strictjson.Decode(data, &sent); err != nil {
			return d, unreadable(args[0], err)
		}
		wrong = fault.Join(wrong, registries.LabelProblems(sent.RegistryUID, sent.Scope))
		d = sent.Definition
		d.NoteUnknown(strictjson.Unknown(data, new(api.OCIRegistryRequestSpec)))
	}
	if err := asUsage(f.overlay(&d, stdin)); err != nil {
		return d, err
	}
	show := fieldProblem
	if len(args) == 0 {
		show = flagProblem
	}
	return d, definitionProblems(wrong, slices.Concat(d.Unknown, d.Problems()), show)
}

// fieldProblem returns a problem of a definition that was not given by flags.
func fieldProblem(p fault.Field) string { return p.Field + ": " + p.Problem }

// definitionProblems returns the usage error that lists the problems of a definition, nil if there are none.
func definitionProblems(wrong []fault.Field, problems []regcheck.Problem, show func(fault.Field) string) error {
	more := make([]fault.Field, len(problems))
	for i, p := range problems {
		more[i] = fault.Field{Field: p.Field, Problem: p.Problem}
	}
	all := fault.Join(wrong, more)
	if len(all) == 0 {
		return nil
	}
	text := "the definition is not usable:"
	for _, p := range all {
		text += "\n  " + show(p)
	}
	return usageError{errors.New(text)}
}

// unreadable describes why a definition file is not unambiguous.
func unreadable(name string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) != 1 || f.Fields[0].Field != strictjson.Body {
		return err
	}
	return usageError{fmt.Errorf("%s %s", inputName(name), f.Fields[0].Problem)}
}

func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func readDefinition(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	source := io.Reader(untilDone{ctx, stdin})
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError{fmt.Errorf("cannot read %s: no such file; to check a registry by its address: regwarden check --endpoint %[1]s", name)}
		}
		if err != nil {
			return nil, usageError{err}
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxDefinition+1))
	if err == nil && len(data) > maxDefinition {
		err = fmt.Errorf("%s is larger than 1 MiB, the limit of a definition file", name)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return data, asUsage(err)
}

// overlay replaces fields of the definition by the flags and the environment.
func (f *checkFlags) overlay(d *regcheck.Definition, stdin io.Reader) error {
	if d.Auth == nil {
		d.Auth = &regcheck.Auth{}
	}
	a := d.Auth
	set(&d.Endpoint, f.endpoint)
	set(&d.BasePath, f.basePath)
	set(&d.BaseContentPath, f.content)
	set(&d.ProviderType, regcheck.ProviderType(f.provider))
	set(&a.Type, regcheck.AuthType(f.authType))
	set(&a.Username, f.username)
	set(&a.Password, secret.String(os.Getenv(envRegistryPassword)))
	set(&a.Token, secret.String(os.Getenv(envRegistryToken)))
	if err := f.overlayTLS(a); err != nil {
		return err
	}
	if !f.passwordStdin && !f.tokenStdin {
		return nil
	}
	prompt, into := "Password: ", &a.Password
	if f.tokenStdin {
		prompt, into = "Token: ", &a.Token
	}
	var err error
	*into, err = readSecret(stdin, prompt)
	return err
}

// overlayTLS replaces auth.tls by the flags.
func (f *checkFlags) overlayTLS(a *regcheck.Auth) error {
	if f.insecure {
		a.TLS.Enabled, a.TLS.InsecureSkipVerify = true, true
	}
	var key string
	for _, file := range []struct {
		flag, name string
		into       *string
	}{{"ca", f.caFile, &a.TLS.CA}, {"cert", f.certFile, &a.TLS.Certificate}, {"key", f.keyFile, &key}} {
		if file.name == "" {
			continue
		}
		data, err := readFlagFile(file.flag, file.name)
		if err != nil {
			return err
		}
		a.TLS.Enabled, *file.into = true, string(data)
	}
	set(&a.TLS.Key, secret.String(key))
	return nil
}

// set sets a field unless the value is empty.
func set[T ~string](field *T, value T) {
	if value != "" {
		*field = value
	}
}
