// Package bulk does one thing to many stored registries: each by the operation for a single one, which decides the permission.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/regcheck"
)

// Action is what is done to each registry.
type Action string

// Actions.
const (
	Check       Action = "check"
	Delete      Action = "delete"
	Labels      Action = "labels"
	Credentials Action = "credentials"
)

var actions = []Action{Check, Delete, Labels, Credentials}

// MaxRegistries bounds the registries of a request.
const MaxRegistries = 1000

// Input is one action on many registries, chosen by exactly one of UIDs, Filter and SameCredentialsAs.
type Input struct {
	Action            Action
	UIDs              []string
	Filter            *registries.Query
	SameCredentialsAs string             // the uid of a registry
	Labels            map[string]*string // to set, nil to remove
	Auth              *regcheck.Auth     // the new credentials; its TLS is not used
	DryRun            bool               // changes nothing, and reports what would be refused for lack of permission
}

// Outcome is what happened to a registry. Err is a fault, nil if it was done.
type Outcome struct {
	UID, Name string            // Name is empty for a registry that was not found
	AuthType  regcheck.AuthType // before the action
	Err       *fault.Error
}

// Message returns why the registry was refused, with the problems of its fields.
func (o Outcome) Message() string {
	text := o.Err.Message
	for _, f := range o.Err.Fields {
		text += " " + f.Field + " " + f.Problem + "."
	}
	return text
}

// Service is safe for concurrent use.
type Service struct {
	registries *registries.Service
	watch      *watch.Service
	turns      *fairqueue.Limiter
}

// New returns a service that serves two requests at once, each of another user. Waiting organizations and users take turns.
func New(stored *registries.Service, watched *watch.Service) *Service {
	return &Service{registries: stored, watch: watched, turns: fairqueue.New(fairqueue.Config{Workers: 2, PerAccount: 1, Queue: 64,
		Wait: time.Minute, ByTime: true, Busy: "Too many changes of many registries are running. Retry after the time in Retry-After."})}
}

// Problems returns all problems of an input.
func (i Input) Problems() (found []fault.Field) {
	add := func(broken bool, field, problem string) {
		if broken {
			found = append(found, fault.Field{Field: field, Problem: problem})
		}
	}
	chosen := 0
	for _, is := range []bool{len(i.UIDs) > 0, i.Filter != nil, i.SameCredentialsAs != ""} {
		if is {
			chosen++
		}
	}
	add(!slices.Contains(actions, i.Action), "action", "must be one of check, delete, labels, credentials")
	add(chosen != 1, "uids", "or one of filter and sameCredentialsAs is required, and only one")
	add(len(i.UIDs) > MaxRegistries, "uids", fmt.Sprintf("must have at most %d entries", MaxRegistries))
	add(i.Action == Labels && len(i.Labels) == 0 && !i.DryRun, "labels", "is required")
	add(i.Action != Labels && len(i.Labels) > 0, "labels", "requires the action labels")
	add(i.Action != Credentials && i.Auth != nil, "auth", "requires the action credentials")
	if i.Action == Labels {
		found = append(found, fault.FieldProblem("labels", names.PairsProblem(i.set(nil)))...)
	}
	if i.Action == Credentials && !i.DryRun {
		found = append(found, registries.CredentialProblems(i.Auth)...)
	}
	if i.Filter != nil {
		for _, p := range i.Filter.Problems() {
			found = append(found, fault.Field{Field: "filter." + p.Field, Problem: p.Problem})
		}
	}
	return found
}

// permission is what the action needs.
func (i Input) permission() access.Permission {
	switch i.Action {
	case Check:
		return access.ValidateRegistries
	case Delete:
		return access.DeleteRegistries
	case Labels, Credentials:
	}
	return access.ChangeRegistries
}

// set returns labels with those of the input set and removed.
func (i Input) set(labels map[string]string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range i.Labels {
		if value == nil {
			delete(labels, key)
		} else {
			labels[key] = *value
		}
	}
	return labels
}

// Do does the action on each chosen registry, in the order of UIDs or by name. What is refused for one does not end the others.
//
// Faults: Invalid; Forbidden without the permission in any project; Unavailable; those of SameCredentials.
func (s *Service) Do(ctx context.Context, p auth.Principal, origin audit.Origin, i Input) ([]Outcome, error) {
	if problems := i.Problems(); len(problems) > 0 {
		return nil, fault.InvalidFields(problems...)
	}
	if err := p.MayAnywhere(i.permission()); err != nil {
		return nil, err
	}
	release, _, err := s.turns.Acquire(ctx, fairqueue.Caller{Source: p.OrgUID, Account: p.UserUID})
	if err != nil {
		return nil, err
	}
	defer release()
	uids, err := s.choose(ctx, p, i)
	if err != nil {
		return nil, err
	}
	list := make([]Outcome, 0, len(uids))
	for _, uid := range uids {
		outcome, err := s.one(ctx, p, origin, uid, i)
		if err != nil {
			return nil, err
		}
		list = append(list, outcome)
	}
	return list, nil
}

// choose returns the uids of the chosen registries, each once.
func (s *Service) choose(ctx context.Context, p auth.Principal, i Input) (uids []string, err error) {
	switch {
	case i.SameCredentialsAs != "":
		return s.registries.SameCredentials(ctx, p, i.SameCredentialsAs)
	case i.Filter == nil:
		known := map[string]bool{}
		for _, uid := range i.UIDs {
			if !known[uid] {
				uids, known[uid] = append(uids, uid), true
			}
		}
		return uids, nil
	}
	query := *i.Filter
	query.Request, query.Sort = paging.Request{Limit: paging.MaxLimit, Uncounted: true}, registries.SortByName
	for {
		page, err := s.registries.Search(ctx, p, query)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			uids = append(uids, r.UID)
		}
		if len(uids) > MaxRegistries {
			return nil, fault.InvalidField("filter", fmt.Sprintf("must match at most %d registries", MaxRegistries))
		}
		if query.Continue = page.Continue; page.Continue == "" {
			return uids, nil
		}
	}
}

// one does the action on a registry. The error is one of the service.
func (s *Service) one(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, i Input) (outcome Outcome, err error) {
	outcome.UID = uid
	found, err := s.registries.Get(ctx, p, uid)
	if err == nil {
		outcome.Name, outcome.AuthType = found.Name, found.Definition.Auth.Kind()
		if i.DryRun {
			err = registries.Allowed(p, found, i.permission())
		} else {
			err = s.do(ctx, p, origin, uid, i)
		}
	}
	refused, ok := errors.AsType[*fault.Error](err)
	if ok && refused.Status() < http.StatusInternalServerError {
		outcome.Err, err = refused, nil
	}
	return outcome, err
}

func (s *Service) do(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, i Input) error {
	switch i.Action {
	case Check:
		_, err := s.watch.RequestCheck(ctx, p, origin, uid)
		return err
	case Delete:
		return s.registries.Delete(ctx, p, origin, uid)
	case Labels:
		return s.registries.Change(ctx, p, origin, uid, func(r *registries.RegistryInput) { r.Labels, r.SkipSync = i.set(r.Labels), true })
	case Credentials:
		return s.registries.Change(ctx, p, origin, uid, func(r *registries.RegistryInput) { registries.ReplaceCredentials(r, i.Auth) })
	}
	return nil
}
