package people

import (
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/web/console/factorform"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// PathFactor is the page of the own second factor.
const PathFactor = "/console/sessions/second-factor"

const titleFactor = "Second factor"

// factorHandlers has the page of the own second factor, and what administrators do about those of others.
type factorHandlers struct {
	factors *secondfactor.Service
	others  directory.Factors
}

func (h factorHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: PathFactor, Handle: h.showFactor},
		{Method: "POST", Path: PathFactor, Handle: h.enroll},
		{Method: "POST", Path: PathFactor + "/confirm", Handle: h.confirm},
		{Method: "POST", Path: PathFactor + "/codes", Handle: h.renew},
		{Method: "POST", Path: PathFactor + "/remove", Handle: h.remove},
		{Method: "POST", Path: pathUsers + "/second-factor", Handle: h.require},
		{Method: "POST", Path: pathUsers + "/{uid}/reset-second-factor", Handle: h.reset},
	}
}

// factorPage is the page of the own second factor.
type factorPage struct {
	secondfactor.Status
	Key                            *factorform.Key // of one that was just begun
	Enroll, Confirm, Renew, Remove *forms.Form
}

func (h factorHandlers) read(c Call) (*factorPage, error) {
	status, err := h.factors.Status(c.Context(), c.Principal)
	return &factorPage{Status: status,
		Enroll:  forms.New("Add a second factor", PathFactor, factorform.Password()),
		Confirm: forms.New("Confirm", PathFactor+"/confirm", factorform.Code("Six digits of your app.")),
		Renew:   factorform.Proof("Replace the recovery codes", PathFactor+"/codes"),
		Remove:  factorform.Proof("Remove the second factor", PathFactor+"/remove")}, err
}

// showFactor is GET /console/sessions/second-factor.
func (h factorHandlers) showFactor(c Call) error {
	page, err := h.read(c)
	return c.ShowRead(err, "secondfactor.html", titleFactor, page)
}

// refuse shows the page with the problems of a form.
func (h factorHandlers) refuse(c Call, err error, formOf func(*factorPage) *forms.Form) error {
	page, readErr := h.read(c)
	if readErr != nil {
		return err
	}
	formOf(page).Refuse(c, err)
	return c.ShowAgain(err, "secondfactor.html", titleFactor, page)
}

// enroll is POST /console/sessions/second-factor.
func (h factorHandlers) enroll(c Call) error {
	password, _ := factorform.Sent(c)
	begun, err := h.factors.Enroll(c.Context(), c.Principal, c.Origin, password)
	if err != nil {
		return h.refuse(c, err, func(p *factorPage) *forms.Form { return p.Enroll })
	}
	page, err := h.read(c)
	if err == nil {
		page.Key, err = factorform.NewKey(begun)
	}
	return c.ShowRead(err, "secondfactor.html", titleFactor, page)
}

// confirm is POST /console/sessions/second-factor/confirm.
func (h factorHandlers) confirm(c Call) error {
	_, code := factorform.Sent(c)
	codes, err := h.factors.Confirm(c.Context(), c.Principal, c.Origin, code)
	if err != nil {
		return h.refuse(c, err, func(p *factorPage) *forms.Form { return p.Confirm })
	}
	return c.Show("recoverycodes.html", "Recovery codes", factorform.Recovery{Codes: codes, Next: PathFactor})
}

// renew is POST /console/sessions/second-factor/codes.
func (h factorHandlers) renew(c Call) error {
	password, code := factorform.Sent(c)
	codes, err := h.factors.RenewCodes(c.Context(), c.Principal, c.Origin, password, code)
	if err != nil {
		return h.refuse(c, err, func(p *factorPage) *forms.Form { return p.Renew })
	}
	return c.Show("recoverycodes.html", "Recovery codes", factorform.Recovery{Codes: codes, Next: PathFactor})
}

// remove is POST /console/sessions/second-factor/remove.
func (h factorHandlers) remove(c Call) error {
	password, code := factorform.Sent(c)
	if err := h.factors.Remove(c.Context(), c.Principal, c.Origin, password, code); err != nil {
		return h.refuse(c, err, func(p *factorPage) *forms.Form { return p.Remove })
	}
	return c.Redirect(PathFactor, "factorRemoved")
}

// require is POST /console/users/second-factor.
func (h factorHandlers) require(c Call) error {
	err := h.factors.Require(c.Context(), c.Principal, c.Origin, c.PostFormValue("required") == "true")
	return c.done(err, pathUsers, "factorSet")
}

// reset is POST /console/users/{uid}/reset-second-factor.
func (h factorHandlers) reset(c Call) error {
	uid := c.PathValue("uid")
	err := h.others.Reset(c.Context(), c.Principal, c.Origin, uid)
	return c.done(err, pathOf(pathUsers, uid), "factorReset")
}
