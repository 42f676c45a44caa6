package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
)

// listCharts passes the charts of a repository, or the one of the content path, to sink. unread is why the index was not read to its end.
func (l *lister) listCharts(versions []chartindex.Version, unread string) error {
	byChart, omitted := l.byChart(versions)
	for _, name := range slices.Sorted(maps.Keys(byChart)) {
		if name <= l.result.Cursor.After {
			continue
		}
		if l.result.Cursor.Repositories >= l.limits.Repositories {
			break
		}
		if err := l.addChart(Repository{Name: l.ShowName(name), Tags: byChart[name]}, name); err != nil {
			return err
		}
	}
	if omitted > 0 {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("Omitted versions whose name or chart has too many characters: %d.", omitted))
	}
	if unread != "" {
		l.result.Notes = append(l.result.Notes, "The rest of index.yaml was not examined: "+unread+".")
	}
	if at := l.result.Cursor; len(versions) >= l.limits.Tags || at.Repositories >= l.limits.Repositories {
		l.result.Notes = append(l.result.Notes,
			fmt.Sprintf("Only the first %d charts with %d versions are listed: this is the limit.", at.Repositories, at.Tags))
	}
	return nil
}

// Names of charts and versions may be as long as those of repositories and tags. Helm has no limit.
const (
	maxChartName    = 255
	maxChartVersion = 128
)

// byChart returns the versions by the names of their charts, and how many are omitted because of the length of a name.
func (l *lister) byChart(versions []chartindex.Version) (byChart map[string][]Tag, omitted int) {
	byChart = map[string][]Tag{}
	for _, v := range versions {
		if path := l.ContentPath(); path != "" && path != v.Name {
			continue
		}
		version := l.ShowName(v.Version)
		if len(l.ShowName(v.Name)) > maxChartName || len(version) > maxChartVersion {
			omitted++
			continue
		}
		byChart[v.Name] = append(byChart[v.Name], chartTag(version, v.Digest))
	}
	return byChart, omitted
}

// addChart passes a chart to sink.
func (l *lister) addChart(r Repository, name string) error {
	if most := l.limits.RepositoryTags; len(r.Tags) > most {
		r.Tags, r.Problem = r.Tags[:most], fmt.Sprintf("Only the first %d of its versions are listed.", most)
	}
	if err := l.sink(r); err != nil {
		return err
	}
	l.result.Cursor.After = name
	l.result.Cursor.Repositories++
	l.result.Cursor.Tags += len(r.Tags)
	return nil
}

func chartTag(version, digest string) Tag {
	t := Tag{Name: version, Kind: HelmChart}
	digest = strings.TrimPrefix(strings.ToLower(digest), "sha256:") // which may be missing
	if hash, err := hex.DecodeString(digest); err == nil && len(hash) == sha256.Size {
		t.Digest = "sha256:" + digest
	}
	return t
}
