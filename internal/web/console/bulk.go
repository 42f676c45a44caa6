package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/csvtext"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/labelchange"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/registrylist"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	pathBulk    = pathRegistries + "/bulk"
	maxBulkForm = 512 << 10 // 1,000 uids twice, and credentials
	maxNamed    = 200       // registries whose names a page has
)

// bulkAction is an action on many registries, as pages name it.
type bulkAction struct {
	Action                 bulk.Action
	Button, question, done string
	permission             access.Permission
}

var bulkActions = []bulkAction{
	{bulk.Check, "Check now", "Check %s now?", "Checks of %s are requested.", access.ValidateRegistries},
	{bulk.Labels, "Set labels", "Set labels of %s?", "The labels of %s are changed.", access.ChangeRegistries},
	{bulk.Credentials, "Replace credentials", "Replace the credentials of %s?", "The credentials of %s are replaced.",
		access.ChangeRegistries},
	{bulk.Delete, "Delete", "Delete %s?", "%s deleted.", access.DeleteRegistries},
}

// bulkActionsOf returns the actions that the caller may do in some project.
func bulkActionsOf(p auth.Principal) (allowed []bulkAction) {
	for _, a := range bulkActions {
		if p.CanAnywhere(a.permission) {
			allowed = append(allowed, a)
		}
	}
	return allowed
}

// bulkPage asks before an action on many registries, or has what happened.
type bulkPage struct {
	bulkAction
	Done             bool
	Form             *forms.Form
	AuthType         regcheck.AuthType
	Same             bool // the registries have the same credentials as the one that was chosen
	Allowed, Refused []bulk.Outcome
}

// Named are the first registries that the action is for, and More is how many others there are.
func (p bulkPage) Named() []bulk.Outcome { return p.Allowed[:min(len(p.Allowed), maxNamed)] }

// More is the number of registries that Named leaves out.
func (p bulkPage) More() int { return max(len(p.Allowed)-maxNamed, 0) }

// UIDs are those of the registries that the action is for.
func (p bulkPage) UIDs() string {
	uids := make([]string, len(p.Allowed))
	for i, o := range p.Allowed {
		uids[i] = o.UID
	}
	return strings.Join(uids, " ")
}

// Title is the heading.
func (p bulkPage) Title() string {
	text := p.question
	if p.Done {
		text = p.done
	}
	return fmt.Sprintf(text, words.Count(len(p.Allowed), "registry"))
}

// bulkHandlers has the pages for many registries.
type bulkHandlers struct {
	bulk       *bulk.Service
	registries *registries.Service
	now        func() time.Time
}

// change is POST /console/registries/bulk: the first one asks, the second one, with uids, does it.
func (h bulkHandlers) change(c *call) error {
	input, page := bulk.Input{Action: bulk.Action(c.PostFormValue("action")), DryRun: true}, bulkPage{}
	for _, a := range bulkActions {
		if a.Action == input.Action {
			page.bulkAction = a
		}
	}
	confirmed := c.PostFormValue("uids") != ""
	switch {
	case confirmed:
		input.UIDs = strings.Fields(c.PostFormValue("uids"))
	case c.PostFormValue("all") == "true":
		query := registrylist.Query(c.PostFormValue)
		input.Filter = &query
	default:
		input.UIDs = c.PostForm["uid"]
	}
	if len(input.UIDs) == 0 && input.Filter == nil {
		return c.redirect(pathRegistries, "nothingChosen")
	}
	if confirmed {
		return h.changeConfirmed(c, page, input)
	}
	if page.Same = input.Action == bulk.Credentials && len(input.UIDs) == 1; page.Same {
		input.SameCredentialsAs, input.UIDs = input.UIDs[0], nil
	}
	if err := h.ask(c, &page, input); err != nil {
		return err
	}
	return c.show("bulk.html", page.Title(), page)
}

// changeConfirmed does the action, or asks again with the problems of what the form has.
func (h bulkHandlers) changeConfirmed(c *call, page bulkPage, input bulk.Input) error {
	done := input
	err := readBulk(c, &done)
	if err == nil {
		err = h.do(c, &page, done)
	}
	if fault.KindOf(err) == fault.Invalid {
		if askErr := h.ask(c, &page, input); askErr != nil {
			return askErr
		}
		page.Form.Refuse(c, err)
		return c.showAgain(err, "bulk.html", page.Title(), page)
	}
	if err != nil {
		return err
	}
	page.Done = true
	return c.show("bulk.html", page.Title(), page)
}

