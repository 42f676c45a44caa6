package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/secret"
)

// shownRegistry is the JSON of a stored definition and its health. Secrets are masked, and missing values are null.
type shownRegistry struct {
	UID         string              `json:"uid"`
	Name        string              `json:"name"`
	Created     time.Time           `json:"created"`
	Changed     time.Time           `json:"changed"`
	Annotations map[string]string   `json:"annotations,omitempty"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Origin      string              `json:"origin,omitempty"`
	Definition  api.OCIRegistrySpec `json:"definition"`
	Health      api.RegistryHealth  `json:"health"`
	State       any                 `json:"state"`
	Since       *time.Time          `json:"since"`
	Checked     *time.Time          `json:"checked"`
	NextCheck   *time.Time          `json:"nextCheck"`
	Unconfirmed bool                `json:"unconfirmed"`
	Result      shownResult         `json:"verdict"`
	Sync        shownSync           `json:"sync"`
}

type shownResult struct {
	Stage                  *string `json:"stage"`
	Reason                 *string `json:"reason"`
	Field                  *string `json:"field"`
	CertificateExpiresSoon bool    `json:"certificateExpiresSoon"`
}

type shownSync struct {
	Supported    bool  `json:"supported"`
	Status       any   `json:"status"`
	Message      any   `json:"message"`
	Synchronized any   `json:"synchronized"`
	Repositories int64 `json:"repositories"`
	Tags         int64 `json:"tags"`
}

func (p Commands) registryShow() *cobra.Command {
	return p.Command("show NAME", "Show a stored registry with masked secrets and its health", command.OneArg,
		func(c *manage.Call, args []string) error {
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			r, err := c.Client.Registries.Get(c.Ctx, found.Metadata.UID)
			if err != nil {
				return err
			}
			s := shown(r)
			if c.Output.Format == "name" {
				_, err := fmt.Fprintln(c.Cmd.OutOrStdout(), output.Shown(s.Name))
				return err
			}
			if done, err := c.Output.Value(s); done {
				return err
			}
			return output.Lines(c.Cmd.OutOrStdout(), s.lines())
		}, manage.Shows("csv"))
}

func shown(r *api.OCIRegistry) shownRegistry {
	m, h, y := r.Metadata, r.Status.Health, r.Status.SyncStatus
	return shownRegistry{
		UID: m.UID, Name: m.Name, Created: m.CreationTimestamp, Changed: m.LastModifiedTimestamp, Annotations: m.Annotations,
		Labels: m.Labels, Origin: m.Origin, Definition: r.Spec,
		Health: h, State: command.JSONValue(stateWord(h)), Since: h.Since, Checked: h.LastCheck, NextCheck: h.NextCheck,
		Unconfirmed: h.Unconfirmed,
		Result:      shownResult{h.Stage, h.Reason, h.Field, h.CertificateExpiresSoon},
		Sync: shownSync{y.IsSyncSupported, command.JSONValue(y.Status), command.JSONValue(y.Message), command.JSONValue(y.LastSyncedTime),
			y.Repositories, y.Tags},
	}
}

// lines returns the fields for the text output, by the names that messages use, without empty ones.
func (s shownRegistry) lines() (lines [][2]string) {
	add := func(name string, value any) {
		if text := command.Cell(value); text != "-" {
			lines = append(lines, [2]string{name, text})
		}
	}
	d, auth, h := s.Definition, s.Definition.Auth, s.Health
	add("uid", s.UID)
	add("name", s.Name)
	add("origin", s.Origin)
	add("created", s.Created)
	add("changed", s.Changed)
	add("endpoint", d.Endpoint)
	add("basePath", d.BasePath)
	add("baseContentPath", d.BaseContentPath)
	add("references", strings.Join(d.References, ", "))
	add("providerType", d.ProviderType)
	add("scope", d.Scope)
	add("isPrivate", onlyIf(d.IsPrivate))
	add("containsSpectroManifest", onlyIf(d.ContainsSpectroManifest))
	add("auth.type", auth.Type)
	add("auth.username", auth.Username)
	add("auth.password", auth.Password.String())
	add("auth.token", auth.Token.String())
	for name, settings := range map[string]any{"aws": auth.AWS, "gcp": auth.GCP, "azure": auth.Azure, "github": auth.GitHub} {
		members := membersOf(settings, func(masked secret.String, _ string) string { return masked.String() })
		for _, member := range slices.Sorted(maps.Keys(members)) { // a registry has the members of one type
			add("auth."+name+"."+member, fmt.Sprint(members[member]))
		}
	}
	add("auth.tls", tlsWords(auth.TLS))
	add("health", h.State)
	add("since", known(h.Since))
	add("code", known(h.Code))
	add("reason", known(h.Reason))
	add("field", known(h.Field))
	add("message", known(h.Message))
	add("hint", known(h.Hint))
	add("checked", known(h.LastCheck))
	add("next check", known(h.NextCheck))
	add("certificate expires", known(h.CertificateNotAfter))
	add("credentials expire", known(h.CredentialsNotAfter))
	add("notes", strings.Join(s.notes(), ", "))
	add("sync", s.syncWords())
	return lines
}

func onlyIf(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// tlsWords returns the names of the TLS fields that are set, without the certificates.
func tlsWords(t api.OCIRegistryTLS) string {
	if !t.Enabled {
		return ""
	}
	words := []string{"enabled"}
	for _, w := range []struct {
		name string
		set  bool
	}{{"insecureSkipVerify", t.InsecureSkipVerify}, {"ca", t.CA != ""}, {"certificate", t.Certificate != ""}, {"key", t.Key != ""}} {
		if w.set {
			words = append(words, w.name)
		}
	}
	return strings.Join(words, ", ")
}

// notes returns what the health does not say.
func (s shownRegistry) notes() []string {
	var notes []string
	if s.Unconfirmed {
		notes = append(notes, "the last check failed, which may be temporary; rechecked soon")
	}
	if s.Health.CertificateExpiresSoon {
		notes = append(notes, "the certificate expires soon")
	}
	if s.Health.CredentialsExpireSoon {
		notes = append(notes, "the credentials expire soon or have expired")
	}
	return notes
}

func (s shownRegistry) syncWords() string {
	y := s.Sync
	if !y.Supported {
		return "off"
	}
	status := command.Cell(y.Status)
	words := cmp.Or(syncWords[status], status)
	if y.Synchronized != nil {
		words += fmt.Sprintf(", %s at %s", contentWords(y.Repositories, y.Tags), y.Synchronized)
	}
	if status == "Success" { // its message has the same numbers
		return words
	}
	return strings.TrimSuffix(words+", "+command.Cell(y.Message), ", -")
}
