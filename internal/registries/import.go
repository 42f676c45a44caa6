package registries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	ImportStored   ImportResult = "stored"
	ImportNew      ImportResult = "new" // not stored yet: a dry run
	ImportExists   ImportResult = "exists"
	ImportNotValid ImportResult = "notValid" // not stored: it cannot be used
	ImportFailed   ImportResult = "failed"   // not stored, nor what follows it
)

// ImportInput are definitions to store under names from their addresses.
type ImportInput struct {
	Definitions []regcheck.Definition
	ProjectUID  string // as RegistryInput.ProjectUID
	DryRun      bool   // stores nothing
}

// Imported is one definition of an import. Name is that of the stored registry.
type Imported struct {
	Result            ImportResult
	Name, UID, Detail string
}

// Import stores definitions except those that the organization stores already. Only an operator may read secrets: for others, definitions that differ
// in secrets only are the same. Otherwise the result would report whether a secret is the stored one. The list has the definitions in
// their order, up to one that failed.
//
// Faults: as Create, if nothing was stored.
func (s *Service) Import(ctx context.Context, p auth.Principal, origin audit.Origin, input ImportInput) ([]Imported, error) {
	if err := s.allowed(ctx, p, origin, auth.CreateRegistries, audit.RegistryCreate, ""); err != nil {
		return nil, err
	}
	i := importer{service: s, principal: p, origin: origin, input: input, secrets: p.Can(auth.OpenRegistries), names: map[string]bool{}, numbers: map[string]int{}, known: map[string]string{}}
	if err := i.readStored(ctx); err != nil {
		return nil, fault.Wrap("read the stored registries", err)
	}
	var list []Imported
	for _, d := range input.Definitions {
		imported, err := i.add(ctx, d)
		list = append(list, imported)
		if f, ok := errors.AsType[*fault.Error](err); ok && i.stored > 0 && f.Kind != fault.Internal {
			list[len(list)-1] = Imported{Result: ImportFailed, Name: imported.Name, Detail: f.Message}
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

type importer struct {
	service   *Service
	principal auth.Principal
	origin    audit.Origin
	input     ImportInput
	secrets   bool              // secrets are compared
	names     map[string]bool   // canonical names in use
	numbers   map[string]int    // the last number of a name, by address: a request may have 10,000 definitions of one
	known     map[string]string // names of stored definitions by key
	stored    int
}

// readStored reads what the organization stores. Definitions whose secrets cannot be decrypted equal none that has secrets.
func (i *importer) readStored(ctx context.Context) error {
	orgUID, err := store.Read(ctx, i.service.db, func(tx *store.Tx) (string, error) { return i.principal.FindOrgUID(ctx, tx, "") })
	var page []Summary
	var after Summary
	for more := true; more && err == nil; {
		page, more, err = i.service.List(ctx, i.principal, "", after, nil)
		for _, listed := range page {
			after = listed
			stored, err := i.service.read(ctx, orgUID, listed.UID)
			if err != nil {
				return err
			}
			i.names[listed.Canonical], i.known[i.key(definitionOf(stored.Registry))] = true, listed.Name
		}
	}
	return err
}

// key is equal for definitions that need not be stored twice.
func (i *importer) key(d regcheck.Definition) string {
	d.ProviderType = cmp.Or(d.ProviderType, regcheck.Helm)
	if !i.secrets {
		a := *d.Auth
		a.Type = a.Kind()
		a.Password, a.Token, a.TLS.Key = "", "", ""
		d.Auth = &a
	}
	return model.Key(d)
}

// add stores a definition unless it is stored already.
func (i *importer) add(ctx context.Context, d regcheck.Definition) (Imported, error) {
	if problems := slices.Concat(Fields(d.Problems()), maskProblems(d), textProblems(d)); len(problems) > 0 {
		return Imported{Result: ImportNotValid, Detail: problems[0].Field + " " + problems[0].Problem}, nil
	}
	key := i.key(d)
	if name, exists := i.known[key]; exists {
		return Imported{Result: ImportExists, Name: name}, nil
	}
	name := i.newName(model.Address(d))
	i.names[auth.Canonical(name)], i.known[key] = true, name
	if i.input.DryRun {
		return Imported{Result: ImportNew, Name: name}, nil
	}
	uid, err := i.service.Create(ctx, i.principal, i.origin, RegistryInput{Name: name, ProjectUID: i.input.ProjectUID, Definition: d})
	if err == nil {
		i.stored++
	}
	return Imported{Result: ImportStored, Name: name, UID: uid}, err
}

// maxImportName leaves space for a number at the end of the longest name of a registry.
const maxImportName = 240

// newName returns a name that is not in use.
func (i *importer) newName(address string) string {
	address = strings.ToValidUTF8(address[:min(len(address), maxImportName)], "")
	name := address
	number := max(i.numbers[address], 1)
	for ; i.names[auth.Canonical(name)]; name = fmt.Sprintf("%s (%d)", address, number) {
		number++
	}
	i.numbers[address] = number
	return name
}
