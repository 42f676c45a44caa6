package artifact

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	// maxAsked is how many blobs of an artifact are asked for.
	maxAsked = 16
	// maxWhole is the size of blobs whose content is read and compared with its digest. Most configs are smaller.
	maxWhole = 64 << 10
	// MaxConnections limits the connections to a registry without HTTP/2.
	MaxConnections = 4
)

// sampleOf returns the blobs to ask for: all, or the first two (config and first layer) and others at equal distances.
func sampleOf(blobs []oci.Descriptor) []oci.Descriptor {
	if len(blobs) <= maxAsked {
		return blobs
	}
	sample := blobs[:2:2]
	for i := range maxAsked - 2 {
		sample = append(sample, blobs[2+i*(len(blobs)-3)/(maxAsked-3)])
	}
	return sample
}

// askAll asks for blobs concurrently: for the first, if it is small, by GET, so that its digest is compared, for others by HEAD. It
// returns the faults in the order of the blobs.
func (x *Examiner) askAll(ctx context.Context, blobs []oci.Descriptor) []Fault {
	connections := cmp.Or(x.Connections, MaxConnections)
	if x.multiplexed {
		connections = maxAsked
	}
	return x.each(ctx, blobs, connections, func(ctx context.Context, i int) *Fault { return x.ask(ctx, blobs[i], i == 0) })
}

// each calls do for every blob, concurrently.
func (x *Examiner) each(ctx context.Context, blobs []oci.Descriptor, limit int, do func(context.Context, int) *Fault) (faults []Fault) {
	x.header, _ = x.Authorize(ctx, x.Way)
	workers := min(len(blobs), limit)
	found := make([]*Fault, len(blobs))
	var work []func(context.Context)
	for w := range workers {
		work = append(work, func(ctx context.Context) {
			for i := w; i < len(blobs); i += workers {
				found[i] = do(ctx, i)
			}
		})
	}
	wire.Concurrently(ctx, work...)
	for _, f := range found {
		if f != nil {
			faults = append(faults, *f)
		}
	}
	return faults
}

// ask asks for one blob. A GET of the first byte decides if a HEAD has no success: registries and object stores whose URL is
// signed for GET refuse it, and caches return 404.
func (x *Examiner) ask(ctx context.Context, d oci.Descriptor, first bool) *Fault {
	if f := x.invalid(d); f != nil {
		return f
	}
	what := x.request(d)
	if first && d.Size >= 0 && d.Size <= maxWhole {
		what.Keep = maxWhole + 1
		return x.evaluate(ctx, d, what)
	}
	what.Head = true
	f := x.evaluate(ctx, d, what)
	if f == nil || f.err != nil || f.status == http.StatusTooManyRequests {
		return f
	}
	what.Head, what.FirstByte = false, true
	return x.evaluate(ctx, d, what)
}

// invalid is the fault of a digest that must not be sent.
func (x *Examiner) invalid(d oci.Descriptor) *Fault {
	if oci.IsDigest(d.Digest) {
		return nil
	}
	text := "its manifest has a blob whose digest is not valid: " + strconv.Quote(x.Wire.Text(d.Digest))
	return &Fault{Damage: codes.ReasonDigestMismatch, Text: text}
}

// shown returns a digest as it may be shown. A hash has short credentials only by coincidence; another digest may be any text.
func (x *Examiner) shown(digest string) string {
	if _, hash := oci.HashFor(digest); hash && oci.IsDigest(digest) {
		return x.Wire.Name(digest)
	}
	return x.Wire.Text(digest)
}

func (x *Examiner) request(d oci.Descriptor) wire.Request {
	return wire.Request{URL: x.Base.URL(x.Repository + "/blobs/" + d.Digest)}
}

// authorized sends a request for a blob, once more with another token if the first one has expired. expired means that no other token was
// issued.
func (x *Examiner) authorized(ctx context.Context, what wire.Request) (a *wire.Response, expired bool, err error) {
	x.mu.Lock()
	what.Authorization = x.header
	x.mu.Unlock()
	a, err = x.Wire.Fetch(ctx, what, true)
	header, expired := x.Renew(ctx, x.Way, what.Authorization, a)
	if header == "" {
		return a, expired, err
	}
	x.mu.Lock()
	x.header, what.Authorization = header, header
	x.mu.Unlock()
	a, err = x.Wire.Fetch(ctx, what, true)
	return a, false, err
}

