package registries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
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
	orgUID, err := store.Read(ctx, s.db, func(tx *store.Tx) (string, error) { return p.FindOrgUID(ctx, tx, "") })
	if err == nil {
		err = s.addIdentities(ctx, orgUID)
	}
	if err != nil {
		return nil, fault.Wrap("prepare an import", err)
	}
	i := importer{service: s, principal: p, origin: origin, input: input, orgUID: orgUID, secrets: p.Can(auth.OpenRegistries),
		names: map[string]bool{}, numbers: map[string]int{}, known: map[string]string{}}
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
	orgUID    string
	secrets   bool              // secrets are compared
	names     map[string]bool   // canonical names of this import
	numbers   map[string]int    // the last number of a name, by address: a request may have 10,000 definitions of one
	known     map[string]string // names of the definitions of this import, by the text that identifies them
	stored    int
}

// same returns the name of a stored definition that is the same, "" if there is none.
func (i *importer) same(ctx context.Context, id store.RegistryIdentity) (name string, err error) {
	if name = i.known[i.text(id)]; name != "" {
		return name, nil
	}
	name, err = store.Read(ctx, i.service.db, func(tx *store.Tx) (string, error) {
		if i.secrets {
			return tx.Registries.SameFull(ctx, i.orgUID, id)
		}
		return tx.Registries.SameOpen(ctx, i.orgUID, id)
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return name, err
}

// text returns the part of an identity that is compared.
func (i *importer) text(id store.RegistryIdentity) string {
	if i.secrets {
		return id.Full.Reveal()
	}
	return id.Open
}

// add stores a definition unless it is stored already.
func (i *importer) add(ctx context.Context, d regcheck.Definition) (Imported, error) {
	if problems := slices.Concat(Fields(d.Problems()), maskProblems(d), textProblems(d)); len(problems) > 0 {
		return Imported{Result: ImportNotValid, Detail: problems[0].Field + " " + problems[0].Problem}, nil
	}
	id := identityOf(d)
	exists, err := i.same(ctx, id)
	if err != nil {
		return Imported{}, fault.Wrap("compare a definition", err)
	}
	if exists != "" {
		return Imported{Result: ImportExists, Name: exists}, nil
	}
	name, err := i.newName(model.Address(d), i.nameInUse(ctx))
	if err != nil {
		return Imported{}, fault.Wrap("choose a name", err)
	}
	i.names[auth.Canonical(name)], i.known[i.text(id)] = true, name
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
func (i *importer) newName(address string, inUse func(canonical string) (bool, error)) (string, error) {
	address = strings.ToValidUTF8(address[:min(len(address), maxImportName)], "")
	name := address
	for number := max(i.numbers[address], 1); ; {
		used, err := inUse(auth.Canonical(name))
		if err != nil || !used {
			i.numbers[address] = number
			return name, err
		}
		number++
		name = fmt.Sprintf("%s (%d)", address, number)
	}
}

// nameInUse returns a function that reports whether a stored registry, or one of this import, has a canonical name.
func (i *importer) nameInUse(ctx context.Context) func(string) (bool, error) {
	return func(canonical string) (bool, error) {
		if i.names[canonical] {
			return true, nil
		}
		return store.Read(ctx, i.service.db, func(tx *store.Tx) (bool, error) { return tx.Registries.NameInUse(ctx, i.orgUID, canonical) })
	}
}
