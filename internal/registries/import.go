package registries

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// ImportResult is what happened to a definition.
type ImportResult string

// Results of an import.
const (
	ImportStored     ImportResult = "stored"
	ImportNew        ImportResult = "new" // not stored yet: a dry run
	ImportExists     ImportResult = "exists"
	ImportUnresolved ImportResult = "unresolved" // not stored: its credentials are not known
	ImportNotValid   ImportResult = "notValid"   // not stored: it cannot be used
)

// Imported is one definition of an import. Name is that of the stored registry.
type Imported struct {
	Result            ImportResult
	Name, UID, Detail string
}

// Import stores the definitions that were found in files, under names from their addresses, except those that the organization stores
// already. A dry run stores nothing. The list has the definitions in their order, up to the one that failed.
//
// Faults: as Create; only an operator may import.
func (s *Service) Import(ctx context.Context, p auth.Principal, origin audit.Origin, org string, found []model.Registry, dryRun bool) ([]Imported, error) {
	i := importer{service: s, principal: p, origin: origin, org: org, dryRun: dryRun, names: map[string]bool{}, known: map[string]string{}}
	if err := i.readStored(ctx); err != nil {
		return nil, fault.Wrap("read the stored registries", err)
	}
	var list []Imported
	for _, r := range found {
		imported, err := i.add(ctx, r)
		if err != nil {
			return list, err
		}
		list = append(list, imported)
	}
	return list, nil
}

type importer struct {
	service   *Service
	principal auth.Principal
	origin    audit.Origin
	org       string
	dryRun    bool
	names     map[string]bool   // canonical names in use
	known     map[string]string // names of stored definitions by importKey
}

// readStored reads what the organization stores. Definitions whose secrets cannot be decrypted equal none.
func (i *importer) readStored(ctx context.Context) error {
	if err := i.principal.May(auth.OpenRegistries); err != nil {
		return err
	}
	var orgUID string
	err := i.service.db.View(ctx, func(tx *store.Tx) (err error) {
		orgUID, err = i.principal.FindOrgUID(ctx, tx, i.org)
		return err
	})
	var page []Summary
	var after Summary
	for more := true; more && err == nil; {
		page, more, err = i.service.List(ctx, i.principal, i.org, after, nil)
		for _, listed := range page {
			after = listed
			stored, err := i.service.read(ctx, orgUID, listed.UID)
			if err != nil {
				return err
			}
			i.names[listed.Canonical], i.known[importKey(definitionOf(stored.Registry))] = true, listed.Name
		}
	}
	return err
}

// importKey is equal for definitions that need not be stored twice.
func importKey(d regcheck.Definition) string {
	d.ProviderType = cmp.Or(d.ProviderType, regcheck.Helm)
	return model.Key(d)
}

// add stores a definition unless it is stored already.
func (i *importer) add(ctx context.Context, r model.Registry) (Imported, error) {
	key := importKey(r.Definition)
	name, exists := i.known[key]
	problems := r.Definition.Problems()
	switch {
	case r.Resolution == model.Unresolved:
		return Imported{Result: ImportUnresolved, Detail: cmp.Or(string(r.Detail), string(r.Reason))}, nil
	case len(problems) > 0:
		return Imported{Result: ImportNotValid, Detail: problems[0].Field + " " + problems[0].Problem}, nil
	case exists:
		return Imported{Result: ImportExists, Name: name}, nil
	}
	name = i.newName(model.Address(r.Definition))
	i.names[auth.Canonical(name)], i.known[key] = true, name
	if i.dryRun {
		return Imported{Result: ImportNew, Name: name}, nil
	}
	uid, err := i.service.Create(ctx, i.principal, i.origin, RegistryInput{Org: i.org, Name: name, Definition: r.Definition})
	return Imported{Result: ImportStored, Name: name, UID: uid}, err
}

// maxImportName leaves space for a number at the end of the longest name of a registry.
const maxImportName = 240

// newName returns a name that is not in use.
func (i *importer) newName(address string) string {
	address = strings.ToValidUTF8(address[:min(len(address), maxImportName)], "")
	name := address
	for n := 2; i.names[auth.Canonical(name)]; n++ {
		name = fmt.Sprintf("%s (%d)", address, n)
	}
	return name
}
