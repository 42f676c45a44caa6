package regcheck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// The matrix has definitions, the server of each, and the complete expected result. It is data,
// in testdata/matrix_*.json; `go test ./regcheck -run Matrix -v` prints it with what came out.
// -row TEXT runs only the rows whose name has the text, and prints their reports.
var onlyRow = flag.String("row", "", "run only the rows of the matrix whose name contains this")

// matrixRow is one row of the files. The definition may hold words like ${password} and ${ca};
// without an endpoint it gets the server's own.
type matrixRow struct {
	Name       string
	Server     string
	Definition json.RawMessage
	Want       *matrixWant
	Problems   []string // fields, where the definition itself is wrong
	Warnings   []string
	Why        string // what a reader would ask
	Truer      string // why our result is better than that of oras-go, which differs (checked by test/engine)

	Egress      *egress.Settings // the operator's; absent: the zero policy
	CommandLine bool             // the policy of the command line
	Proxy       bool             // go through the world's proxy
	Connect     string           // what the proxy is asked to connect to: "address", "name" or the default
	SkipControl bool
	Limits      string // "short" for servers that never respond
}

type matrixWant struct {
	Valid     bool
	Code      string
	Stage     string
	Reason    string
	Field     string
	Retryable *bool  // not compared when absent
	Content   string // status of the content stage; not compared when empty
}

func TestMatrix(t *testing.T) {
	files := matrix(t)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		rows := files[file]
		t.Run(file, func(t *testing.T) {
			var table bytes.Buffer
			lines := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
			wrong := 0
			for _, row := range rows {
				if !strings.Contains(row.Name, *onlyRow) {
					continue
				}
				outcome, faults := runRow(t, row)
				mark := "ok"
				if len(faults) > 0 {
					mark = "WRONG"
					wrong++
					t.Errorf("%s\n\t%s", row.Name, strings.Join(faults, "\n\t"))
				}
				fmt.Fprintf(lines, "%s\t%s\t%s\t%s\n", mark, row.Name, row.Server, outcome)
			}
			_ = lines.Flush()
			t.Logf("%d rows, %d wrong\n%s", len(rows), wrong, table.String())
		})
	}
}

// runRow checks a row in its own test network and returns all deviations.
func runRow(t *testing.T, row matrixRow) (outcome string, faults []string) {
	t.Helper()
	before := runtime.NumGoroutine()
	g, err := regchecktest.Open(row.Server)
	if err != nil {
		t.Fatal(err)
	}
	policy := mustPolicy(t, row)
	c, conns := checker(g, policy, row), &openConns{Dialer: g}
	c.Dialer = conns
	plan, problems := regcheck.Parse(mustDefinition(t, g, row))
	if len(problems) > 0 || row.Problems != nil {
		g.Close()
		return fmt.Sprint(problems), compareProblems(row, problems)
	}
	report, err := c.Check(t.Context(), plan, nil)
	if left := conns.left(t); left > 0 {
		faults = append(faults, fmt.Sprintf("%d connections are left open", left))
	}
	g.Close()

	faults = append(faults, compare(row, report, err)...)
	if report != nil && proposesSame(report.Hint, mustDefinition(t, g, row)) {
		faults = append(faults, "the hint proposes what the definition has: "+report.Hint)
	}
	faults = append(faults, checkSecrets(g, report, err)...)
	for _, address := range g.Dials() {
		target, err := netip.ParseAddrPort(address)
		if err == nil {
			_, err = policy.Evaluate(target)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("dialed %s: %v", address, err))
		}
	}
	if left := goroutinesLeft(t, before); left > 0 {
		faults = append(faults, fmt.Sprintf("%d goroutines are left", left))
	}
	if *onlyRow != "" {
		text, _ := json.MarshalIndent(report, "", "  ")
		t.Logf("%s: %v\n%s\n%v", row.Name, err, text, g.Requests())
	}
	return outcomeLine(report, err), faults
}

