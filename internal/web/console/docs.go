package console

import (
	"sync"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/console/reference"
	"github.com/regwarden/regwarden/secret"
)

const pathDocs = "/docs"

// docs is read when the first page needs it.
var docs = sync.OnceValues(func() (*reference.Reference, error) { return reference.Read(api.OpenAPI) })

type docsPage struct {
	Reference *reference.Reference
	Group     reference.Group
	Text      string // that is searched for
	Found     reference.Found
}

// docsHandlers has the pages of the API reference.
type docsHandlers struct{ authenticator *auth.Authenticator }

// showDocs is GET /docs: the groups of the API reference, or what contains a text. It needs no login.
func (h docsHandlers) showDocs(c *call) error {
	all, err := docs()
	if err != nil {
		return err
	}
	h.identifyIfPossible(c)
	text := c.query("q")
	return c.show("docs.html", "API reference", docsPage{Reference: all, Text: text, Found: all.Find(text)})
}

// showDocsGroup is GET /docs/{group}: the operations of one group.
func (h docsHandlers) showDocsGroup(c *call) error {
	all, err := docs()
	if err != nil {
		return err
	}
	h.identifyIfPossible(c)
	group, ok := all.Group(c.PathValue("group"))
	if !ok {
		return pathNotFound()
	}
	return c.show("docsgroup.html", "API reference: "+group.Name, docsPage{Reference: all, Group: group})
}

// identifyIfPossible shows the navigation to users who are logged in, on a page that needs no session.
func (h docsHandlers) identifyIfPossible(c *call) {
	if p, err := h.authenticator.AuthenticateConsole(c.Context(), secret.String(c.cookie(sessionCookie))); err == nil {
		c.principal = p
	}
}
