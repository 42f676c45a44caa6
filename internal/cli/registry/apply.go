package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Results of a definition.
const (
	resultCreated   = "created"
	resultUpdated   = "updated"
	resultUnchanged = "unchanged"
	resultDeleted   = "deleted"
	resultReadOnly  = "read-only" // of a cluster
)

// applySetLabel is the label of the registries that "registry apply --prune" manages, with the name of their set.
const applySetLabel = "regwarden-apply"

// application is one run of "registry apply".
type application struct {
	*manage.Call
	dryRun, keep bool
	into         client.Registries // of the project of new ones
	project      string            // its uid; may be empty
	set          string            // prune what has this name of a set
	stored       map[string]string // uids by canonical names
	rows         [][]any
}

func (p Commands) registryApply() *cobra.Command {
	var files []string
	project, a := "", &application{}
	cmd := p.Command("apply -f FILE", "Store the definitions of files, and change those that differ", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			if len(files) == 0 {
				return command.Usage(c.Cmd, errors.New("give files or directories of definitions with --file; - is standard input"))
			}
			documents, err := readDocuments(c.Cmd.InOrStdin(), files)
			if err != nil {
				return err
			}
			a.Call, a.stored = c, map[string]string{}
			if a.into, a.project, err = c.RegistriesIn(project); err != nil {
				return err
			}
			return a.apply(documents)
		}, manage.Lists, manage.MayDelete)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file or directory of definitions in the form of 'registry export'; "+
		"- for standard input; repeatable")
	cmd.Flags().StringVar(&project, "project", "", "name of the project that new registries belong to (default: none)")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show what would be done, and change nothing")
	cmd.Flags().BoolVar(&a.keep, "keep-secrets", false, "use secrets of the files only for registries that are not stored yet")
	cmd.Flags().StringVar(&a.set, "prune", "", "name of the set that the files are: delete registries that were applied with this name "+
		"and are in no file any more")
	return cmd
}

// apply stores the definitions in their order, up to one that fails, and then deletes those of the set that no file has.
func (a *application) apply(documents []document) error {
	for r, err := range a.Client.Registries.List(a.Ctx) {
		if err != nil {
			return err
		}
		a.stored[names.Canonical(r.Metadata.Name)] = r.Metadata.UID
	}
	failed := a.storeAll(documents)
	if failed == nil && a.set != "" {
		failed = a.prune(documents)
	}
	if failed != nil && len(a.rows) == 0 {
		return failed
	}
	err := a.List(nil, output.Columns("name*", "result", "endpoint", "uid+"), a.rows)
	if a.dryRun && failed == nil {
		a.Note("Nothing was changed, because of --dry-run.")
	}
	return errors.Join(err, failed)
}

func (a *application) storeAll(documents []document) error {
	for _, d := range documents {
		if a.set != "" {
			labels := map[string]string{}
			maps.Copy(labels, d.registry.Metadata.Labels)
			labels[applySetLabel] = a.set // also in place of another set, of which the file was exported
			d.registry.Metadata.Labels = labels
		}
		result, uid, err := a.one(&d)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", d.source, output.Shown(d.registry.Metadata.Name), fieldsOf(err))
		}
		a.rows = append(a.rows, []any{d.registry.Metadata.Name, result, d.registry.Spec.Endpoint, uid})
	}
	return nil
}

// prune deletes the registries of the set that no document has.
func (a *application) prune(documents []document) error {
	pruned, err := a.ofSetOnly(documents)
	if len(pruned) == 0 || err != nil {
		return err
	}
	if !a.dryRun {
		shown := make([]string, len(pruned))
		for i, r := range pruned {
			shown[i] = r.Metadata.Name
		}
		err = a.Confirm("Delete %s, which the files of %s do not have any more?", strings.Join(shown, ", "), a.set)
		if errors.Is(err, manage.ErrNotConfirmed) { // definitions were stored before
			err = errors.New("nothing was deleted")
		}
	}
	for _, r := range pruned {
		if err == nil && !a.dryRun {
			err = a.Client.Registries.Delete(a.Ctx, r.Metadata.UID)
		}
		if isMissing(err) { // another run deleted it
			err = nil
		}
		if err != nil {
			return err
		}
		a.rows = append(a.rows, []any{r.Metadata.Name, resultDeleted, r.Spec.Endpoint, r.Metadata.UID})
	}
	return nil
}

// ofSetOnly returns the registries of the set, and of the project if one is chosen, that no document has. The label of each is read: a
// server of an earlier version ignores the filter, and lists all.
func (a *application) ofSetOnly(documents []document) (only []api.OCIRegistrySummary, err error) {
	wanted := map[string]bool{}
	for _, d := range documents {
		wanted[names.Canonical(d.registry.Metadata.Name)] = true
	}
	filter := client.RegistryFilter{Label: applySetLabel + "=" + a.set, Project: a.project}
	for r, err := range a.Client.Registries.Search(a.Ctx, filter) {
		if err != nil {
			return nil, err
		}
		if wanted[names.Canonical(r.Metadata.Name)] {
			continue
		}
		found, err := a.Client.Registries.Get(a.Ctx, r.Metadata.UID)
		if isMissing(err) { // deleted since it was listed
			continue
		}
		if err != nil {
			return nil, err
		}
		if found.Metadata.Labels[applySetLabel] == a.set {
			only = append(only, r)
		}
	}
	return only, nil
}

