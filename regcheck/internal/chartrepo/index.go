package chartrepo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/probe"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// fetched is an index, or why there is none.
type fetched struct {
	response *wire.Response
	err      error // without a response
	index    *chartindex.Index
	problem  *chartindex.Error
}

func (f fetched) denied() bool {
	return f.response != nil && f.response.Denied()
}

// errRead ends the download of an index that was read.
var errRead = errors.New("no more of the index is needed")

// beginning keeps the first bytes of a body, for messages.
type beginning struct {
	io.Writer
	head []byte
}

func (b *beginning) Write(p []byte) (int, error) {
	b.head = append(b.head, p[:min(len(p), max(0, 4<<10-len(b.head)))]...)
	return b.Writer.Write(p)
}

// fetch requests the index and reads it while it comes. Redirects to other hosts are followed, as Helm does, without credentials.
func (r *Repository) fetch(ctx context.Context, authorization string) (f fetched) {
	from, to := io.Pipe()
	type result struct {
		index *chartindex.Index
		err   error
	}
	read := wire.Later(&r.Wire.Work, func() result {
		defer func() { _ = from.CloseWithError(errRead) }()
		index, err := chartindex.Read(from, r.Charts, r.List)
		return result{index, err}
	})
	first := &beginning{Writer: to}
	f.response, f.err = r.Wire.Fetch(ctx, wire.Request{URL: r.indexURL(), Authorization: authorization, Accept: "*/*",
		Download: &wire.Download{To: first, Size: chartindex.MaxSize}}, true)
	var cut error
	if f.response != nil {
		cut = f.response.Cut
	}
	_ = to.CloseWithError(cut) // nil is the end of the index
	got := <-read
	if f.err != nil || f.response.Status != http.StatusOK {
		return f
	}
	f.response.Body, f.index = bytes.Clone(first.head), got.index
	if problem, ok := errors.AsType[*chartindex.Error](got.err); ok {
		f.problem = problem
	}
	if f.index != nil || f.problem != nil {
		f.response.Cut = nil // the rest was not needed
	}
	return f
}

// Index is the api stage: there is an index, or a server that requires other credentials for it.
func (c *Check) Index(ctx context.Context) codes.Outcome {
	a := c.own.response
	if f := c.notIndex(ctx, c.own); f != nil {
		return codes.Failed(f)
	}
	if c.own.index == nil {
		return codes.Passed("GET %s: %d", a.ShowURL(), a.Status)
	}
	c.noteRedirect(a)
	i := c.own.index
	size := wire.Counted(i.Charts, "chart", "charts") + ", " + wire.Counted(i.Versions, "version", "versions")
	if i.Charts == 0 {
		c.Warn(codes.WarnEmptyContent, "", "%s has no charts.", a.ShowURL())
	}
	if i.Unread != "" {
		return codes.Unknown("GET %s: %s; the rest was not examined: %s", a.ShowURL(), size, c.Wire.Text(i.Unread))
	}
	return codes.Passed("GET %s: %s", a.ShowURL(), size)
}

// noteRedirect warns of a repository that has moved. A redirect to a storage is none.
func (c *Check) noteRedirect(a *wire.Response) {
	if a.From != c.origin() && a.URL.RawQuery == "" && strings.HasSuffix(a.URL.Path, "/index.yaml") {
		c.Warn(codes.WarnRedirected, "endpoint", "%s leads to %s.", wire.ShowURL(c.indexURL()), a.ShowURL())
	}
}

// notIndex is the failure of a response without an index. Denied access is for the auth stage.
func (c *Check) notIndex(ctx context.Context, f fetched) *codes.Failure {
	a := f.response
	what := "GET " + a.ShowURL()
	not := func(reason codes.Reason, seen string, args ...any) *codes.Failure {
		return codes.Fail(codes.CodeNotChartRepository, reason, seen, args...)
	}
	if failure := c.TLS(a); failure != nil {
		return failure
	}
	switch {
	case a.Unavailable():
		return c.Unavailable(what, a)
	case c.Base.Scheme == "http" && wire.WantsHTTPS(a):
		return not(codes.ReasonHTTPSRequired, "%s returned %s.", what, a.Summary()).
			Hinting("Set {endpoint} to %s.", strings.TrimSuffix("https://"+c.Base.HostPort()+"/"+c.Base.Path, "/"))
	case f.denied() && a.From != c.origin() && c.header != "":
		return c.redirected(a)
	case f.denied():
		return nil
	case a.Status/100 == 3:
		return codes.Fail(codes.CodeRedirected, "", "%s returned %d without a target.", what, a.Status).
			Hinting("Correct the redirect on the server, or set {endpoint} to the address that serves index.yaml.")
	case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
		f := not(codes.ReasonNotFound, "%s returned %s.", what, a.Summary())
		f.Hint = cmp.Or(notFoundHint(c.Base.Path, a), f.Hint)
		return c.orRegistry(ctx, f)
	case a.Status != http.StatusOK:
		return not("", "%s returned %s; Helm requires 200.", what, a.Summary())
	case a.Packed:
		return not("", "%s returned 200 with a compressed body that was not requested.", what)
	case a.Over:
		return not(codes.ReasonIndexTooLarge, "%s has more than %d MiB.", a.ShowURL(), chartindex.MaxSize>>20)
	case f.problem != nil && f.problem.Page:
		return c.orRegistry(ctx, not(codes.ReasonHTML, "%s returned %s.", what, a.Summary()))
	case f.problem != nil:
		return not(codes.ReasonIndexInvalid, "%s: %s.", a.ShowURL(), c.Wire.Text(f.problem.Problem))
	case f.index == nil:
		return codes.Fail(codes.CodeUnavailable, "", "%s returned 200, and the response ended early or was too slow.", what)
	}
	return nil
}

// orRegistry completes the failure of a server without an index: it may be an OCI registry.
func (c *Check) orRegistry(ctx context.Context, f *codes.Failure) *codes.Failure {
	if !probe.IsRegistry(ctx, c.Wire, c.Base) {
		return f
	}
	path, chartMuseum := product.WithoutChartRepo(c.Base.Path)
	f = codes.Fail(codes.CodeNotChartRepository, codes.ReasonOCIRegistry, "%s An OCI registry responds at /v2/ of this server.", f.Seen)
	if path == "" {
		return f
	}
	f.Hinting("Remove {kind}, and set {endpoint} to oci://%s and {baseContentPath} to %s: charts in an OCI registry are used with oci://.",
		c.Base.HostPort(), wire.CleanText(path))
	if chartMuseum {
		f.Hint += " Push the charts there: Harbor 2.8 removed ChartMuseum and its path chartrepo/."
	}
	return f
}
