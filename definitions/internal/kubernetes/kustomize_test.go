package kubernetes

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// TestVisitsAreLimited: what a kustomization lists after so many resources, or so deep in others, has no namespace of it.
func TestVisitsAreLimited(t *testing.T) {
	for _, tt := range []struct {
		visits, depth, wantVisits int
		set                       bool
	}{
		{0, maxLists, 2, true},
		{0, maxLists + 1, 1, false},
		{maxResources - 1, 0, maxResources + 1, true},
		{maxResources, 0, maxResources + 1, false},
	} {
		o := &object{}
		k := kustomizing{c: NewCluster(scanner.New(model.Options{})), byFile: map[string][]*object{"a.yaml": {o}},
			namespaces: map[*object]string{}, visited: map[*kustomization]bool{}, visits: tt.visits}
		k.visit(&kustomization{namespace: "shop", resources: []string{"a.yaml"}}, "", nil, tt.depth)
		if got := k.namespaces[o] == "shop"; got != tt.set || k.visits != tt.wantVisits {
			t.Errorf("after %d visits, %d deep: set %t, %d visits", tt.visits, tt.depth, got, k.visits)
		}
	}
}

// TestABaseIsOneDeeper than what includes it.
func TestABaseIsOneDeeper(t *testing.T) {
	o := &object{}
	base := &kustomization{resources: []string{"a.yaml"}}
	for depth, set := range map[int]bool{maxLists - 1: true, maxLists: false} {
		k := kustomizing{c: NewCluster(scanner.New(model.Options{})), byDirectory: map[string]*kustomization{"base": base},
			byFile: map[string][]*object{"a.yaml": {o}}, namespaces: map[*object]string{}, visited: map[*kustomization]bool{}}
		k.visit(&kustomization{namespace: "shop", resources: []string{"base"}}, "", nil, depth)
		if got := k.namespaces[o] == "shop"; got != set {
			t.Errorf("%d deep: set %t", depth, got)
		}
	}
}

// TestVariablesAreLimited: a file with more variables is not known.
func TestVariablesAreLimited(t *testing.T) {
	for lines, limited := range map[int]bool{maxVariables: false, maxVariables + 1: true} {
		var text strings.Builder
		for i := range lines {
			text.WriteString("a" + strconv.Itoa(i) + "=b\n")
		}
		f := &scanner.File{Scanner: scanner.New(model.Options{}), Name: "kustomization.yaml", Path: "kustomization.yaml",
			Tree: fstest.MapFS{"a.env": {Data: []byte(text.String())}}}
		data, unread := map[string]string{}, map[string]*gap{}
		addVariables(f, "a.env", data, unread)
		if (unread[anyKey] != nil) != limited || len(data) != maxVariables {
			t.Errorf("%d lines: %d values, %v", lines, len(data), unread)
		}
	}
}
