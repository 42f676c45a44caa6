package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/secret"
)

// exported is a stored definition as a document for "registry apply": the body of the API, without what is empty.
type exported struct {
	Metadata struct {
		Name        string            `yaml:"name"`
		Labels      map[string]string `yaml:"labels,omitempty"`
		Annotations map[string]string `yaml:"annotations,omitempty"`
	} `yaml:"metadata"`
	Spec struct {
		Kind            string       `yaml:"kind,omitempty"`
		Endpoint        string       `yaml:"endpoint"`
		BasePath        string       `yaml:"basePath,omitempty"`
		BaseContentPath string       `yaml:"baseContentPath,omitempty"`
		References      []string     `yaml:"references,omitempty"`
		ProviderType    string       `yaml:"providerType,omitempty"`
		Scope           string       `yaml:"scope,omitempty"`
		Sync            bool         `yaml:"isSyncSupported,omitempty"`
		Manifest        bool         `yaml:"containsSpectroManifest,omitempty"`
		Private         bool         `yaml:"isPrivate,omitempty"`
		Auth            exportedAuth `yaml:"auth"`
	} `yaml:"spec"`
}

type exportedAuth struct {
	Type     string         `yaml:"type"`
	Username string         `yaml:"username,omitempty"`
	Password string         `yaml:"password,omitempty"`
	Token    string         `yaml:"token,omitempty"`
	AWS      map[string]any `yaml:"aws,omitempty"`
	GCP      map[string]any `yaml:"gcp,omitempty"`
	Azure    map[string]any `yaml:"azure,omitempty"`
	GitHub   map[string]any `yaml:"github,omitempty"`
	TLS      *exportedTLS   `yaml:"tls,omitempty"`

	PassCredentials bool `yaml:"passCredentials,omitempty"`
}

type exportedTLS struct {
	Enabled     bool   `yaml:"enabled"`
	SkipVerify  bool   `yaml:"insecureSkipVerify,omitempty"`
	CA          string `yaml:"ca,omitempty"`
	Certificate string `yaml:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty"`
}

// Values of --secrets: how a document refers to a secret.
var secretKinds = []string{"env", "file", "none"}