func checker(g *regchecktest.Registry, policy egress.Policy, row matrixRow) *regcheck.Checker {
	c := &regcheck.Checker{Resolver: g, Dialer: g, Roots: g.Roots(), Egress: policy, SkipControl: row.SkipControl}
	if row.Proxy {
		c.Proxy = func(*url.URL) (*url.URL, error) { return g.ProxyURL(), nil }
		c.ProxyConnect = map[string]egress.ProxyConnect{"address": egress.ConnectAddress, "name": egress.ConnectName}[row.Connect]
	}
	if row.Limits == "short" {
		c.Limits = shortLimits(regcheck.Stage(row.Want.Stage))
	}
	return c
}

// shortLimits ends the stage to which a server never responds. Earlier stages have their usual limits, also on a busy machine.
func shortLimits(stage regcheck.Stage) regcheck.Limits {
	switch stage {
	case regcheck.StageResolve:
		return regcheck.Limits{Resolve: 200 * time.Millisecond}
	case regcheck.StageConnect:
		return regcheck.Limits{Connect: 200 * time.Millisecond}
	case regcheck.StageTLS:
		return regcheck.Limits{TLS: 400 * time.Millisecond}
	case regcheck.StageAuth, regcheck.StageContent: // the responses to earlier stages have the same limit
		return regcheck.Limits{Response: 3 * time.Second}
	default:
		return regcheck.Limits{Response: 500 * time.Millisecond}
	}
}

func mustPolicy(t *testing.T, row matrixRow) egress.Policy {
	t.Helper()
	if row.CommandLine {
		return egress.ForCommandLine()
	}
	if row.Egress == nil {
		return egress.Policy{}
	}
	policy, err := egress.ParsePolicy(*row.Egress)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func mustDefinition(t *testing.T, g *regchecktest.Registry, row matrixRow) regcheck.Definition {
	t.Helper()
	words, err := g.Words()
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(row.Definition, &raw); err != nil {
		t.Fatalf("%s: %v", row.Name, err)
	}
	if _, given := raw["endpoint"]; !given {
		raw["endpoint"] = g.Endpoint
	}
	text, err := json.Marshal(expand(raw, words))
	if err != nil {
		t.Fatal(err)
	}
	var d regcheck.Definition
	if _, err := strictjson.Decode(text, &d); err != nil {
		t.Fatalf("%s: %v", row.Name, err)
	}
	d.NoteUnknown(strictjson.Unknown(text, &d))
	return d
}

func expand(value any, words map[string]string) any {
	switch value := value.(type) {
	case string:
		return regchecktest.Expand(value, words)
	case map[string]any:
		for name, member := range value {
			value[name] = expand(member, words)
		}
	}
	return value
}

// compare compares a report with its row.
func compare(row matrixRow, report *regcheck.Report, err error) (faults []string) {
	differ := func(what, got, want string) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is %q, want %q", what, got, want))
		}
	}
	if err != nil {
		return []string{"no report: " + err.Error()}
	}
	want := row.Want
	differ("result", fmt.Sprint(report.Valid), fmt.Sprint(want.Valid))
	differ("code", string(report.Code), want.Code)
	differ("stage", string(report.Stage), want.Stage)
	differ("reason", string(report.Reason), want.Reason)
	differ("field", report.Field, want.Field)
	differ("warnings", strings.Join(warningCodes(report), " "), strings.Join(slices.Sorted(slices.Values(row.Warnings)), " "))
	if want.Retryable != nil {
		differ("retryable", fmt.Sprint(report.Retryable), fmt.Sprint(*want.Retryable))
	}
	if want.Content != "" {
		differ("content", string(report.Stages[len(report.Stages)-1].Status), want.Content)
	}
	return append(faults, wellFormed(report)...)
}