// evaluate sends one request for a blob and evaluates its response.
func (x *Examiner) evaluate(ctx context.Context, d oci.Descriptor, what wire.Request) *Fault {
	a, f := x.send(ctx, d, what)
	if a != nil && (a.Status == http.StatusOK || a.Status == http.StatusPartialContent) {
		return compare(d, what.Keep > 0, a, f)
	}
	return f
}

// send sends one request for a blob. The fault is that of a response without the blob; it is not nil for one with it, and then has
// the beginning of a text. The response is nil if there is none.
func (x *Examiner) send(ctx context.Context, d oci.Descriptor, what wire.Request) (*wire.Response, *Fault) {
	a, expired, err := x.authorized(ctx, what)
	f := &Fault{err: err}
	name := "blob " + x.shown(d.Digest) + " "
	if err != nil {
		x.explain(f, name, err)
		if ctx.Err() != nil {
			f.Damage = ""
		}
		return nil, f
	}
	f.status = a.Status
	switch f.Text = name + came(a); {
	case a.Status == http.StatusOK || a.Status == http.StatusPartialContent:
	case a.Status == http.StatusRequestedRangeNotSatisfiable && d.Size == 0:
		return a, nil
	case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
		f.Damage = codes.ReasonBlobMissing
	case a.Unavailable() || expired:
		f.Retryable = true
	default:
		f.Damage, f.Hint = codes.ReasonBlobUnreachable, product.AWSAction(a)
	}
	return a, f
}

// explain adds why there was no response: of the registry, or of the host to which it redirects.
func (x *Examiner) explain(f *Fault, name string, err error) {
	cause := x.Explain(err)
	why := strings.TrimSuffix(cause.Text, ".")
	f.Text, f.Retryable = name+"cannot be downloaded: "+why, cause.Retryable
	r, ok := errors.AsType[*wire.RedirectError](err)
	if !ok || r.Kind == wire.RedirectInsecure {
		return
	}
	f.Damage, f.Hint = codes.ReasonBlobUnreachable, cause.Hint
	why = strings.TrimPrefix(why, x.Wire.Text(wire.ShowURL(r.From))+" redirects to "+x.Wire.Text(wire.ShowURL(r.To)))
	why = strings.TrimPrefix(why, "A redirect of "+x.Wire.Text(wire.ShowURL(r.From)))
	switch {
	case r.Kind == wire.RedirectLoop:
		f.Text = name + "is redirected in a loop, or more than " + wire.Counted(x.Wire.Limits.Redirects, "time", "times")
	case r.To.Host != "":
		f.Text = name + "is redirected to " + x.Wire.Text(r.To.Scheme+"://"+r.To.Host) + why
	}
}

// came returns where a response came from, and the response.
func came(a *wire.Response) string {
	returned := "returned " + strconv.Itoa(a.Status)
	if a.Status >= 400 {
		returned = "returned " + a.Summary()
	}
	if a.Hops > 0 {
		return "is redirected to " + a.Text(a.From.String()) + ", which " + returned
	}
	return returned
}

// compare compares a blob with its descriptor: the digest if the whole blob was read, and the size if the response has it.
func compare(d oci.Descriptor, whole bool, a *wire.Response, f *Fault) *Fault {
	size := sizeOf(a)
	if whole = whole && !a.Packed; whole && !a.Over {
		size = int64(len(a.Body))
	}
	switch {
	case whole && a.Cut != nil:
		f.Text, f.Retryable = f.Text+", and the response ended early or was too slow", true
	case size >= 0 && size != d.Size:
		f.Damage, f.Text = codes.ReasonSizeMismatch, f.Text+" with "+bytesOf(size)+" instead of "+bytesOf(d.Size)
	case whole && !oci.Matches(d.Digest, a.Body):
		f.Damage, f.Text = codes.ReasonDigestMismatch, f.Text+" with content that does not have this digest"
	default:
		return nil
	}
	return f
}

func bytesOf(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

// sizeOf returns the size of a blob according to the headers, -1 if they do not have it.
func sizeOf(a *wire.Response) int64 {
	text := a.Header.Get("Content-Length")
	if a.Status == http.StatusPartialContent {
		_, text, _ = strings.Cut(a.Header.Get("Content-Range"), "/")
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || a.Packed {
		return -1
	}
	return size
}
