package people

import (
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

const pathTrusts = "/console/trust-rules"

// trustHandlers has the pages of trust rules.
type trustHandlers struct {
	trusts directory.Trusts
	roles  *roles.Roles
}

func (h trustHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: pathTrusts, Handle: h.list, Label: "Trust rules", Icon: "trusts", Permission: access.ReadTrusts},
		{Method: "GET", Path: pathTrusts + "/new", Handle: h.showNew, Permission: access.CreateTrusts},
		{Method: "POST", Path: pathTrusts + "/new", Handle: h.create},
		{Method: "GET", Path: pathTrusts + "/{uid}/delete", Handle: h.confirmDelete, Permission: access.DeleteTrusts},
		{Method: "POST", Path: pathTrusts + "/{uid}/delete", Handle: h.delete},
	}
}

type trustsPage struct {
	Known
	Rules                []directory.Trust
	MayCreate, MayDelete bool
}

// list is GET /console/trust-rules.
func (h trustHandlers) list(c Call) error {
	list, err := h.trusts.List(c.Context(), c.Principal)
	if err != nil {
		return err
	}
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	return c.ShowRead(err, "trusts.html", "Trust rules", trustsPage{Known: known, Rules: list,
		MayCreate: c.Principal.Can(access.CreateTrusts), MayDelete: c.Principal.Can(access.DeleteTrusts)})
}

const titleNewTrust = "Create a trust rule"

func trustForm(known Known) *forms.Form {
	role := forms.Field{Name: "role", Label: "Role", Type: "select", Value: string(auth.RoleMember),
		Hint: "What who presents a token may do."}
	for _, one := range known.offered("") {
		role.Options = append(role.Options, forms.Option{Value: one.UID, Label: one.Name})
	}
	role.Options = append(role.Options, forms.Option{Value: string(access.None), Label: string(access.None)})
	return forms.New("Create", pathTrusts+"/new",
		forms.Field{Name: "name", Label: "Name", Required: true},
		forms.Field{Name: "issuer", Label: "Issuer", Required: true,
			Hint: "URL of the platform, as in the claim iss of its tokens, such as https://token.actions.githubusercontent.com."},
		forms.Field{Name: "audience", Label: "Audience", Required: true,
			Hint: "What the claim aud of a token must have, such as the URL of this service."},
		forms.Field{Name: "claims", Label: "Claims", Type: "textarea", Required: true,
			Hint: "Required claims, one on each line, such as repository=acme/app. A value that ends in /* or :* is a prefix."},
		role,
		forms.Field{Name: "projects", Label: "Projects", Type: "textarea",
			Hint: "Names of projects that a member may see, one on each line. Empty: no project."},
		forms.Field{Name: "reusable", Label: "A token can be presented more than once", Type: "checkbox",
			Hint: "As pipelines of GitLab and pods do."},
		forms.Field{Name: "ca", Label: "CA certificates", Type: "textarea",
			Hint: "PEM, trusted for the issuer in addition to those of the system. Empty: only those."},
		forms.Field{Name: "keys", Label: "Keys", Type: "textarea",
			Hint: "The issuer's JSON Web Key Set, where this service cannot reach the issuer. Empty: it is read from there."})
}

// sentClaims returns the conditions that were entered.
func sentClaims(text string) (trustrule.Conditions, error) {
	claims := trustrule.Conditions{}
	for _, line := range lines(text) {
		name, value, found := strings.Cut(line, "=")
		if _, twice := claims[strings.TrimSpace(name)]; !found || twice {
			return nil, fault.InvalidField("claims", "must have lines of the form name=value, each name once")
		}
		claims[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return claims, nil
}

// showNew is GET /console/trust-rules/new.
func (h trustHandlers) showNew(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	return c.showForm(titleNewTrust, trustForm(known))
}

// create is POST /console/trust-rules/new.
func (h trustHandlers) create(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	claims, err := sentClaims(c.PostFormValue("claims"))
	if err == nil || !c.Principal.Can(access.CreateTrusts) { // the refusal is recorded
		_, err = h.trusts.Create(c.Context(), c.Principal, c.Origin, directory.NewTrust{Name: c.PostFormValue("name"),
			Issuer: strings.TrimSpace(c.PostFormValue("issuer")), Audience: strings.TrimSpace(c.PostFormValue("audience")), Claims: claims,
			Role: auth.Role(c.PostFormValue("role")), Projects: lines(c.PostFormValue("projects")),
			Reusable: c.PostFormValue("reusable") == "true", CA: c.PostFormValue("ca"), Keys: c.PostFormValue("keys")})
	}
	if err != nil {
		return c.showFormAgain(err, titleNewTrust, trustForm(known))
	}
	return c.Redirect(pathTrusts, "trustRuleCreated")
}

// confirmDelete is GET /console/trust-rules/{uid}/delete.
func (h trustHandlers) confirmDelete(c Call) error {
	name := ""
	if rule, err := h.trusts.Get(c.Context(), c.Principal, c.PathValue("uid")); err == nil {
		name = " " + rule.Name
	} else if c.Principal.Can(access.ReadTrusts) {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the trust rule" + name + "?", Text: "Tokens that it issued are no longer accepted.",
		Action: pathOf(pathTrusts, c.PathValue("uid"), "delete"), Button: "Delete the trust rule", Cancel: pathTrusts})
}

// delete is POST /console/trust-rules/{uid}/delete.
func (h trustHandlers) delete(c Call) error {
	err := h.trusts.Delete(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
	return c.done(err, pathTrusts, "trustRuleDeleted")
}
