package console

import (
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/regcheck"
)

// fieldVersion has the version of the registry that the form shows: an outdated form must not undo later changes.
const fieldVersion = "version"

// fieldProject has the project of a new registry. Only callers who may not store registries of no project have the field.
const fieldProject = "project"

// projectOf returns the project in which a new registry is stored: the one that the form names, or the only one in which the caller may.
func projectOf(c *call) string {
	if c.principal.Can(access.CreateRegistries) {
		return ""
	}
	if projects := c.principal.Where(access.CreateRegistries); len(projects) == 1 {
		return projects[0]
	}
	return c.PostFormValue(fieldProject)
}

// mayCreate reports whether the caller can store registries where no form asks for the project.
func mayCreate(c *call) bool { return c.principal.CanIn(access.CreateRegistries, projectOf(c)) }

// projectOptions returns the projects among which the caller has to choose that of a new registry, nil if there is no choice.
func (h registryHandlers) projectOptions(c *call) (options []forms.Option, err error) {
	if c.principal.Can(access.CreateRegistries) {
		return nil, nil
	}
	for _, uid := range c.principal.Where(access.CreateRegistries) {
		project, err := h.changes.Directory.Project(c.Context(), c.principal, uid)
		if err != nil {
			return nil, err
		}
		options = append(options, forms.Options(uid, project.Name)...)
	}
	return options, nil
}

// noVersion is a version that no registry has.
const noVersion = -1

type registryFormPage struct {
	Form   *forms.Form
	Back   string // the page of the registry, or the list
	Choice bool   // the form asks for the project
}

func registryForm(button, action string, r registries.Registry) *forms.Form {
	synced := forms.Field{Name: "isSyncSupported", Label: "Synchronize content", Type: "checkbox", Value: forms.Truth(r.SyncSupported),
		Hint: "Lists the repositories and tags of the registry regularly"}
	name := forms.Field{Name: "name", Label: "Name", Value: r.Name, Required: true}
	version := forms.Field{Name: fieldVersion, Value: strconv.FormatInt(r.Version, 10)}
	return forms.New(button, action, append([]forms.Field{name, synced, version}, forms.Definition(r.Definition)...)...)
}

// registryInput returns what the form sent, with the parts of the stored registry that the form does not have.
func registryInput(c *call, stored registries.Registry) registries.RegistryInput {
	input := registries.RegistryInput{Name: c.PostFormValue("name"), ProjectUID: projectOf(c), Definition: forms.ReadDefinition(c),
		SyncSupported: c.PostFormValue("isSyncSupported") == "true",
		Annotations:   stored.Annotations, Labels: stored.Labels, Scope: stored.Scope, SpectroManifest: stored.SpectroManifest,
		Private: stored.Private, Version: versionOf(c)}
	if a := stored.Definition.Auth; a != nil {
		unlessChanged(&input.Definition.Auth.TLS.CA, a.TLS.CA)
		unlessChanged(&input.Definition.Auth.TLS.Certificate, a.TLS.Certificate)
		keepObtained(input.Definition.Auth, a)
	}
	return input
}

// versionOf returns that of the registry that the form shows.
func versionOf(c *call) int64 {
	version, err := strconv.ParseInt(c.PostFormValue(fieldVersion), 10, 64)
	if err != nil || version < 1 {
		return noVersion
	}
	return version
}

// unlessChanged restores the line breaks of a stored text. A stored secret is used only with the stored certificates.
func unlessChanged(sent *string, stored string) {
	if *sent == strings.ReplaceAll(stored, "\r\n", "\n") {
		*sent = stored
	}
}

// keepObtained keeps the session token with the stored secret key that it belongs to, and the identity of the server unless credentials
// were entered.
func keepObtained(sent, stored *regcheck.Auth) {
	if to, from := sent.AWS, stored.AWS; to != nil && from != nil && to.SecretKey == "" && to.SessionToken == "" {
		to.SessionToken, to.Ambient = from.SessionToken, from.Ambient && to.AccessKey == ""
	}
	if to, from := sent.GCP, stored.GCP; to != nil && from != nil {
		to.Ambient = from.Ambient && to.ServiceAccount == ""
	}
	if to, from := sent.Azure, stored.Azure; to != nil && from != nil {
		to.Ambient = from.Ambient && to.ClientSecret == ""
	}
}

// newRegistry is GET /console/registries/new.
func (h registryHandlers) newRegistry(c *call) error {
	if err := c.principal.MayAnywhere(access.CreateRegistries); err != nil {
		return err
	}
	return h.showRegistryForm(c, registries.Registry{}, nil)
}

// createRegistry is POST /console/registries/new.
func (h registryHandlers) createRegistry(c *call) error {
	uid, err := h.registries.Create(c.Context(), c.principal, c.origin, registryInput(c, registries.Registry{}))
	if err != nil {
		return h.showRegistryForm(c, registries.Registry{}, err)
	}
	return c.redirect(registryPath(uid), "registrySaved")
}

// editRegistry is GET /console/registries/{uid}/edit.
func (h registryHandlers) editRegistry(c *call) error {
	stored, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err == nil {
		err = c.principal.MayIn(access.ChangeRegistries, stored.ProjectUID)
	}
	if err != nil {
		return err
	}
	return h.showRegistryForm(c, stored, nil)
}

// replaceRegistry is POST /console/registries/{uid}/edit.
func (h registryHandlers) replaceRegistry(c *call) error {
	stored, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	if err := h.registries.Replace(c.Context(), c.principal, c.origin, stored.UID, registryInput(c, stored)); err != nil {
		return h.showRegistryForm(c, stored, err)
	}
	return c.redirect(registryPath(stored.UID), "registrySaved")
}

// showRegistryForm shows the form of a stored registry, or of a new one, and why it was refused.
func (h registryHandlers) showRegistryForm(c *call, stored registries.Registry, err error) error {
	title, page := "Add a registry", registryFormPage{Form: registryForm("Add", pathNewRegistry, stored), Back: pathRegistries}
	if stored.UID != "" {
		page.Back = registryPath(stored.UID)
		title, page.Form = "Edit "+stored.Name, registryForm("Save", page.Back+"/edit", stored)
	} else if projects, readErr := h.projectOptions(c); readErr != nil {
		return readErr
	} else if page.Choice = len(projects) > 0; page.Choice {
		page.Form.Fields = append(page.Form.Fields, forms.Field{Name: fieldProject, Label: "Project", Type: "select", Options: projects})
	}
	if err == nil {
		return c.show("registryform.html", title, page)
	}
	page.Form.Refuse(c, err)
	if fault.Visible(err).Code == registries.CodeRegistryChanged {
		page.Form.Current = page.Back + "/edit"
	}
	return c.showAgain(err, "registryform.html", title, page)
}
