package chartrepo

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// smallArchive is the size in bytes up to which an archive is downloaded whole. Of a larger one this much is read.
const smallArchive = 1 << 20

// shownVersions is how many versions are named if none is in a range.
const shownVersions = 3

// Chart is the outcome of the chart at a place of Repository.Charts: the index has it, and its archive can be read. field is the one
// that names the chart.
func (c *Check) Chart(ctx context.Context, place int, field string) codes.Outcome {
	want, match := c.Charts[place], c.own.index.Found[place]
	if match.Version != nil {
		return c.archive(ctx, *match.Version, field)
	}
	shown := wire.CleanText(want.String())
	if unread := c.own.index.Unread; unread != "" {
		return codes.Unknown("%s is not in the part of index.yaml that was examined: %s", shown, c.Wire.Text(unread))
	}
	if !match.Chart {
		f := codes.Fail(codes.CodeContentNotFound, codes.ReasonChartUnknown, "index.yaml has %s, and not %s.",
			wire.Counted(c.own.index.Charts, "chart", "charts"), wire.CleanText(want.Name)).At(field)
		return codes.Failed(c.hintSimilar(f, spelling.Prefixes(want.Name, c.own.index.Names), ""))
	}
	seen := "index.yaml has %s of %s, and not %s."
	if chartindex.IsRange(want.Version) {
		seen = "index.yaml has %s of %s, and none in the range %s."
	}
	f := codes.Fail(codes.CodeContentNotFound, codes.ReasonVersionUnknown, seen,
		wire.Counted(len(match.Versions), "version", "versions"), wire.CleanText(want.Name), wire.CleanText(want.Version)).At(field)
	switch {
	case chartindex.IsRange(want.Version):
		return codes.Failed(c.hintSimilar(f, match.Versions[:min(len(match.Versions), shownVersions)], want.Name+":"))
	case !chartindex.IsExact(want.Version):
		return codes.Failed(f.Hinting("Name one version, such as 1.2.3, or a range, such as ^1.2."))
	}
	return codes.Failed(c.hintSimilar(f, spelling.Prefixes(want.Version, match.Versions), want.Name+":"))
}

func (c *Check) hintSimilar(f *codes.Failure, names []string, prefix string) *codes.Failure {
	for i := range names {
		names[i] = c.Wire.Name(prefix + names[i])
	}
	if len(names) == 0 {
		return f
	}
	return f.Hinting("Correct {baseContentPath}; similar names: %s.", strings.Join(names, ", "))
}

// AnyChart is the outcome of a repository of which no chart is named: the archive of one of the charts that changed last can be read.
func (c *Check) AnyChart(ctx context.Context) codes.Outcome {
	var first codes.Outcome
	for i, v := range c.own.index.Newest {
		out := c.archive(ctx, v, "")
		if i == 0 {
			first = out
		}
		if out.Failure == nil {
			if i > 0 {
				c.Warn(codes.WarnChartNotReadable, "", "%s", first.Failure.Seen)
			}
			return out
		}
	}
	if len(c.own.index.Newest) == 0 {
		return codes.Unknown("index.yaml has no chart that could be read")
	}
	return first
}

// archive requests the archive of a version of a chart.
func (c *Check) archive(ctx context.Context, v chartindex.Version, field string) codes.Outcome {
	shown := c.Wire.Name(v.String())
	u, err := c.resolve(v.URL)
	switch {
	case v.URL == "":
		return codes.Failed(codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveMissing, "%s has no URL in index.yaml.", shown))
	case err != nil:
		return codes.Failed(codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveMissing, "%s has a URL that cannot be read.", shown))
	case u.Scheme == "oci":
		return codes.Unknown("%s is in an OCI registry, %s, which is checked with a definition of its own", shown, wire.ShowURL(u))
	case u.Scheme != "http" && u.Scheme != "https":
		return codes.Unknown("%s has a URL that needs a plugin of Helm: %s", shown, wire.ShowURL(u))
	case u.User != nil:
		return codes.Unknown("%s has credentials in its URL, which are not used: %s", shown, wire.ShowURL(u))
	}
	d := download{c, shown, u, c.sendsTo(v.URL), field, sha256.New(), nil, 0}
	return d.run(ctx, v)
}

// download is the download of an archive.
type download struct {
	*Check
	shown string
	url   *url.URL
	login bool // whether the credentials are sent
	field string
	hash  hash.Hash
	head  []byte
	size  int64
}

// errEnough ends the download of a large archive.
var errEnough = errors.New("no more of the archive is needed")

func (d *download) Write(p []byte) (int, error) {
	d.head = append(d.head, p[:min(len(p), max(0, 4<<10-len(d.head)))]...)
	d.size += int64(len(p))
	d.hash.Write(p)
	if d.Full == 0 && d.size > smallArchive {
		return 0, errEnough
	}
	return len(p), nil
}