func (p Commands) registryExport() *cobra.Command {
	kind := secretKinds[0]
	cmd := p.Command("export [NAME…]", "Print stored definitions as YAML, without secrets", cobra.ArbitraryArgs,
		func(c *manage.Call, args []string) error {
			if !slices.Contains(secretKinds, kind) {
				return command.Usage(c.Cmd, fmt.Errorf("--secrets must be one of %s", strings.Join(secretKinds, ", ")))
			}
			all, err := client.Collect(c.Client.Registries.List(c.Ctx))
			if err != nil {
				return err
			}
			uids, err := uidsOf(c, args, all)
			if err != nil {
				return err
			}
			return export(c, uids, newReferences(kind, all), len(args) > 0)
		})
	cmd.Flags().StringVar(&kind, "secrets", kind, "what stands for a secret: env (a variable such as ${env:HARBOR_PASSWORD}), "+
		"file (such as ${file:harbor.password}) or none (the stored one stays)")
	// fails only without the flag
	_ = cmd.RegisterFlagCompletionFunc("secrets", cobra.FixedCompletions(secretKinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// uidsOf returns the uids of the named registries, of all without names.
func uidsOf(c *manage.Call, names []string, all []api.OCIRegistrySummary) (uids []string, err error) {
	if len(names) == 0 {
		for _, r := range all {
			uids = append(uids, r.Metadata.UID)
		}
		return uids, nil
	}
	for _, name := range names {
		found, err := c.Client.Registries.Find(c.Ctx, name)
		if err != nil {
			return nil, err
		}
		uids = append(uids, found.Metadata.UID)
	}
	return uids, nil
}

// export prints registries. Those of a cluster are only printed if they are named: applied to another server, they would be stored next to
// those that it reads there.
func export(c *manage.Call, uids []string, refer references, named bool) error {
	out, separator, omitted := c.Cmd.OutOrStdout(), "", 0
	for _, uid := range uids {
		stored, err := c.Client.Registries.Get(c.Ctx, uid)
		if !named && isMissing(err) { // deleted since it was listed
			continue
		}
		if err != nil {
			return err
		}
		if stored.Metadata.Origin != "" && !named {
			omitted++
			continue
		}
		_, err = io.WriteString(out, separator)
		if err := errors.Join(err, command.WriteYAML(out, exportOf(requestOf(stored), refer.of(stored.Metadata)))); err != nil {
			return err
		}
		separator = "---\n"
	}
	if omitted > 0 {
		c.Note("Not exported, because they are read from a Kubernetes cluster: %d. Name those that you want.", omitted)
	}
	return nil
}

// isMissing reports whether a registry is not stored.
func isMissing(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Status == http.StatusNotFound
}

// referring returns the reference for a secret of a registry, which is masked, and "" for none.
type referring func(value secret.String, field string) string

func exportOf(r api.OCIRegistryRequest, refer referring) (e exported) {
	a := r.Spec.Auth
	e.Metadata.Name, e.Metadata.Labels, e.Metadata.Annotations = r.Metadata.Name, r.Metadata.Labels, r.Metadata.Annotations
	s := &e.Spec
	s.Kind = string(r.Spec.Kind)
	s.Endpoint, s.BasePath, s.BaseContentPath, s.References = r.Spec.Endpoint, r.Spec.BasePath, r.Spec.BaseContentPath, r.Spec.References
	s.ProviderType, s.Scope = string(r.Spec.ProviderType), r.Spec.Scope
	s.Sync, s.Manifest, s.Private = r.Spec.IsSyncSupported, r.Spec.ContainsSpectroManifest, r.Spec.IsPrivate
	s.Auth = exportedAuth{Type: string(a.Type), Username: a.Username, Password: refer(a.Password, "password"),
		Token: refer(a.Token, "token"), AWS: membersOf(a.AWS, refer), GCP: membersOf(a.GCP, refer), Azure: membersOf(a.Azure, refer),
		GitHub: membersOf(a.GitHub, refer), PassCredentials: a.PassCredentials}
	if a.TLS.Enabled {
		s.Auth.TLS = &exportedTLS{Enabled: true, SkipVerify: a.TLS.InsecureSkipVerify, CA: a.TLS.CA, Certificate: a.TLS.Certificate,
			Key: refer(a.TLS.Key, "key")}
	}
	return e
}

// membersOf returns what credentials are obtained with, nil for nil. In its JSON, secrets are masked.
func membersOf(settings any, refer referring) (members map[string]any) {
	data, _ := json.Marshal(settings) // of texts and switches, as the next one: neither fails
	_ = json.Unmarshal(data, &members)
	for name, value := range members {
		if value != secret.Mask {
			continue
		}
		if members[name] = refer(secret.Mask, name); members[name] == "" {
			delete(members, name)
		}
	}
	return members
}

// references are those of a kind for secrets of registries.
type references struct {
	kind   string
	counts map[string]int // how many registries of the organization have a prefix
}

// newReferences returns references for the registries of an organization. Those of one are the same whatever is exported with it.
func newReferences(kind string, all []api.OCIRegistrySummary) references {
	r := references{kind, map[string]int{}}
	for _, one := range all {
		r.counts[prefixOf(kind, one.Metadata.Name)]++
	}
	return r
}

// of returns the references for the secrets of a registry. Names that differ in punctuation, or in letters that a variable cannot have,
// must not refer to one secret: their references have the uid.
func (r references) of(m api.OCIRegistryMetadata) referring {
	prefix := prefixOf(r.kind, m.Name)
	if r.counts[prefix] > 1 {
		prefix = prefixOf(r.kind, m.Name+" "+m.UID)
	}
	return func(value secret.String, field string) string {
		switch {
		case value == "" || r.kind == "none":
			return ""
		case r.kind == "file":
			return fmt.Sprintf("${file:%s.%s}", prefix, field)
		}
		return fmt.Sprintf("${env:%s_%s}", prefix, strings.ToUpper(wordEnd.Get().ReplaceAllString(field, "${1}_$2")))
	}
}

// prefixOf returns what the references for a registry begin with.
func prefixOf(kind, name string) string {
	if kind == "file" {
		plain := strings.ToLower(strings.Trim(notInVariable.Get().ReplaceAllString(strings.ToUpper(name), "-"), "-"))
		return cmp.Or(plain, "registry")
	}
	plain := strings.Trim(notInVariable.Get().ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if plain == "" || plain[0] <= '9' {
		plain = "REGISTRY_" + plain
	}
	return plain
}
