package people

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

const (
	pathProvider  = "/console/identity-provider"
	titleProvider = "Single sign-on"
)

// providerHandlers has the page of the identity provider.
type providerHandlers struct {
	providers directory.Providers
	teams     directory.Teams
	sso       *federation.SSO
}

func (h providerHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: pathProvider, Handle: h.show, Label: titleProvider, Icon: "sso", Permission: access.ReadTrusts},
		{Method: "POST", Path: pathProvider, Handle: h.save},
		{Method: "POST", Path: pathProvider + "/test", Handle: h.test},
		{Method: "POST", Path: pathProvider + "/disable", Handle: h.disable},
		{Method: "GET", Path: pathProvider + "/delete", Handle: h.confirmDelete, Permission: access.DeleteTrusts},
		{Method: "POST", Path: pathProvider + "/delete", Handle: h.delete},
	}
}

// providerPage is the identity provider of an organization, and what to register there.
type providerPage struct {
	directory.Provider
	URLs      []labeled
	Settings  []labeled   // for a caller who may not change them
	Form      *forms.Form // nil for such a caller
	MayDelete bool
	Tested    *federation.Published // nil without a test
	Failure   string                // why the test failed
}

// labeled is a text with what it is.
type labeled struct{ Label, ID, Text string }

// Stored reports whether the organization has a provider.
func (p providerPage) Stored() bool { return p.Issuer != "" }

func (h providerHandlers) page(c Call) (page providerPage, err error) {
	if page.Provider, err = h.providers.Provider(c.Context(), c.Principal); err != nil {
		return page, err
	}
	org := page.OrgUID
	page.URLs = []labeled{{"Callback URL (redirect URI)", "callback", h.sso.CallbackURL(org)},
		{"Logout URL (post-logout redirect URI)", "logout", h.sso.LogoutURL()},
		{"Back-channel logout URL", "backchannel", h.sso.BackChannelURL(org)}}
	teams, err := h.teamNames(c, page.DefaultTeams)
	page.MayDelete = page.Stored() && c.Principal.Can(access.DeleteTrusts)
	if c.Principal.Can(access.CreateTrusts) {
		page.Form = providerForm(page.Provider, teams)
		return page, err
	}
	for _, f := range providerForm(page.Provider, teams).Fields {
		if f.Name != "clientSecret" {
			page.Settings = append(page.Settings, labeled{Label: f.Label, Text: shownSetting(f)})
		}
	}
	return page, err
}

// shownSetting returns the value of a field, or what it means that it has none.
func shownSetting(f forms.Field) string {
	switch {
	case f.Type == "checkbox" && f.Value == "true":
		return "Yes"
	case f.Type == "checkbox":
		return "No"
	case f.Value == "":
		return strings.TrimSpace("None. " + f.Hint)
	}
	return f.Value
}

// teamNames returns the names of teams, for a caller who may see them, and the uids of teams that were deleted.
func (h providerHandlers) teamNames(c Call, uids []string) (names []string, err error) {
	for _, uid := range uids {
		name := uid
		if c.Principal.Can(access.ReadTeams) {
			team, err := h.teams.Get(c.Context(), c.Principal, uid)
			if err != nil && fault.KindOf(err) != fault.NotFound {
				return nil, err
			}
			name = cmp.Or(team.Name, uid) // a deleted team stays: without default teams new users could become members
		}
		names = append(names, name)
	}
	return names, nil
}

// claimFields are the claims that the form has, and what each is.
var claimFields = []struct{ key, label string }{{identities.ClaimEmail, "Claim of the email address"},
	{identities.ClaimFirstName, "Claim of the first name"}, {identities.ClaimLastName, "Claim of the last name"},
	{identities.ClaimGroups, "Claim of the groups"}}

func providerForm(p directory.Provider, teams []string) *forms.Form {
	secretHint := "The secret that the provider shows for this client. It is not shown again."
	if p.Secret != "" {
		secretHint = "A secret is stored. Leave it empty to keep it; enter it again with another issuer or CA."
	}
	fields := []forms.Field{
		{Name: "issuer", Label: "Issuer", Value: p.Issuer, Required: true,
			Hint: "URL of the provider, as in the claim iss of its tokens. It must serve /.well-known/openid-configuration."},
		{Name: "clientId", Label: "Client ID", Value: p.ClientID, Required: true},
		{Name: "clientSecret", Label: "Client secret", Type: "password", Autocomplete: "new-password", Hint: secretHint},
		{Name: "name", Label: "Name", Value: p.Name, Hint: "On the button of the login. Empty for the host of the issuer."},
		{Name: "scopes", Label: "Scopes", Value: strings.Join(p.Scopes, " "),
			Hint: "Separated by spaces. Empty for openid, profile, email, and offline_access if the provider has it."},
		{Name: "emailDomains", Label: "Email domains", Value: strings.Join(p.EmailDomains, " "),
			Hint: "Domains of the addresses of new users, separated by spaces. Empty for all."},
		{Name: "emailsVerified", Label: "The provider verifies every address, although its tokens do not say so", Type: "checkbox",
			Value: forms.Truth(p.EmailsVerified)},
	}
	for _, f := range claimFields {
		hint := "Empty for " + identities.Settings{}.Claim(f.key) + "."
		if f.key == identities.ClaimGroups {
			hint = "Empty: groups are not read, and teams are set here. A group is the team with exactly its name."
		}
		fields = append(fields, forms.Field{Name: "claim." + f.key, Path: "claims." + f.key, Label: f.label, Value: p.Claims[f.key],
			Hint: hint})
	}
	return forms.New("Save", pathProvider, append(fields,
		forms.Field{Name: "defaultTeams", Label: "Default teams", Type: "textarea", Value: strings.Join(teams, "\n"),
			Hint: "Teams of users whose groups have no team, one on each line. Empty: they are in no team."},
		forms.Field{Name: "syncSsoTeams", Label: "Create a team, without roles, for each group that has none", Type: "checkbox",
			Value: forms.Truth(p.SyncTeams)},
		forms.Field{Name: "ca", Label: "CA certificates", Type: "textarea", Value: p.CA,
			Hint: "PEM, trusted for the provider in addition to those of the system. Empty: only those."},
		forms.Field{Name: "enabled", Label: "Users can log in by it", Type: "checkbox", Value: forms.Truth(p.Issuer != "" && !p.Disabled),
			Hint: "Save it without, register the URLs above at the provider, and test it first."})...)
}