func (d *download) run(ctx context.Context, v chartindex.Version) codes.Outcome {
	a, err := d.request(ctx)
	if err != nil {
		f := d.NoResponse("GET "+wire.ShowURL(d.url), d.url, err)
		unreachable := codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveUnreachable, "%s: %s", d.shown, f.Seen).Retry(f.Retryable)
		switch f.Entry.Code {
		case codes.CodeTLSFailed:
			unreachable.Hint = f.Hint
		case codes.CodeAddressForbidden:
			unreachable.Hint = "If the address is right, ask the operator of {program} to allow it in the egress policy; otherwise " +
				"contact the repository operator: index.yaml names a wrong address."
		default: // the hint of the reason
		}
		return codes.Failed(unreachable)
	}
	if f := d.refused(a); f != nil {
		return codes.Failed(f)
	}
	if !isGzip(d.head) {
		a.Body = d.head
		return codes.Failed(codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveInvalid, "%s: GET %s returned %s, which is not gzip.",
			d.shown, a.ShowURL(), a.Summary()))
	}
	if isGzip(inside(d.head)) {
		return codes.Failed(codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveInvalid,
			"%s: GET %s returned a body that is encoded once more.", d.shown, a.ShowURL()))
	}
	return d.digest(a, v)
}

func isGzip(content []byte) bool { return bytes.HasPrefix(content, []byte{0x1f, 0x8b}) }

// inside returns the first bytes of what a gzip file has.
func inside(head []byte) []byte {
	first := make([]byte, 2)
	if unpacked, err := gzip.NewReader(bytes.NewReader(head)); err == nil {
		_, _ = io.ReadFull(unpacked, first)
	}
	return first
}

// request sends the credentials only where Helm does. Servers may take .tgz for an encoding (AddEncoding of Apache), and send the
// archive as it is with Content-Encoding. Helm stores the bytes as they come.
func (d *download) request(ctx context.Context) (*wire.Response, error) {
	origin, err := egress.ReadOrigin(d.url)
	if err == nil {
		_, err = d.Wire.Hop(ctx, d.origin(), origin)
	}
	if err != nil {
		return nil, err
	}
	what := wire.Request{URL: d.url, Accept: "application/gzip, application/octet-stream, */*",
		Download: &wire.Download{To: d, Size: max(d.Full, 2*smallArchive), Raw: true}}
	if d.login {
		what.Authorization = d.header
	}
	return d.Wire.Fetch(ctx, what, true)
}

// refused is the failure of a response without an archive.
func (d *download) refused(a *wire.Response) *codes.Failure {
	seen := "%s: GET %s returned %s."
	args := []any{d.shown, a.ShowURL(), a.Summary()}
	switch {
	case a.Status == http.StatusOK && a.Cut != nil && !errors.Is(a.Cut, errEnough):
		return codes.Fail(codes.CodeUnavailable, "", "%s: GET %s returned 200, and the response ended early or was too slow.", d.shown,
			a.ShowURL())
	case a.Status == http.StatusOK:
		return nil
	case a.Denied() && d.isRedirected(a):
		return codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveUnreachable, "%s: GET %s is redirected to %s, which returned %s.",
			d.shown, wire.ShowURL(d.url), a.ShowURL(), a.Summary()).
			Hinting("Contact the repository operator: archives must be readable without credentials where they are redirected to.")
	case a.Denied() && !d.login:
		return codes.Fail(codes.CodeAccessDenied, codes.ReasonOtherHost, seen, args...)
	case a.Denied() && d.header == "":
		return codes.Fail(codes.CodeAuthRequired, "", seen, args...)
	case a.Denied():
		return codes.Fail(codes.CodeAccessDenied, "", "The credentials open index.yaml, but "+seen, args...).At(d.field).
			Hinting("Grant the user permission to read the archives of the repository.")
	case a.Unavailable():
		return d.Unavailable(d.shown+": GET "+a.ShowURL(), a)
	}
	return codes.Fail(codes.CodeContentDamaged, codes.ReasonArchiveMissing, seen, args...)
}

// isRedirected reports whether a response is of another origin than the one that the index names: a redirect leads there.
func (d *download) isRedirected(a *wire.Response) bool {
	named, err := egress.ReadOrigin(d.url)
	return err == nil && a.From != named
}

// digest compares the digest of an archive that was downloaded whole. Helm does not: a difference is a warning.
func (d *download) digest(a *wire.Response, v chartindex.Version) codes.Outcome {
	want := strings.TrimPrefix(strings.ToLower(v.Digest), "sha256:")
	switch {
	case a.Cut != nil || a.Over:
		return codes.Passed("%s can be downloaded", d.shown)
	case len(want) != hex.EncodedLen(sha256.Size):
		return codes.Passed("%s was downloaded, %d bytes; index.yaml has no digest of it", d.shown, d.size)
	case hex.EncodeToString(d.hash.Sum(nil)) != want:
		d.Warn(codes.WarnChartDigestMismatch, "", "%s: %s.", d.shown, a.ShowURL())
		return codes.Passed("%s was downloaded, %d bytes; its digest differs from that of index.yaml", d.shown, d.size)
	}
	return codes.Passed("%s was downloaded, %d bytes, with the digest of index.yaml", d.shown, d.size)
}