// fieldsOf names the fields of a refused definition as the file has them.
func fieldsOf(err error) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	text := refused.Message
	for _, f := range refused.Fields() {
		text += "\n  " + f.Field + ": " + f.Problem
	}
	return errors.New(text)
}

// one stores one definition.
func (a *application) one(d *document) (result, uid string, err error) {
	wanted := &d.registry
	uid = a.stored[names.Canonical(wanted.Metadata.Name)]
	var found *api.OCIRegistry
	if uid != "" {
		found, err = a.Client.Registries.Get(a.Ctx, uid)
	}
	if uid == "" || isMissing(err) { // deleted since it was listed
		return a.create(wanted)
	}
	if err != nil {
		return "", uid, err
	}
	if found.Metadata.Origin != "" {
		a.Note("The registry %s is read from a Kubernetes cluster. Change %s.", found.Metadata.Name, found.Metadata.Origin)
		return resultReadOnly, uid, nil
	}
	stored := requestOf(found)
	if a.keep {
		d.dropSecrets()
	}
	if sameButSecrets(*wanted, stored) {
		if same, err := a.sameSecrets(d); same || err != nil {
			return resultUnchanged, uid, err
		}
	}
	keepSecrets(wanted, stored)
	if a.dryRun {
		return resultUpdated, uid, command.DefinitionProblems(nil, problemsOf(wanted), command.FieldProblem)
	}
	return resultUpdated, uid, a.Client.Registries.Replace(a.Ctx, uid, *wanted)
}

func (a *application) create(wanted *api.OCIRegistryRequest) (result, uid string, err error) {
	if a.dryRun {
		_, problems := regcheck.Parse(wanted.Spec.Definition)
		return resultCreated, "", command.DefinitionProblems(nil, problems, command.FieldProblem)
	}
	uid, err = a.into.Create(a.Ctx, *wanted)
	return resultCreated, uid, err
}

// problemsOf returns why a definition cannot be stored in place of another one, whose secrets it has as masks.
func problemsOf(r *api.OCIRegistryRequest) []regcheck.Problem {
	_, problems := regcheck.Parse(r.Spec.Definition)
	secrets := secretsOf(r)
	return slices.DeleteFunc(problems, func(p regcheck.Problem) bool {
		value := secrets[p.Field]
		return value != nil && *value == secret.Mask
	})
}

// sameSecrets reports whether the secrets of a document are known to be the stored ones. No response has those, and only on a local store
// does an import compare them: with a server, users who may store definitions could test guesses.
func (a *application) sameSecrets(d *document) (bool, error) {
	if !d.given {
		return true, nil
	}
	sent := api.OCIRegistryImport{Items: []regcheck.Definition{d.registry.Spec.Definition}}
	found, err := a.into.Import(a.Ctx, sent, true)
	if err != nil || len(found) != 1 {
		return false, err
	}
	return found[0].Result == api.ImportExists && found[0].Detail == "" &&
		names.Canonical(found[0].Name) == names.Canonical(d.registry.Metadata.Name), nil
}

// keepSecrets sets the secrets that a definition does not have to the masks of the stored ones, which keeps these.
func keepSecrets(wanted *api.OCIRegistryRequest, stored api.OCIRegistryRequest) {
	masks := secretsOf(&stored)
	for field, value := range secretsOf(wanted) {
		mask := masks[field]
		if mask != nil && *value == "" && !(field == "auth.tls.key" && wanted.Spec.Auth.TLS.Certificate == "") &&
			wanted.Spec.Auth.Kind() == stored.Spec.Auth.Kind() {
			*value = *mask
		}
	}
	dropStoredSession(wanted.Spec.Auth)
}

// dropStoredSession removes the mask of a session token next to a new secret key: the stored token belongs to the former key.
func dropStoredSession(a *regcheck.Auth) {
	if a != nil && a.AWS != nil && a.AWS.SecretKey != "" && a.AWS.SecretKey != secret.Mask && a.AWS.SessionToken == secret.Mask {
		a.AWS.SessionToken = ""
	}
}

// sameButSecrets reports whether a definition is stored as it is wanted, apart from secrets.
func sameButSecrets(wanted, stored api.OCIRegistryRequest) bool {
	return reflect.DeepEqual(plain(wanted), plain(stored))
}

// plain returns a definition without secrets, with the defaults that stored ones have.
func plain(r api.OCIRegistryRequest) api.OCIRegistryRequest {
	auth := &regcheck.Auth{}
	if r.Spec.Auth != nil {
		auth = r.Spec.Auth.Clone()
	}
	auth.Type = auth.Kind()
	if !auth.TLS.Enabled {
		auth.TLS = regcheck.TLS{}
	}
	r.Spec.Auth, r.Spec.RegistryUID, r.Spec.Unknown = auth, "", nil
	for _, value := range secretsOf(&r) {
		*value = ""
	}
	if r.Spec.Kind == regcheck.KindOCI {
		r.Spec.Kind = ""
	}
	r.Spec.ProviderType, r.Spec.Scope = cmp.Or(r.Spec.ProviderType, regcheck.Helm), cmp.Or(r.Spec.Scope, "tenant")
	r.Metadata.Name = strings.TrimSpace(r.Metadata.Name)
	for _, list := range []*map[string]string{&r.Metadata.Annotations, &r.Metadata.Labels} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(r.Spec.References) == 0 {
		r.Spec.References = nil
	}
	return r
}