// wellFormed checks what applies to every report.
func wellFormed(r *regcheck.Report) (faults []string) {
	var names []regcheck.Stage
	failed := false
	for _, s := range r.Stages {
		names = append(names, s.Name)
		if failed && s.Status != regcheck.Skipped {
			faults = append(faults, fmt.Sprintf("stage %s is %s after a failed one", s.Name, s.Status))
		}
		if s.Status == regcheck.Failed {
			failed = true
			if s.Name != r.Stage {
				faults = append(faults, fmt.Sprintf("stage %s failed, but the report says %s", s.Name, r.Stage))
			}
		}
	}
	if !slices.Equal(names, regcheck.UsualStages()) {
		faults = append(faults, fmt.Sprintf("stages are %v", names))
	}
	if failed == r.Valid || !r.Valid && (r.Message == "" || r.Hint == "") {
		faults = append(faults, "a failed stage, a message and a hint belong to a report that is not valid, and to no other")
	}
	if !r.Valid && !slices.ContainsFunc(regcheck.Entries(), func(e regcheck.Entry) bool {
		return e.Code == r.Code && e.Reason == r.Reason && slices.Contains(e.Stages, r.Stage)
	}) {
		faults = append(faults, fmt.Sprintf("the table does not have the stage %s for %s %s", r.Stage, r.Code, r.Reason))
	}
	for _, one := range r.References {
		if one.Valid != (one.Status == regcheck.OK || one.Status == regcheck.Unknown) || r.Valid && !one.Valid || one.Message == "" ||
			(one.Code != "") != (one.Status == regcheck.Failed) || (one.Hint != "") != (one.Code != "") {
			faults = append(faults, fmt.Sprintf("the result of a reference: %+v", one))
		}
	}
	if r.Valid && (r.Message != "" || r.Hint != "" || r.Retryable) {
		faults = append(faults, "a valid report has a message, a hint or a retry")
	}
	if number := alertNumber.FindString(r.Message); number != "" || strings.Contains(r.Message, "tls: tls:") {
		faults = append(faults, "the message does not put TLS into words: "+r.Message)
	}
	if strings.Contains(r.Hint, "egress.") {
		faults = append(faults, "the hint names a setting that does not exist: "+r.Hint)
	}
	if r.Registry == "" || r.DurationMS < 0 || r.StartedAt.IsZero() {
		faults = append(faults, "registry, duration or start is missing")
	}
	return faults
}

var alertNumber = regexp.MustCompile(`alert \(?[0-9]+`)

// checkSecrets checks that no credential was sent to a wrong host, and none into the report, and that
// nothing is in the report that would do something to a terminal.
func checkSecrets(g *regchecktest.Registry, report *regcheck.Report, err error) (faults []string) {
	for _, leak := range g.Leaks() {
		faults = append(faults, "LEAK: "+leak.String())
	}
	text := fmt.Sprint(err)
	if report != nil {
		encoded, err := json.Marshal(report)
		if err != nil {
			return append(faults, err.Error())
		}
		text += string(encoded)
		for _, s := range []string{report.Message, report.Hint, report.Registry, report.Stages[len(report.Stages)-1].Detail} {
			text += s
		}
		for _, s := range report.Stages {
			text += s.Detail
		}
	}
	for _, secret := range []string{regchecktest.Password, regchecktest.Token, regchecktest.RobotPassword, regchecktest.AdminPassword,
		regchecktest.ExpiredPassword, regchecktest.WrongPassword, regchecktest.WrongToken, regchecktest.TokenHead, "PRIVATE KEY"} {
		if strings.Contains(text, secret) {
			faults = append(faults, "the report holds a secret: "+secret)
		}
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co) && c != '\n' }); i >= 0 {
		faults = append(faults, fmt.Sprintf("the report holds the character %q", text[i:min(i+4, len(text))]))
	}
	return faults
}

