package registries

import (
	"context"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// CodeRegistryReadOnly is the code for a change of a registry that is read from an object of a cluster.
const CodeRegistryReadOnly = "RegistryReadOnly"

// readOnly returns a fault that names the object of a registry, nil for a registry without one.
func readOnly(object string) error {
	if object == "" {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeRegistryReadOnly, Message: fmt.Sprintf(
		"This registry is read from the %s. Change or delete it there.", ObjectName(object))}
}

// ObjectName returns the object of an origin, cluster/namespace/kind/name, as a sentence names it.
func ObjectName(object string) string {
	parts := strings.SplitN(object, "/", 4)
	if len(parts) < 4 {
		return object
	}
	return fmt.Sprintf("%s %s/%s of the cluster %q", parts[2], parts[1], parts[3], parts[0])
}

// ofService is the principal of what the service itself does in an organization.
func ofService(orgUID string) auth.Principal {
	return auth.Principal{Role: auth.RoleOperator, OrgUID: orgUID, Email: string(audit.MethodService), Method: audit.MethodService}
}

// StoreOfCluster stores a registry that is read from a cluster: a new one with input.Origin if uid is empty, or else it replaces that
// one. No stored secret stands for an empty one. Problems of the definition become its health status, as for a registry that an earlier
// version stored.
//
// Faults: as Create; NotFound.
func (s *Service) StoreOfCluster(ctx context.Context, orgUID, uid string, input RegistryInput) error {
	p := ofService(orgUID)
	if uid == "" {
		_, err := s.create(ctx, p, audit.Origin{}, input, textProblems(input.Definition))
		return err
	}
	stored, err := s.read(ctx, p.OrgUID, uid)
	if err != nil {
		return err
	}
	if problems := input.problems(textProblems(input.Definition)); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return fault.Wrap("replace a registry of a cluster", NotFound(s.storeReplacement(ctx, p, audit.Origin{}, stored, input)))
}

// DeleteOfCluster deletes a registry whose object does not exist any more. One that was deleted already is not an error.
func (s *Service) DeleteOfCluster(ctx context.Context, orgUID, uid string) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error { return s.delete(ctx, tx, ofService(orgUID), audit.Origin{}, uid) })
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return fault.Wrap("delete a registry of a cluster", err)
}

// ClusterChanges is in what a cluster differs from what is stored of it.
type ClusterChanges struct {
	New      []RegistryInput
	Replaced map[string]RegistryInput // by uid
	Gone     []store.OriginRegistry
}

// CompareCluster compares the definitions that a cluster has with those that are stored of it. It decrypts nothing.
func (s *Service) CompareCluster(ctx context.Context, orgUID, cluster string, now []RegistryInput) (ClusterChanges, error) {
	changes := ClusterChanges{Replaced: map[string]RegistryInput{}}
	err := s.db.View(ctx, func(tx *store.Tx) error {
		list, err := tx.Origins.List(ctx, orgUID, cluster)
		if err != nil {
			return err
		}
		stored := make(map[store.Origin]store.OriginRegistry, len(list))
		for _, r := range list {
			stored[r.Origin] = r
		}
		for _, input := range now {
			r, known := stored[input.Origin]
			delete(stored, input.Origin)
			switch {
			case !known:
				changes.New = append(changes.New, input)
			case r.Identity != tx.Origins.Identity(orgUID, identityOf(input.Definition)):
				changes.Replaced[r.UID] = input
			}
		}
		for _, r := range list {
			if _, gone := stored[r.Origin]; gone {
				changes.Gone = append(changes.Gone, r)
			}
		}
		return nil
	})
	return changes, fault.Wrap("compare a cluster with what is stored of it", err)
}
