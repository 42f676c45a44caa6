package overviewpage

import (
	"context"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
)

// Step is something that a new organization does first.
type Step struct {
	Label string
	Links []Link
	Done  bool
}

// Link leads to the page where a step is done.
type Link struct{ Label, Path string }

// Steps finds out what a new organization has done.
type Steps struct {
	Keys      *auth.APIKeys
	Channels  *alerts.Channels
	Directory *directory.Directory
}

// First returns the steps that the caller may do, none if all are done, or for callers who add no registries. registries is how many there
// are. A step counts as done by what is stored.
func (s Steps) First(ctx context.Context, p auth.Principal, registries int64) (steps []Step, err error) {
	if !p.CanAnywhere(access.CreateRegistries) {
		return nil, nil
	}
	all := []struct {
		Step
		permission access.Permission
		done       func() (bool, error)
	}{
		{Step{"Add your registries", []Link{{"Scan files", "/console/scan"}, {"Add one", "/console/registries/new"}}, false},
			access.CreateRegistries, func() (bool, error) { return registries > 0, nil }},
		{Step{"Create an alert channel", []Link{{"Alerts", "/console/alerts"}}, false},
			access.ConfigureAlerts, func() (bool, error) {
				list, err := s.Channels.OfOrg(ctx, p.OrgUID)
				return len(list) > 0, err
			}},
		{Step{"Make an API key for programs", []Link{{"New key", "/console/api-keys/new"}}, false},
			access.ReadRegistries, func() (bool, error) {
				list, _, err := s.Keys.List(ctx, p, auth.APIKey{})
				return len(list) > 0, err
			}},
		{Step{"Invite somebody", []Link{{"New user", "/console/users/new"}}, false},
			access.CreateUsers, func() (bool, error) {
				if !p.Can(access.ReadUsers) {
					return true, nil // as far as the caller may know
				}
				list, _, err := s.Directory.ListUsers(ctx, p, directory.User{})
				return len(list) > 1, err
			}},
	}
	left := false
	for _, step := range all {
		if !p.CanAnywhere(step.permission) {
			continue
		}
		if step.Done, err = step.done(); err != nil {
			return nil, err
		}
		left = left || !step.Done
		steps = append(steps, step.Step)
	}
	if !left {
		return nil, nil
	}
	return steps, nil
}
