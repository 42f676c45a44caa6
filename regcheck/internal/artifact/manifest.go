// Package artifact examines one artifact: it reads its manifest and checks that the registry has its config and layers.
package artifact

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Examiner examines the artifacts of a repository.
type Examiner struct {
	*content.Client
	Way        content.Way
	Repository string
	Platform   string    // os/architecture[/variant]; empty: linux/amd64 if an index has it
	Download   *Download // nil: blobs are only asked for
	Explain    func(error) Cause
	// Connections limits the connections for blobs to a registry without HTTP/2; 0: MaxConnections.
	Connections int

	multiplexed bool // the registry uses HTTP/2
	mu          sync.Mutex
	header      string // Authorization of requests for blobs
}

// Cause is why a request had no response.
type Cause struct {
	Text      string       // one or more sentences
	Hint      message.Text // empty: that of the damage
	Retryable bool
}

// Artifact is what a manifest says.
type Artifact struct {
	Digest   string // of the manifest or index that the reference names
	Kind     oci.Kind
	Blobs    []oci.Descriptor // the config, if there is one, and the layers
	Platform string           // of the manifest that was chosen from an index
	Child    string           // its digest
}

// Fault is a part of an artifact that is damaged, or that could not be read.
type Fault struct {
	Damage    codes.Reason // of CodeContentDamaged; empty: not known to be damaged
	Text      string
	Hint      message.Text // empty: that of the damage
	Retryable bool
	Platform  bool            // an index does not have the requested platform
	Reading   content.Reading // of a manifest that could not be read

	err    error // of a blob: why there was no response
	status int   // of a blob
}

// head requests the digest that a reference names. It is empty if the registry does not return it.
func (x *Examiner) head(ctx context.Context, reference string) (digest string, h http.Header) {
	r := x.ReadManifest(ctx, x.Way, x.Repository, reference, true)
	if r.Response == nil || r.Response.Status != http.StatusOK {
		return "", nil
	}
	x.Way, x.multiplexed = r.Way, r.Response.Conn.H2()
	return r.Response.Header.Get(oci.DigestHeader), r.Response.Header
}

// read reads the manifest of a reference and, of an index, that of the platform: each is a pull at Docker Hub. The header is
// that of the last response.
func (x *Examiner) read(ctx context.Context, reference string) (found Artifact, h http.Header, f *Fault) {
	m, a, f := x.manifest(ctx, reference)
	if f != nil {
		return found, headerOf(f.Reading.Response), f
	}
	found.Digest = cmp.Or(a.Header.Get(oci.DigestHeader), oci.Digest(a.Body))
	if len(m.Manifests) > 0 {
		chosen, problem := choose(m.Manifests, x.Platform, x.Wire.Text)
		if problem != "" {
			return found, a.Header, &Fault{Text: problem, Platform: true}
		}
		found.Platform, found.Child = x.Wire.Text(chosen.Platform.String()), chosen.Digest
		if m, a, f = x.manifest(ctx, chosen.Digest); f != nil {
			return found, headerOf(f.Reading.Response), x.missingChild(f, chosen)
		}
	}
	found.Kind, found.Blobs = m.Kind(), m.Blobs()
	return found, a.Header, nil
}

func headerOf(a *wire.Response) http.Header {
	if a == nil {
		return nil
	}
	return a.Header
}

// missingChild is the damage of an index that names a manifest that the registry does not have.
func (x *Examiner) missingChild(f *Fault, chosen oci.Descriptor) *Fault {
	if a := f.Reading.Response; a != nil && a.Status == http.StatusNotFound {
		f.Damage = codes.ReasonBlobMissing
	}
	f.Text = "its manifest for " + x.Wire.Text(cmp.Or(chosen.Platform.String(), "its first platform")) + ": " + f.Text
	return f
}

// manifest requests one manifest and compares its digest.
func (x *Examiner) manifest(ctx context.Context, reference string) (m oci.Manifest, a *wire.Response, f *Fault) {
	if !oci.IsReference(reference) {
		return m, nil, &Fault{Text: "its name is not valid"}
	}
	r := x.ReadManifest(ctx, x.Way, x.Repository, reference, false)
	x.Way = r.Way
	if f := x.unread(r); f != nil {
		return m, nil, f
	}
	a = r.Response
	x.multiplexed = a.Conn.H2()
	m, err := oci.ReadManifest(a.Body)
	if a.Over || a.Packed || a.Cut != nil || err != nil {
		text := "GET " + a.ShowURL() + " returned 200 with a body that is not a manifest, too long or cut off"
		return m, nil, &Fault{Text: text, Reading: r}
	}
	want := a.Header.Get(oci.DigestHeader)
	if strings.Contains(reference, ":") {
		want = reference
	}
	if oci.IsDigest(want) && !oci.Matches(want, a.Body) {
		text := "the content of its manifest does not have the digest " + a.Text(want)
		return m, nil, &Fault{Damage: codes.ReasonDigestMismatch, Text: text, Reading: r}
	}
	return m, a, nil
}

// unread is the fault of a reading that has no manifest.
func (x *Examiner) unread(r content.Reading) *Fault {
	f := &Fault{Text: r.Why(), Reading: r}
	switch {
	case r.Err != nil:
		f.Text = strings.TrimSuffix(x.Explain(r.Err).Text, ".")
	case r.Grant.Err != nil:
		f.Text = "the token service issued no token"
	case r.Response == nil:
	case r.Response.Status == http.StatusOK:
		return nil
	default:
		f.Retryable = r.Response.Unavailable()
	}
	return f
}
