package directory

import (
	"context"
	"errors"
	"slices"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Contents are what a deletion with cascade also deletes, or for members ends, of one kind: their names, and whether there may be more.
type Contents struct {
	Kind  string
	Names []string
	More  bool
}

const maxContents = 100 // of each kind

// ProjectContents lists what a project contains.
//
// Faults: Forbidden; NotFound.
func (d *Directory) ProjectContents(ctx context.Context, p auth.Principal, uid string) ([]Contents, error) {
	if err := p.May(access.DeleteProjects); err != nil {
		return nil, err
	}
	return d.contents(ctx, func(tx *store.Tx) (kinds []kind, err error) {
		_, err = tx.Projects.Get(ctx, p.OrgUID, uid)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.ProjectNotFound(fault.CodeResourceNotFound)
		}
		if err == nil {
			kinds, err = kindsOfProject(ctx, tx, p.OrgUID, uid, maxContents+1)
		}
		return kinds, err
	})
}

// OrgContents lists what an organization contains.
//
// Faults: Forbidden; NotFound.
func (d *Directory) OrgContents(ctx context.Context, p auth.Principal, uid string) ([]Contents, error) {
	if err := p.May(access.DeleteOrgs); err != nil {
		return nil, err
	}
	return d.contents(ctx, func(tx *store.Tx) ([]kind, error) {
		if _, err := tx.Orgs.Get(ctx, uid); err != nil {
			return nil, auth.OrgNotFound(err)
		}
		return kindsOfOrg(ctx, tx, uid)
	})
}

func (d *Directory) contents(ctx context.Context, read func(*store.Tx) ([]kind, error)) (all []Contents, err error) {
	kinds, err := store.Read(ctx, d.db, read)
	for _, k := range kinds {
		if len(k.names) > 0 {
			all = append(all, Contents{k.word, k.names[:min(len(k.names), maxContents)], len(k.names) > maxContents})
		}
	}
	return all, fault.Wrap("list what a deletion would delete", err)
}

// kindsOfProject returns what a project contains, at most limit names of registries and of members.
func kindsOfProject(ctx context.Context, tx *store.Tx, orgUID, uid string, limit int) ([]kind, error) {
	registries, err := tx.Projects.Registries(ctx, orgUID, uid, limit)
	if err != nil {
		return nil, err
	}
	members, err := tx.Projects.Members(ctx, orgUID, uid, limit)
	if err != nil {
		return nil, err
	}
	channels, err := tx.Channels.OfOrg(ctx, orgUID)
	if err != nil {
		return nil, err
	}
	channels = slices.DeleteFunc(channels, func(c store.Channel) bool { return c.ProjectUID != uid })
	return []kind{{"registries", registries}, {"members", members}, {"alert channels", namesOf(channels, channelTarget)}}, nil
}

// kindsOfOrg returns what an organization contains, at most maxContents+1 names of a kind.
func kindsOfOrg(ctx context.Context, tx *store.Tx, uid string) ([]kind, error) {
	registries, err := tx.Orgs.Registries(ctx, uid, maxContents+1)
	projects, err1 := namesOfPages(func(p store.Project) string { return p.Name },
		func(after store.Project) ([]store.Project, bool, error) { return tx.Projects.List(ctx, uid, after) })
	users, err2 := namesOfPages(func(u store.User) string { return u.Email },
		func(after store.User) ([]store.User, bool, error) { return tx.Users.List(ctx, uid, after) })
	keys, err3 := namesOfPages(func(k store.APIKey) string { return k.Name },
		func(after store.APIKey) ([]store.APIKey, bool, error) { return tx.APIKeys.OfOrg(ctx, uid, after) })
	channels, err4 := tx.Channels.OfOrg(ctx, uid)
	return []kind{{"registries", registries}, {"projects", projects}, {"users", users}, {"API keys", keys},
		{"alert channels", namesOf(channels, channelTarget)}}, errors.Join(err, err1, err2, err3, err4)
}

// namesOfPages returns the names of a list, at most maxContents+1.
func namesOfPages[T any](name func(T) string, read func(after T) ([]T, bool, error)) (names []string, err error) {
	for item, err := range paging.All(read) {
		if err != nil || len(names) > maxContents {
			return names, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = name(one)
	}
	return names
}
