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
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
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
	Places      []string // of the definitions, such as "flux, apps.yaml:3": for names of those with the same address; may be nil
	ProjectUID  string   // as RegistryInput.ProjectUID
	DryRun      bool     // stores nothing
}

// Imported is one definition of an import. Name is that of the stored registry. DiffersFrom is the name of a registry that is the same
// except for its secrets.
type Imported struct {
	Result                         ImportResult
	Name, UID, Detail, DiffersFrom string
}

// Import stores every distinct definition that the organization does not store already. Only an operator may read secrets: for others, one
// that differs in secrets only from a registry stored before is the same. Otherwise the result would report whether a secret is the
// stored one. The list has the definitions in their order, up to one that failed.
//
// Faults: as Create, if nothing was stored.
func (s *Service) Import(ctx context.Context, p auth.Principal, origin audit.Origin, input ImportInput) ([]Imported, error) {
	if err := s.recordRefusal(ctx, p, origin, audit.RegistryCreate, "", p.MayIn(access.CreateRegistries, input.ProjectUID)); err != nil {
		return nil, err
	}
	orgUID, err := store.Read(ctx, s.db, func(tx *store.Tx) (string, error) { return p.FindOrgUID(ctx, tx) })
	if err == nil {
		err = s.addIdentities(ctx, orgUID)
	}
	if err != nil {
		return nil, fault.Wrap("prepare an import", err)
	}
	i := importer{service: s, principal: p, origin: origin, input: input, orgUID: orgUID, secrets: p.Can(access.OpenRegistries),
		names: map[string]bool{}, numbers: map[string]int{}, known: map[string]string{}, alike: map[string]string{}}
	var list []Imported
	for at, d := range input.Definitions {
		place := ""
		if at < len(input.Places) && names.NameProblem(input.Places[at]) == "" {
			place = input.Places[at]
		}
		imported, err := i.add(ctx, d, place)
		list = append(list, imported)
		if f, ok := errors.AsType[*fault.Error](err); ok && i.created > 0 && f.Kind != fault.Internal {
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
	secrets   bool              // secrets are compared with stored ones
	names     map[string]bool   // canonical names of this import
	numbers   map[string]int    // the last number of a name, by address: a request may have 10,000 definitions of one
	known     map[string]string // names of the definitions of this import, by their full identity
	alike     map[string]string // names of the first of them, by the identity without secrets
	created   int
}

// uncompared is the detail of a definition whose secrets could differ from those of the registry stored before.
const uncompared = "The secrets were not compared with the stored ones."

// compare returns what is known of a definition: the registry that is the same, or one that differs in its secrets only.
func (i *importer) compare(ctx context.Context, id store.RegistryIdentity) (Imported, error) {
	if name := i.known[id.Full.Reveal()]; name != "" {
		return Imported{Result: ImportExists, Name: name}, nil
	}
	if i.secrets {
		same, err := i.stored(ctx, id, true)
		if err != nil || same != "" {
			return Imported{Result: ImportExists, Name: same}, err
		}
	}
	if name := i.alike[id.Open]; name != "" { // secrets of one import may be compared
		return Imported{DiffersFrom: name}, nil
	}
	alike, err := i.stored(ctx, id, false)
	if alike != "" && !i.secrets {
		return Imported{Result: ImportExists, Name: alike, Detail: uncompared}, err
	}
	return Imported{DiffersFrom: alike}, err
}

// stored returns the name of the first registry with an identity that the caller may read, "" if there is none.
func (i *importer) stored(ctx context.Context, id store.RegistryIdentity, secrets bool) (string, error) {
	readable := within(i.principal, store.RegistryFilter{OrgUID: i.orgUID})
	return store.Read(ctx, i.service.db, func(tx *store.Tx) (string, error) { return tx.Registries.Same(ctx, readable, id, secrets) })
}

// add stores a definition unless it is stored already.
func (i *importer) add(ctx context.Context, d regcheck.Definition, place string) (Imported, error) {
	_, found := regcheck.Parse(d)
	if problems := slices.Concat(faultFields(found), maskProblems(d), textProblems(d)); len(problems) > 0 {
		return Imported{Result: ImportNotValid, Detail: problems[0].Field + " " + problems[0].Problem}, nil
	}
	id := identityOf(d)
	result, err := i.compare(ctx, id)
	if err != nil {
		return Imported{}, fault.Wrap("compare a definition", err)
	}
	if result.Result == ImportExists {
		if d.Auth.Kind() == regcheck.NoAuth {
			result.Detail = "" // there is no secret to compare
		}
		return result, nil
	}
	if result.Name, err = i.newName(model.Address(d), place, i.nameInUse(ctx)); err != nil {
		return Imported{}, fault.Wrap("choose a name", err)
	}
	i.names[names.Canonical(result.Name)], i.known[id.Full.Reveal()] = true, result.Name
	i.alike[id.Open] = cmp.Or(i.alike[id.Open], result.Name)
	if result.Result = ImportNew; i.input.DryRun {
		return result, nil
	}
	input := RegistryInput{Name: result.Name, ProjectUID: i.input.ProjectUID, Definition: d}
	result.Result = ImportStored
	if result.UID, err = i.service.create(ctx, i.principal, i.origin, input, nil); err == nil {
		i.created++
	}
	return result, err
}

// maxImportName leaves space for a number at the end of the longest name of a registry.
const maxImportName = 240

// newName returns a name that is not in use: the address, or else the address with the place, and with a number if that is in use too.
func (i *importer) newName(address, place string, inUse func(canonical string) (bool, error)) (string, error) {
	name := shortName(address)
	used, err := inUse(names.Canonical(name))
	if err != nil || !used {
		return name, err
	}
	if place != "" {
		name = shortName(address + " (" + place + ")")
	}
	return i.numbered(name, inUse)
}

// numbered returns a name that is not in use: this one, or this one with a number.
func (i *importer) numbered(base string, inUse func(canonical string) (bool, error)) (string, error) {
	name := base
	for number := max(i.numbers[base], 1); ; {
		used, err := inUse(names.Canonical(name))
		if err != nil || !used {
			i.numbers[base] = number
			return name, err
		}
		number++
		name = fmt.Sprintf("%s (%d)", base, number)
	}
}

func shortName(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxImportName)], "")
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
