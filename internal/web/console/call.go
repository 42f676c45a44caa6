package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/internal/web/requestbody"
)

const (
	maxForm   = 64 << 10
	smallPage = 32 << 10 // a larger one is counted while it is sent
)

// call is one request to a page. It is the writer of the response too.
type call struct {
	*http.Request
	http.ResponseWriter
	console   *Console
	origin    audit.Origin
	principal auth.Principal           // the zero value without a session
	counts    *registries.HealthCounts // of the organization, when they are read
	err       error                    // that the response shows
	begun     bool                     // the status is sent
}

// countHealth counts the registries that the caller may read, once for the page and what is around it.
func (c *call) countHealth() (registries.HealthCounts, error) {
	if c.counts == nil {
		counts, err := c.console.Registries.CountHealth(c.Context(), c.principal)
		if err != nil {
			return counts, err
		}
		c.counts = &counts
	}
	return *c.counts, nil
}

// callOf returns the call that ServePage passed on as the writer, with the request of the route.
func callOf(w http.ResponseWriter, r *http.Request) *call {
	c := w.(*call)
	c.Request = r
	return c
}

// Unwrap allows http.ResponseController to reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Header returns that of the response; the request has one too.
func (c *call) Header() http.Header { return c.ResponseWriter.Header() }

// Write writes the body of the response.
func (c *call) Write(b []byte) (int, error) { return c.ResponseWriter.Write(b) }

// readForm reads the form of a request, and refuses one that was opened by another user.
func (c *call) readForm(limit int64) error {
	bodies := requestbody.Reader{Budget: c.console.Requests}
	err := bodies.Bound(c.ResponseWriter, c.Request, c.principal, c.origin.Source(), limit)
	if err == nil {
		err = cmp.Or(c.ParseForm(), c.ParseMultipartForm(limit)) // files stay in memory
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return requestbody.Fault(c.ResponseWriter, err, "form", limit)
	}
	c.Body = http.NoBody // see requestbody.GiveUp
	return cmp.Or(forms.ReadFiles(c.Request), c.checkOpener())
}

// redirect leads to a page after a change, so that reloading it does not repeat the change. notice is a key of notices,
// or empty.
func (c *call) redirect(path, notice string) error {
	if notice != "" {
		path += separator(path) + url.Values{"notice": {notice}}.Encode()
	}
	c.Header().Set("Location", path)
	c.begin(http.StatusSeeOther)
	return nil
}

// done ends a change that came to err: it redirects, or returns err.
func (c *call) done(err error, path, notice string) error {
	if err != nil {
		return err
	}
	return c.redirect(path, notice)
}

// deletes is the handler of an action that deletes what its path names.
func deletes(remove func(context.Context, auth.Principal, audit.Origin, string) error, path, notice string) func(*call) error {
	return func(c *call) error {
		return c.done(remove(c.Context(), c.principal, c.origin, c.PathValue("uid")), path, notice)
	}
}

func separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// show sends a page: the template of that name with data.
func (c *call) show(name, title string, data any) error {
	return c.showStatus(http.StatusOK, name, title, data)
}

// showRead is show for data that was read with err.
func (c *call) showRead(err error, name, title string, data any) error {
	if err != nil {
		return err
	}
	return c.show(name, title, data)
}

// showAgain sends a page whose form was refused for err, which the form contains. An error of the service gets the page of errors,
// which has its reference.
func (c *call) showAgain(err error, name, title string, data any) error {
	if fault.KindOf(err) == fault.Internal {
		return err
	}
	c.err = err
	return c.showStatus(c.failed(err).Status(), name, title, data)
}

// failed returns the fault of an error, and sets the headers that belong to it.
func (c *call) failed(err error) *fault.Error {
	f := fault.Visible(err)
	if f.RetryAfter > 0 {
		c.Header().Set("Retry-After", f.RetryAfterSeconds())
	}
	return f
}

func (c *call) showStatus(status int, name, title string, data any) error {
	var page bytes.Buffer // so that a template that fails still becomes an error
	if err := c.console.views.Execute(&page, name, c.layoutOf(status, title, data)); err != nil {
		return fmt.Errorf("show a page: %w", err)
	}
	if n := int64(page.Len()); n > smallPage && c.console.Reserve != nil {
		holder := c.principal
		if holder.UserUID == "" { // callers without a session share a part of the budget
			holder.OrgUID, holder.UserUID = "anonymous", "anonymous"
		}
		free, err := c.console.Reserve(holder, n)
		if err != nil {
			return err
		}
		defer free()
	}
	c.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := views.CompressPage(c.Header(), c.Request, page.Bytes())
	c.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.begin(status)
	_, err := c.Write(body)
	if err != nil && c.Context().Err() != nil { // the browser went away
		return nil
	}
	return err
}

type errorPage struct {
	Title, Message, Ref string
	Fields              []fault.Field
}

// showError sends the page of an error.
func (c *call) showError(err error) {
	f := c.failed(err)
	data := errorPage{words.Title(f.Kind), words.Message(f), c.origin.RequestID, f.Fields}
	if err := c.showStatus(f.Status(), "error.html", data.Title, data); err != nil {
		c.err = errors.Join(c.err, err)
	}
}

// begin sends the status.
func (c *call) begin(status int) {
	requestbody.GiveUp(c.ResponseWriter, c.Request)
	c.begun = true
	c.WriteHeader(status)
}