// do does the action, or reports of a dry run what it would do.
func (h bulkHandlers) do(c *call, page *bulkPage, input bulk.Input) error {
	c.clearReadDeadline()
	outcomes, err := h.bulk.Do(c.Context(), c.principal, c.origin, input)
	if err != nil {
		return err
	}
	page.Allowed, page.Refused = nil, nil
	for _, o := range outcomes {
		if o.Err != nil {
			page.Refused = append(page.Refused, o)
		} else {
			page.Allowed = append(page.Allowed, o)
		}
	}
	return nil
}

// ask reports what the action would do, with the form of what it needs.
func (h bulkHandlers) ask(c *call, page *bulkPage, input bulk.Input) error {
	if err := h.do(c, page, input); err != nil {
		return err
	}
	page.Form = forms.New(page.Button, pathBulk)
	switch {
	case page.Action == bulk.Labels:
		page.Form.Fields = []forms.Field{{Name: "labels", Label: "Labels", Type: "textarea", Required: true,
			Hint: "KEY=VALUE, one a line; KEY- removes a label. Other labels stay."}}
	case page.Action == bulk.Credentials && page.leaveOutOtherTypes():
		first, err := h.registries.Get(c.Context(), c.principal, page.Allowed[0].UID)
		if err != nil {
			return err
		}
		page.Form.Fields = forms.Credentials(first.Definition.Auth)
	}
	return nil
}

// leaveOutOtherTypes leaves out registries without credentials, and those whose credentials have another type than those of the first one.
// It reports whether there are others.
func (p *bulkPage) leaveOutOtherTypes() bool {
	all := p.Allowed
	p.AuthType, p.Allowed = regcheck.NoAuth, nil
	for _, o := range all {
		if p.AuthType == regcheck.NoAuth {
			p.AuthType = o.AuthType
		}
		if o.AuthType == p.AuthType && o.AuthType != regcheck.NoAuth {
			p.Allowed = append(p.Allowed, o)
			continue
		}
		o.Err = &fault.Error{Kind: fault.Invalid, Message: "Authentication: " + forms.OptionLabel("auth.type", o.AuthType) + "."}
		p.Refused = append(p.Refused, o)
	}
	return len(p.Allowed) > 0
}

// readBulk sets what the form has.
func readBulk(c *call, input *bulk.Input) (err error) {
	input.DryRun = false
	switch input.Action {
	case bulk.Labels:
		lines := strings.FieldsFunc(c.PostFormValue("labels"), func(r rune) bool { return r == '\n' || r == '\r' })
		if input.Labels, err = labelchange.Parse(lines); err != nil {
			return fault.InvalidField("labels", err.Error())
		}
	case bulk.Credentials:
		input.Auth = forms.ReadDefinition(c).Auth
	case bulk.Check, bulk.Delete:
	}
	return nil
}

// exportRegistries is GET /console/registries.csv: all registries that the filter of the list matches, in its order.
func (h bulkHandlers) exportRegistries(c *call) error {
	query := registrylist.Query(c.query)
	query.Request = paging.Request{Limit: paging.MaxLimit, Uncounted: true}
	out := csvtext.New(c)
	for begun := false; ; begun = true {
		page, err := h.registries.Search(c.Context(), c.principal, query)
		if err != nil {
			return err
		}
		rows, err := registrylist.Rows(c.Context(), h.registries, c.principal, page.Items, h.now())
		if err != nil {
			return err
		}
		if !begun {
			c.beginCSV("registries.csv")
			out.Row("uid", "name", "endpoint", "providerType", "health", "since", "code", "message", "hint", "lastCheck",
				"certificateNotAfter", "credentialsNotAfter", "project", "kind", "authentication", "repositories", "tags", "labels",
				"history")
		}
		for _, r := range rows {
			state := r.Health.State
			out.Row(r.UID, r.Name, r.Endpoint, r.ProviderType, string(r.Health.Word()), csvtext.Time(r.Health.Since), state.Code,
				state.Message, state.Hint, csvtext.Time(r.Health.LastAt), csvtext.Time(state.CertificateNotAfter),
				csvtext.Time(state.CredentialsNotAfter), r.Project, r.Type(), r.Authentication(), strconv.FormatInt(r.Repositories, 10),
				strconv.FormatInt(r.Tags, 10),
				r.LabelText(), r.Spark.Text)
		}
		if out.Flush(); out.Error() != nil || page.Continue == "" {
			return nil // the last page, or the browser went away
		}
		query.Continue = page.Continue
	}
}