// sentProvider returns the provider that was entered. What the form does not have stays.
func sentProvider(c Call, stored directory.Provider) directory.Provider {
	p := directory.Provider{Issuer: strings.TrimSpace(c.PostFormValue("issuer")), Secret: secret.String(c.PostFormValue("clientSecret")),
		Settings: identities.Settings{ClientID: strings.TrimSpace(c.PostFormValue("clientId")), Name: c.PostFormValue("name"),
			Scopes: strings.Fields(c.PostFormValue("scopes")), EmailDomains: strings.Fields(c.PostFormValue("emailDomains")),
			EmailsVerified: c.PostFormValue("emailsVerified") == "true", SyncTeams: c.PostFormValue("syncSsoTeams") == "true",
			DefaultTeams: lines(c.PostFormValue("defaultTeams")), CA: c.PostFormValue("ca"),
			Disabled: c.PostFormValue("enabled") != "true", Claims: maps.Clone(stored.Claims)}}
	for _, f := range claimFields {
		claim := strings.TrimSpace(c.PostFormValue("claim." + f.key))
		if claim == "" {
			delete(p.Claims, f.key)
			continue
		}
		if p.Claims == nil {
			p.Claims = map[string]string{}
		}
		p.Claims[f.key] = claim
	}
	return p
}

// show is GET /console/identity-provider.
func (h providerHandlers) show(c Call) error {
	page, err := h.page(c)
	return c.ShowRead(err, "provider.html", titleProvider, page)
}

// save is POST /console/identity-provider.
func (h providerHandlers) save(c Call) error {
	stored := directory.Provider{}
	if c.Principal.Can(access.ReadTrusts) { // others are refused below, which is recorded
		var err error
		if stored, err = h.providers.Provider(c.Context(), c.Principal); err != nil {
			return err
		}
	}
	err := h.providers.Set(c.Context(), c.Principal, c.Origin, sentProvider(c, stored))
	if err == nil {
		return c.Redirect(pathProvider, "providerSaved")
	}
	page, errRead := h.page(c)
	if errRead != nil || page.Form == nil {
		return err
	}
	page.Form.Refuse(c, err)
	return c.ShowAgain(err, "provider.html", titleProvider, page)
}

// test is POST /console/identity-provider/test. It asks the stored provider what a login would need, and shows the outcome.
func (h providerHandlers) test(c Call) error {
	if err := c.Principal.May(access.CreateTrusts); err != nil {
		return err
	}
	page, err := h.page(c)
	if err != nil {
		return err
	}
	published, failure, err := h.sso.Test(c.Context(), page.OrgUID)
	if err != nil {
		return err
	}
	if page.Failure = failure; failure == "" {
		page.Tested = &published
	}
	return c.Show("provider.html", titleProvider, page)
}

// disable is POST /console/identity-provider/disable.
func (h providerHandlers) disable(c Call) error {
	stored, err := h.providers.Provider(c.Context(), c.Principal)
	if err == nil && stored.Issuer == "" {
		err = fault.ResourceNotFound("The organization has no identity provider.")
	}
	if err == nil {
		stored.Disabled = true
		err = h.providers.Set(c.Context(), c.Principal, c.Origin, stored)
	}
	return c.done(err, pathProvider, "providerOff")
}

// confirmDelete is GET /console/identity-provider/delete.
func (h providerHandlers) confirmDelete(c Call) error {
	return c.confirm(confirmation{Question: "Delete the identity provider?",
		Text:   "Users without a password cannot log in then. Sessions that began there end at their next check.",
		Action: pathProvider + "/delete", Button: "Delete the identity provider", Cancel: pathProvider})
}

// delete is POST /console/identity-provider/delete.
func (h providerHandlers) delete(c Call) error {
	if err := h.providers.Delete(c.Context(), c.Principal, c.Origin); err != nil {
		return err
	}
	if !c.Principal.Can(access.ReadTrusts) {
		return c.Redirect("/console/", "providerDeleted")
	}
	return c.Redirect(pathProvider, "providerDeleted")
}

// Endpoints lists what a test found.
func (p providerPage) Endpoints() []labeled {
	found := []labeled{{Label: "Authorization endpoint", Text: p.Tested.Authorization}, {Label: "Token endpoint", Text: p.Tested.Token},
		{Label: "Userinfo endpoint", Text: p.Tested.UserInfo}, {Label: "Logout endpoint", Text: p.Tested.Logout}}
	return slices.DeleteFunc(found, func(l labeled) bool { return l.Text == "" })
}
