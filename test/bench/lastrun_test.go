package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// lastRun has the figures of the last run that was asked to write them: by table, and in it by name.
const lastRun = "../../docs/benchmarks.json"

type keptFigure struct {
	Name   string  `json:"name"`
	Figure float64 `json:"figure"`
}

// keep has a figure compared with the last run's.
func (t *table) keep(name string, figure float64) {
	t.kept = append(t.kept, keptFigure{name, figure})
}

func readLastRun() (map[string][]keptFigure, error) {
	all := map[string][]keptFigure{}
	text, err := os.ReadFile(lastRun)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// compare says how the figures differ from those of the last run.
func (t *table) compare() (string, error) {
	last, err := readLastRun()
	if err != nil || len(last[t.name]) == 0 || len(t.kept) == 0 {
		return "", err
	}
	var said []string
	for _, now := range t.kept {
		i := slices.IndexFunc(last[t.name], func(k keptFigure) bool { return k.Name == now.Name })
		if i < 0 || last[t.name][i].Figure == 0 {
			continue
		}
		before := last[t.name][i].Figure
		said = append(said, fmt.Sprintf("%s %+.1f %% (was %.5g)", now.Name, 100*(now.Figure-before)/before, before))
	}
	return "Against the last run that was kept: " + strings.Join(said, "; ") + ".", nil
}

// writeLastRun puts the figures in the place of the last run's.
func (t *table) writeLastRun() error {
	all, err := readLastRun()
	if err != nil || len(t.kept) == 0 {
		return err
	}
	all[t.name] = t.kept
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(lastRun, append(text, '\n'), 0o600)
}
