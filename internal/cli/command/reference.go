package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

// References reports whether the arguments are references. A file that exists, - and a path such as ./name are not. Nor is a name with the
// ending of a definition: it is rather a file that is missing than a host.
func References(args []string) bool { return len(args) > 0 && !slices.ContainsFunc(args, isFile) }

func isFile(arg string) bool {
	if strings.Contains(arg, "://") {
		return false
	}
	if info, err := os.Stat(arg); arg == "-" || err == nil && !info.IsDir() {
		return true
	}
	named := slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(arg)) && !strings.Contains(arg, ":")
	return named || arg == "" || strings.ContainsAny(arg[:1], "./~")
}

// Target is what a check is for. Plain is the same with plain HTTP if no scheme was typed and the registry is on this machine, else nil.
type Target struct {
	Title       string
	Plan, Plain *regcheck.Plan
}

// Targets returns the definitions of references, or that of a file and the flags.
func (f *DefinitionFlags) Targets(stdin io.Reader, args []string) ([]Target, error) {
	if References(args) {
		return f.referenced(stdin, args)
	}
	file := ""
	if len(args) > 0 {
		file = args[0]
	} else if f.endpoint == "" {
		return nil, UsageError{errors.New("give a reference such as ghcr.io/acme/app:1.0, a definition file, - for standard input, " +
			"or --endpoint\nSee 'regwarden check --help'")}
	}
	var r api.OCIRegistryRequest
	plan, err := f.New(stdin, file, &r)
	if err != nil {
		return nil, err
	}
	target := Target{Title: plan.Endpoint(), Plan: plan}
	if file == "" {
		target.Plain = plainHere(r.Spec.Definition, plan)
	}
	return []Target{target}, nil
}

// referenced returns the definitions of references, each with the credentials and settings of the flags.
func (f *DefinitionFlags) referenced(stdin io.Reader, references []string) (all []Target, err error) {
	if f.endpoint != "" || f.content != "" && !f.isChartRepository() {
		return nil, UsageError{errors.New("--endpoint and --content cannot be combined with a reference, which has both")}
	}
	d := regcheck.Definition{}
	if err := AsUsage(f.Overlay(&d, stdin)); err != nil {
		return nil, err
	}
	given := d.Auth
	for _, reference := range references {
		if f.isChartRepository() {
			d.Endpoint = reference
		} else if d.Endpoint, d.BaseContentPath, err = splitReference(reference); err != nil {
			return nil, UsageError{err}
		}
		if f.Ambient {
			d.Auth = given.Clone()
			if err := UseAmbient(&d); err != nil {
				return nil, err
			}
		}
		plan, problems := regcheck.Parse(d)
		if err := referenceProblems(reference, problems, f.Named(f.ReferenceFlag)); err != nil {
			return nil, err
		}
		all = append(all, Target{reference, plan, plainHere(d, plan)})
		if kind := given.Kind(); kind != regcheck.NoAuth && kind != regcheck.Exec && plan.Registry() != all[0].Plan.Registry() {
			return nil, UsageError{errors.New("credentials are sent to one registry only; " +
				"check the references of each in a command of its own")}
		}
	}
	return all, nil
}

// plainHere returns the plan of a definition with plain HTTP, nil if its endpoint has a scheme or is not on this machine.
func plainHere(d regcheck.Definition, plan *regcheck.Plan) *regcheck.Plan {
	u, err := url.Parse(plan.Registry())
	if err != nil || strings.Contains(d.Endpoint, "://") || d.Kind == regcheck.KindChartRepository {
		return nil
	}
	if address, _ := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && !address.IsLoopback() {
		return nil
	}
	d.Endpoint = "http://" + d.Endpoint
	plain, _ := regcheck.Parse(d) // as the same with https
	return plain
}

// splitReference returns the parts of [scheme://]host[:port][/path][:tag][@digest].
func splitReference(reference string) (endpoint, content string, err error) {
	scheme, rest, found := strings.Cut(reference, "://")
	if !found {
		scheme, rest = "", reference
	}
	host, path, _ := strings.Cut(rest, "/")
	if !found && !isRegistry(host) {
		hub := "docker.io/" + reference
		if path == "" {
			hub = "docker.io/library/" + reference
		}
		return "", "", fmt.Errorf("%s is not a file, and a reference begins with its registry, such as %s; "+
			"a host without a dot needs a scheme, https://HOST", reference, hub)
	}
	if found {
		host = scheme + "://" + host
	}
	return host, strings.Trim(path, "/"), nil
}

// isRegistry reports whether the first part of a reference is a host, as docker decides it: nginx:1.27 is not. User information is left to
// the definition, whose problem does not repeat it.
func isRegistry(host string) bool {
	name, port, _ := strings.Cut(host, ":")
	_, err := strconv.ParseUint(port, 10, 16)
	userinfo := strings.Contains(host, "@") && !strings.Contains(host, "@sha")
	return name == "localhost" || strings.ContainsAny(name, ".[") || err == nil || userinfo
}

// referenceProblems returns the usage error for the problems of a definition of a reference, nil for none.
func referenceProblems(reference string, problems []regcheck.Problem, flag func(path string) string) error {
	for i := range problems {
		problems[i].Problem = problems[i].Show(regcheck.Audience{Field: flag})
	}
	_, rest, found := strings.Cut(reference, "://")
	if !found {
		rest = reference
	}
	authority, _, _ := strings.Cut(rest, "/")
	return DefinitionProblems(nil, problems, func(p fault.Field) string {
		if flag(p.Field) == theReference && !strings.Contains(authority, "@") {
			return reference + " " + p.Problem
		}
		return cmp.Or(credentialProblem(p), flag(p.Field)+" "+p.Problem)
	})
}

const theReference = "the reference"

// ReferenceFlag is DefinitionFlag for a definition that a reference and flags give.
func (f *DefinitionFlags) ReferenceFlag(path string) string {
	if path == "endpoint" || path == "baseContentPath" && !f.isChartRepository() {
		return theReference
	}
	return DefinitionFlag(path)
}
