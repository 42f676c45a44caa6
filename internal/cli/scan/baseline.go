package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
)

// Baseline is the issues of an earlier scan, with how many there are of each. Only what is not in it is new.
type Baseline map[scanreport.Identity]int

// maxBaseline is the size of a baseline.
const maxBaseline = 64 << 20

// baselineFile is the JSON of a baseline.
type baselineFile struct {
	Version int           `json:"version"`
	Issues  []knownIssues `json:"issues"`
}

type knownIssues struct {
	scanreport.Identity
	Count int `json:"count,omitempty"` // 0: one
}

// ReadBaseline reads what WriteBaseline wrote.
func ReadBaseline(name string) (Baseline, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q does not exist; write it with --write-baseline", name)
	case err != nil:
		return nil, cannotRead(name, err)
	case !info.Mode().IsRegular() || info.Size() > maxBaseline:
		return nil, fmt.Errorf("%q is not a regular file of at most %d MiB", name, maxBaseline>>20)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, cannotRead(name, err)
	}
	baseline, err := parseBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("%q is not a baseline: %w; write it again with --write-baseline", name, err)
	}
	return baseline, nil
}

func parseBaseline(data []byte) (Baseline, error) {
	var file baselineFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("its version must be 1, not %d", file.Version)
	}
	baseline := Baseline{}
	for _, f := range file.Issues {
		if f.Count < 0 || f.Code == "" || f.File == "" {
			return nil, errors.New("each issue must have a code, a file and a count that is not negative")
		}
		baseline[f.Identity] += cmp.Or(f.Count, 1)
	}
	return baseline, nil
}

// bytes returns the JSON of the baseline, sorted, so that a change of one issue is a change of its lines.
func (b Baseline) bytes() ([]byte, error) {
	file := baselineFile{Version: 1, Issues: []knownIssues{}}
	for identity, count := range b {
		if count == 1 {
			count = 0
		}
		file.Issues = append(file.Issues, knownIssues{identity, count})
	}
	slices.SortFunc(file.Issues, func(x, y knownIssues) int {
		a, b := x.Identity, y.Identity
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Registry, b.Registry),
			cmp.Compare(a.Content, b.Content), cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Code, b.Code))
	})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(file)
	return command.EscapeUnprintable(out.Bytes(), command.EscapeJSON), err
}

// baselineOptions makes names of files relative to the directory of the baseline, so that they are the same wherever a scan is started.
func baselineOptions(name string) (o scanreport.Options, err error) {
	o.Dir, err = filepath.Abs(filepath.Dir(name))
	return o, err
}

// WriteBaseline writes the issues of a result, and returns them. It fails if a definition was not checked, whose issues would be new later.
func WriteBaseline(name string, result model.Result) (Baseline, error) {
	if n := NotChecked(result); n > 0 {
		return nil, fmt.Errorf("the baseline was not written, since definitions could not be checked: %d", n)
	}
	options, err := baselineOptions(name)
	if err != nil {
		return nil, err
	}
	baseline := Baseline{}
	scanreport.Remove(&result, options, func(f scanreport.Issue) bool {
		baseline[f.Identity]++
		return false
	})
	text, err := baseline.bytes()
	if err != nil {
		return nil, err
	}
	return baseline, writeFile(name, text)
}

// Compare removes the issues of the baseline from a result. name is that of its file.
func (b Baseline) Compare(name string, result *model.Result) error {
	options, err := baselineOptions(name)
	if err != nil {
		return err
	}
	left := maps.Clone(b)
	result.Summary.Known = scanreport.Remove(result, options, func(f scanreport.Issue) bool {
		if left[f.Identity] == 0 {
			return false
		}
		left[f.Identity]--
		return true
	})
	return nil
}
