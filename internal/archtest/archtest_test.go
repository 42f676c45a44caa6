//go:build !race

// Package archtest tests the rules of ARCHITECTURE.md that the compiler does not check: the allowed imports between
// packages, and that every package has a package comment.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/regwarden/regwarden"

// mayImport lists, for every package of the product, the packages of this module that it may import. The direction is
// cmd, server, domain, store. A new package needs a line here.
var mayImport = map[string][]string{
	"secret": {},
	"egress": {},
	"regcheck": {"egress", "internal/expiry", "regcheck/internal/artifact", "regcheck/internal/certs", "regcheck/internal/challenge", "regcheck/internal/content", "regcheck/internal/endpoint",
		"regcheck/internal/layout", "regcheck/internal/message", "regcheck/internal/oci", "regcheck/internal/probe", "regcheck/internal/product", "internal/spelling", "regcheck/internal/wire", "secret"},
	"regcheck/inventory":               {"regcheck", "regcheck/internal/content", "regcheck/internal/oci", "regcheck/internal/wire"},
	"regcheck/internal/artifact":       {"regcheck/internal/content", "regcheck/internal/layout", "regcheck/internal/message", "regcheck/internal/oci", "regcheck/internal/wire"},
	"regcheck/internal/content":        {"regcheck/internal/challenge", "regcheck/internal/endpoint", "regcheck/internal/oci", "regcheck/internal/wire"},
	"regcheck/internal/probe":          {"regcheck/internal/challenge", "regcheck/internal/endpoint", "regcheck/internal/oci", "regcheck/internal/wire"},
	"regcheck/internal/challenge":      {"egress", "regcheck/internal/certs", "regcheck/internal/wire"},
	"regcheck/internal/certs":          {"egress", "regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/internal/endpoint":       {"egress", "regcheck/internal/message"},
	"regcheck/internal/layout":         {},
	"regcheck/internal/message":        {},
	"regcheck/internal/oci":            {"internal/lazyregexp", "regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/internal/product":        {"internal/lazyregexp", "regcheck/internal/challenge", "regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/internal/wire":           {"egress", "regcheck/internal/message", "secret"},
	"regcheck/regchecktest":            {"egress", "secret"},
	"definitions":                      {"definitions/internal/kubernetes", "definitions/internal/projects", "definitions/internal/runtimes", "definitions/internal/scanner", "definitions/model"},
	"definitions/model":                {"regcheck", "secret"},
	"definitions/internal/scanner":     {"definitions/internal/dockerauth", "definitions/internal/inspect", "definitions/internal/node", "definitions/model", "internal/cputime", "internal/expiry", "internal/lazyregexp", "regcheck", "secret"},
	"definitions/internal/kubernetes":  {"definitions/internal/argorepo", "definitions/internal/dockerauth", "definitions/internal/inspect", "definitions/internal/node", "definitions/internal/scanner", "definitions/model", "regcheck", "secret"},
	"definitions/internal/runtimes":    {"definitions/internal/dockerauth", "definitions/internal/inspect", "definitions/internal/node", "definitions/internal/runtimeconf", "definitions/internal/scanner", "definitions/model", "internal/lazyregexp", "regcheck", "secret"},
	"definitions/internal/projects":    {"api", "definitions/internal/dockerauth", "definitions/internal/inspect", "definitions/internal/node", "definitions/internal/scanner", "definitions/internal/shell", "definitions/model", "internal/fault", "internal/lazyregexp", "internal/strictjson", "regcheck", "secret"},
	"definitions/internal/argorepo":    {"secret"},
	"definitions/internal/dockerauth":  {"definitions/internal/inspect", "definitions/internal/node", "secret"},
	"definitions/internal/inspect":     {"internal/lazyregexp"},
	"definitions/internal/node":        {"internal/lazyregexp"},
	"definitions/internal/runtimeconf": {"definitions/internal/dockerauth", "definitions/internal/node", "internal/lazyregexp"},
	"definitions/internal/shell":       {},
	"api":                              {"regcheck", "secret"},
	"client":                           {"api", "definitions/model", "internal/lazyregexp", "regcheck", "secret"},
	"internal/fault":                   {},
	"internal/audit":                   {},
	"internal/expiry":                  {},
	"internal/lazyregexp":              {},
	"internal/clock":                   {},
	"internal/strictjson":              {"internal/fault", "internal/lazyregexp"},
	"internal/seal":                    {"secret"},
	"internal/selfsigned":              {},
	"internal/filelock":                {},
	"internal/coredump":                {},
	"internal/program":                 {},
	"internal/flagvalue":               {"internal/lazyregexp"},
	"internal/auxiliary":               {},
	"internal/alertbodies":             {},
	"internal/paging":                  {"internal/fault"},
	"internal/spelling":                {},
	"internal/scan":                    {"definitions", "definitions/model", "internal/lazyregexp", "internal/program", "internal/scanreport", "regcheck", "secret"},
	"internal/store": {"internal/audit", "internal/seal", "internal/store/changelist", "internal/store/jsontext", "internal/store/keyset",
		"internal/store/sqldb", "secret"},
	"internal/store/changelist":   {"internal/store/sqldb"},
	"internal/store/jsontext":     {},
	"internal/store/keyset":       {"internal/seal", "internal/store/sqldb"},
	"internal/store/sqldb":        {"internal/fault", "internal/filelock", "internal/lazyregexp", "internal/seal", "secret"},
	"internal/store/partitions":   {"internal/lazyregexp", "internal/store/sqldb"},
	"internal/store/postgrestest": {"internal/needs", "internal/testport"},
	"internal/store/datamigration": {
		"internal/store", "internal/store/sqldb"},
	"internal/store/storetest": {
		"internal/audit", "internal/fault", "internal/seal", "internal/store", "internal/store/partitions", "internal/store/postgrestest", "internal/store/sqldb", "secret"},
	"internal/childprocess":        {},
	"internal/cputime":             {},
	"internal/fairqueue":           {"internal/fault"},
	"internal/filereader":          {"definitions", "definitions/model", "internal/childprocess", "internal/cputime", "internal/fault"},
	"internal/hashing":             {"internal/childprocess"},
	"internal/hashing/hashingtest": {"internal/hashing"},
	"internal/auth": {"internal/audit", "internal/auth/changehistory", "internal/auth/fingerprints", "internal/fairqueue", "internal/fault",
		"internal/hashing", "internal/perminute", "internal/seal", "internal/store", "internal/store/partitions", "internal/store/sqldb", "secret"},
	"internal/perminute":          {},
	"internal/auth/changehistory": {"internal/store"},
	"internal/auth/fingerprints":  {},
	"internal/auditchain":         {"internal/audit", "internal/store"},
	"internal/budget":             {"internal/auth", "internal/fault"},
	"internal/directory":          {"internal/audit", "internal/auth", "internal/fault", "internal/paging", "internal/store", "secret"},
	"internal/wording":            {"egress", "regcheck"},
	"internal/scanreport":         {"definitions", "definitions/model", "internal/lazyregexp", "internal/wording", "regcheck", "secret"},
	"internal/queue":              {},
	"internal/alerts":             {"egress", "internal/alertbodies", "internal/audit", "internal/auth", "internal/fault", "internal/lazyregexp", "internal/wording", "internal/queue", "internal/store", "secret"},
	"internal/registries":         {"definitions", "definitions/model", "internal/audit", "internal/auth", "internal/fault", "internal/paging", "internal/seal", "internal/store", "regcheck", "secret"},
	"internal/registries/registriestest": {
		"internal/audit", "internal/auth", "internal/store", "internal/store/postgrestest", "internal/store/storetest", "regcheck", "secret"},
	"internal/checks": {"definitions/model", "internal/audit", "internal/auth", "internal/fairqueue", "internal/fault", "internal/filereader", "internal/perminute", "internal/registries", "internal/store", "regcheck"},
	"internal/watch": {"internal/alerts", "internal/audit", "internal/auth", "internal/fault", "internal/queue", "internal/registries",
		"internal/store", "regcheck"},
	"internal/contentsync": {"internal/audit", "internal/auth", "internal/fault", "internal/paging", "internal/queue", "internal/registries", "internal/store",
		"regcheck", "regcheck/inventory"},
	"internal/connlimit": {},
	"internal/server": {"api", "definitions", "definitions/model", "internal/alerts", "internal/audit", "internal/auth", "internal/budget", "internal/checks", "internal/connlimit", "internal/contentsync", "internal/directory",
		"internal/fault", "internal/paging", "internal/registries", "internal/spelling", "internal/strictjson", "internal/watch", "regcheck", "secret"},
	"internal/cli":     {"api", "client", "definitions/model", "internal/alertbodies", "internal/command", "internal/fault", "internal/filelock", "internal/flagvalue", "internal/scan", "internal/seal", "internal/strictjson", "regcheck", "secret"},
	"internal/command": {"api", "definitions", "internal/fault", "internal/flagvalue", "internal/lazyregexp", "internal/strictjson", "regcheck", "secret"},
	"internal/console": {"api", "definitions", "definitions/model", "internal/alertbodies", "internal/alerts", "internal/audit", "internal/auth", "internal/budget", "internal/checks", "internal/contentsync", "internal/directory", "internal/fault",
		"internal/paging", "internal/registries", "internal/scan", "internal/strictjson", "internal/watch", "regcheck", "secret", "internal/console/reference"},
	"internal/console/reference": {"internal/lazyregexp"},
	"cmd/regwarden": {"api", "definitions", "definitions/model", "egress", "internal/alerts", "internal/audit", "internal/auditchain", "internal/auth", "internal/checks", "internal/console", "internal/contentsync", "internal/directory",
		"internal/auxiliary", "internal/budget", "internal/cli", "internal/clock", "internal/command", "internal/coredump", "internal/fault", "internal/filereader", "internal/flagvalue", "internal/hashing", "internal/lazyregexp", "internal/program", "internal/wording", "internal/registries", "internal/scan", "internal/scanreport", "internal/seal", "internal/selfsigned", "internal/server", "internal/store",
		"internal/store/datamigration", "internal/store/sqldb", "internal/strictjson", "internal/watch", "regcheck", "secret"},
	"deploy/ociimage":   {},
	"deploy/sbom":       {},
	"internal/needs":    {},
	"internal/testport": {},
	"internal/archtest": {},
}

type pkg struct {
	Dir        string
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listPackages = sync.OnceValues(func() (all []pkg, err error) {
	out, err := exec.Command("go", "list", "-json", module+"/...").Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %s is not in mayImport; add it and describe it in ARCHITECTURE.md", name)
		}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s must not import %s", name, ours)
			}
		}
	}
}

// The public packages do not name the service or its settings.
func TestPublicPackagesDoNotNameTheService(t *testing.T) {
	names := regexp.MustCompile(`regwarden|Regwarden|--egress-`)
	checked := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name != "egress" && name != "regcheck" && !strings.HasPrefix(name, "regcheck/") || name == "regcheck/regchecktest" {
			continue
		}
		checked++
		for _, file := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if found := names.FindString(strings.ReplaceAll(string(source), module, "")); found != "" {
				t.Errorf("%s/%s names the service: %s", name, file, found)
			}
		}
	}
	if checked < 2 {
		t.Errorf("%d packages were checked", checked)
	}
}

// A package of the engine or the service that exceeds this limit has to be split. Test helpers may be larger.
func TestPackagesAreSmall(t *testing.T) {
	const maxLines = 4000
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasSuffix(name, "test") {
			continue
		}
		lines := 0
		for _, file := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(source, []byte("\n"))
		}
		if lines > maxLines {
			t.Errorf("package %s has %d lines, want at most %d", name, lines, maxLines)
		}
	}
}

func TestPackagesHaveDocComment(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && len(p.Doc) < 40 {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}

// Only commands read the environment, so that all configuration is explicit.
func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	reads := regexp.MustCompile(`os\.(Getenv|LookupEnv|Environ)\(`)
	for _, p := range packages(t) {
		switch strings.TrimPrefix(p.ImportPath, module+"/") {
		case "cmd/regwarden", "internal/cli", "internal/command", "internal/needs": // the last is for tests
			continue
		}
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if reads.Match(source) {
				t.Errorf("%s/%s reads the environment", p.ImportPath, name)
			}
		}
	}
}
