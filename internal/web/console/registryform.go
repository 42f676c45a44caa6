package console

import (
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
)

// fieldVersion has the version of the registry that the form shows: an outdated form must not undo later changes.
const fieldVersion = "version"

// noVersion is a version that no registry has.
const noVersion = -1

type registryFormPage struct {
	Form *form
	Back string // the page of the registry, or the list
}

func registryForm(button, action string, r registries.Registry) *form {
	synced := field{Name: "isSyncSupported", Label: "Synchronize content", Type: "checkbox", Value: checked[r.SyncSupported],
		Hint: "Lists the repositories and tags of the registry regularly"}
	name := field{Name: "name", Label: "Name", Value: r.Name, Required: true}
	version := field{Name: fieldVersion, Value: strconv.FormatInt(r.Version, 10)}
	return newForm(button, action, append([]field{name, synced, version}, definitionFields(r.Definition)...)...)
}

// registryInput returns what the form sent, with the parts of the stored registry that the form does not have.
func (c *call) registryInput(stored registries.Registry) registries.RegistryInput {
	input := registries.RegistryInput{Name: c.PostFormValue("name"), Definition: c.definition(), SyncSupported: c.PostFormValue("isSyncSupported") == "true",
		Annotations: stored.Annotations, Labels: stored.Labels, Scope: stored.Scope, SpectroManifest: stored.SpectroManifest, Private: stored.Private, Version: c.version()}
	if a := stored.Definition.Auth; a != nil {
		unlessChanged(&input.Definition.Auth.TLS.CA, a.TLS.CA)
		unlessChanged(&input.Definition.Auth.TLS.Certificate, a.TLS.Certificate)
	}
	return input
}

// version returns that of the registry that the form shows.
func (c *call) version() int64 {
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

// newRegistry is GET /console/registries/new.
func (s *Console) newRegistry(c *call) error {
	if err := c.principal.May(auth.CreateRegistries); err != nil {
		return err
	}
	return s.showRegistryForm(c, registries.Registry{}, nil)
}

// createRegistry is POST /console/registries/new.
func (s *Console) createRegistry(c *call) error {
	uid, err := s.Registries.Create(c.Context(), c.principal, c.origin, c.registryInput(registries.Registry{}))
	if err != nil {
		return s.showRegistryForm(c, registries.Registry{}, err)
	}
	return c.redirect(registryPath(uid), "registrySaved")
}

// editRegistry is GET /console/registries/{uid}/edit.
func (s *Console) editRegistry(c *call) error {
	if err := c.principal.May(auth.ChangeRegistries); err != nil {
		return err
	}
	stored, err := s.Registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return s.showRegistryForm(c, stored, nil)
}

// replaceRegistry is POST /console/registries/{uid}/edit.
func (s *Console) replaceRegistry(c *call) error {
	stored, err := s.Registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	if err := s.Registries.Replace(c.Context(), c.principal, c.origin, stored.UID, c.registryInput(stored)); err != nil {
		return s.showRegistryForm(c, stored, err)
	}
	return c.redirect(registryPath(stored.UID), "registrySaved")
}

// showRegistryForm shows the form of a stored registry, or of a new one, and why it was refused.
func (s *Console) showRegistryForm(c *call, stored registries.Registry, err error) error {
	title, page := "Add a registry", registryFormPage{registryForm("Add", pathNewRegistry, stored), pathRegistries}
	if stored.UID != "" {
		page.Back = registryPath(stored.UID)
		title, page.Form = "Edit "+stored.Name, registryForm("Save", page.Back+"/edit", stored)
	}
	if err == nil {
		return c.show("registryform.html", title, page)
	}
	page.Form.refused(c, inForm(err))
	if fault.Visible(err).Code == registries.CodeRegistryChanged {
		page.Form.Current = page.Back + "/edit"
	}
	return c.showAgain(err, "registryform.html", title, page)
}
