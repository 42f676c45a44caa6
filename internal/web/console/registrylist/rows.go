package registrylist

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

// Row is a registry of the list.
type Row struct {
	registries.Summary
	registries.Details
	Spark Sparkline
}

// Type names the kind of registry.
func (r Row) Type() string {
	switch registries.Kind(r.Kind) {
	case registries.ECRKind:
		return "Amazon ECR"
	case registries.HelmKind:
		return "Chart repository"
	case registries.AnyKind:
	}
	return "OCI"
}

// Authentication names how the registry is used, in a few words.
func (r Row) Authentication() string {
	name, _, _ := strings.Cut(forms.OptionLabel("auth.type", r.AuthType), ",")
	if r.AuthType == string(regcheck.NoAuth) {
		return "No credentials"
	}
	return name
}

// Content counts what the newest synchronization listed; empty if there is none.
func (r Row) Content() (counts []string) {
	if r.SyncedAt.IsZero() {
		return nil
	}
	return []string{words.Count(int(r.Repositories), "repository"), words.Count(int(r.Tags), "tag")}
}

// LabelText has the labels in the order of their keys.
func (r Row) LabelText() string {
	texts := make([]string, 0, len(r.Labels))
	for key, value := range r.Labels {
		if value != "" {
			key += "=" + value
		}
		texts = append(texts, key)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// Rows returns the rows of registries that were listed for the caller.
func Rows(ctx context.Context, from *registries.Service, p auth.Principal, listed []registries.Summary, now time.Time) ([]Row, error) {
	details, changes, err := from.Details(ctx, p, listed)
	rows := make([]Row, len(listed))
	for i, r := range listed {
		rows[i] = Row{r, details[r.UID], sparkline(changes[r.UID], r.CreatedAt, now)}
	}
	return rows, err
}