// goroutinesLeft waits for goroutines to end until the time of the test binary is nearly over.
func goroutinesLeft(t *testing.T, before int) int {
	t.Helper()
	deadline, limited := t.Deadline()
	for runtime.NumGoroutine() > before && !(limited && time.Until(deadline) < 10*time.Second) {
		time.Sleep(5 * time.Millisecond)
	}
	return max(0, runtime.NumGoroutine()-before)
}

func compareProblems(row matrixRow, problems []regcheck.Problem) (faults []string) {
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	if slices.Sort(fields); !slices.Equal(fields, row.Problems) {
		faults = []string{fmt.Sprintf("problems are %v, want %v", problems, row.Problems)}
	}
	return faults
}

func warningCodes(r *regcheck.Report) []string {
	var codes []string
	for _, w := range r.Warnings {
		codes = append(codes, string(w.Code))
	}
	return slices.Sorted(slices.Values(codes))
}

// outcomeLine returns an outcome on one line.
func outcomeLine(r *regcheck.Report, err error) string {
	if r == nil {
		return fmt.Sprint(err)
	}
	line := "valid"
	if !r.Valid {
		line = fmt.Sprintf("%s at %s", r.Code, r.Stage)
		if r.Reason != "" {
			line += ": " + string(r.Reason)
		}
		if r.Field != "" {
			line += " (" + r.Field + ")"
		}
	}
	if len(r.Warnings) > 0 {
		line += ", warns " + strings.Join(warningCodes(r), " ")
	}
	return line
}

// matrix reads the files.
func matrix(t *testing.T) map[string][]matrixRow {
	t.Helper()
	files, err := filepath.Glob("testdata/matrix_*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no matrix: %v", err)
	}
	all := map[string][]matrixRow{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []matrixRow
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "matrix_"), ".json")] = rows
	}
	return all
}

// Every code, reason and warning has a row that provokes it, and names are not used twice.
func TestMatrixIsComplete(t *testing.T) {
	provoked, names, count := map[string]bool{}, map[string]bool{}, 0
	for file, rows := range matrix(t) {
		for _, row := range rows {
			count++
			if names[file+row.Name] {
				t.Errorf("two rows of %s are named %q", file, row.Name)
			}
			names[file+row.Name] = true
			if row.Want != nil {
				provoked[row.Want.Code+" "+row.Want.Reason] = true
			}
			for _, w := range row.Warnings {
				provoked[w] = true
			}
		}
	}
	for _, e := range regcheck.Entries() {
		key := string(e.Code) + " " + string(e.Reason)
		if e.Warning != "" {
			key = string(e.Warning)
		}
		if e.Code == regcheck.CodeCredentialSourceFailed {
			continue // TestEachReasonIsProvoked in test/clouds, which has the clouds
		}
		if !provoked[key] {
			t.Errorf("no row provokes %s", key)
		}
	}
	if count < 150 {
		t.Errorf("the matrix has %d rows only", count)
	}
}

// A check that is canceled ends while the registry does not respond, and the stage in which that happened has no outcome.
func TestMatrixCanceled(t *testing.T) {
	before := runtime.NumGoroutine()
	g, err := regchecktest.Open("slow")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(g.Requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	row := matrixRow{Name: "canceled", Definition: []byte(`{"auth":{"type":"noAuth"}}`)}
	c := checker(g, egress.Policy{}, row)
	c.Limits = regcheck.Limits{Total: time.Hour, Resolve: time.Hour, Connect: time.Hour, TLS: time.Hour, Response: time.Hour}
	var last regcheck.StageResult
	_, err = c.Check(ctx, regcheck.MustParse(t, mustDefinition(t, g, row)), func(r regcheck.StageResult) { last = r })
	g.Close()
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if last.Status != regcheck.OK || last.Name == regcheck.StageAPI {
		t.Errorf("the last call of the observer had %s as %s: %s", last.Name, last.Status, last.Detail)
	}
	if left := goroutinesLeft(t, before); left > 0 {
		t.Errorf("%d goroutines are left", left)
	}
}
