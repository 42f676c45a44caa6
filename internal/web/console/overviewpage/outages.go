// Package overviewpage has what the first page shows of registries that fail, without HTTP itself.
package overviewpage

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// maxNamed is how many registries of an outage the page names.
const maxNamed = 20

// Outage is what registries of one host have that fail for one reason.
type Outage struct {
	Key        string // the same as long as host and reason are, for the id of an element
	Host       string
	State      store.HealthResult // of the newest failure
	Since      time.Time          // of the oldest one
	Registries []registries.Summary
}

// Named returns the registries that the page names.
func (o Outage) Named() []registries.Summary { return o.Registries[:min(len(o.Registries), maxNamed)] }

// Others returns how many registries the page does not name.
func (o Outage) Others() int { return len(o.Registries) - len(o.Named()) }

// Only returns the name of the registry if it is the only one, else "".
func (o Outage) Only() string {
	if len(o.Registries) > 1 {
		return ""
	}
	return o.Registries[0].Name
}

// Outages groups failing registries by cause and host, in the order of their first ones.
func Outages(failing []registries.Summary) (all []Outage) {
	at := map[string]int{}
	for _, r := range failing {
		host := hostOf(r.Endpoint)
		key := keyOf(r.Health.State.Code, r.Health.State.Reason, host)
		i, known := at[key]
		if !known {
			i, all = len(all), append(all, Outage{Key: key, Host: host, State: r.Health.State})
			at[key] = i
		}
		all[i].Registries, all[i].Since = append(all[i].Registries, r), r.Health.Since
	}
	return all
}

// keyOf returns a key of letters and digits. Texts with the same sum would be one outage, of which 64 bits make none.
func keyOf(parts ...string) string {
	sum := fnv.New64a()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("outage-%x", sum.Sum64())
}

// hostOf returns host and port of an endpoint.
func hostOf(endpoint string) string {
	_, rest, found := strings.Cut(endpoint, "://")
	if !found {
		rest = endpoint
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}
