package artifact

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/layout"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Result is the outcome of an examination.
type Result struct {
	Kind     oci.Kind
	Platform string // of the manifest that was chosen from an index
	Manifest *Fault // why no manifest was read
	Faults   []Fault
	Asked    int   // blobs that were asked for or downloaded; 0 if that was done within the last day
	Hashed   int   // blobs that were downloaded
	Size     int64 // of those
	Blobs    int   // of the manifest; MaxDescriptors or more are not counted
	Known    Known
	Headers  []http.Header // of responses for manifests
}

// Examine reads the manifest that a reference names, unless its digest is known, and asks for its blobs, and for the manifest that was
// chosen from an index, unless that was done within the last day. place spreads that over the day.
func (x *Examiner) Examine(ctx context.Context, reference string, known []Known, now time.Time, place string) (r Result) {
	k, unchanged := x.unchanged(ctx, reference, known, &r)
	if unchanged && k.due(now, place) {
		unchanged = x.hasChild(ctx, k, &r)
	}
	var all []oci.Descriptor
	if !unchanged {
		found, h, f := x.read(ctx, reference)
		r.Headers = append(r.Headers, h)
		if r.Manifest = f; f != nil {
			return r
		}
		k = Known{ID: idOf(found.Digest), Kind: found.Kind, Blobs: sampleOf(found.Blobs), Child: &found.Child}
		if i := indexOf(known, k.ID); i >= 0 {
			k.At = known[i].At
		}
		all, r.Platform, r.Blobs = found.Blobs, found.Platform, len(found.Blobs)
	}
	r.Kind = k.Kind
	switch {
	case x.Download != nil:
		r.Faults, r.Hashed, r.Size = x.download(ctx, all)
		r.Asked = r.Blobs
	case k.due(now, place):
		r.Asked, r.Faults, k.At = len(k.Blobs), x.askAll(ctx, k.Blobs), 0
		r.Blobs = max(r.Blobs, r.Asked)
		if len(r.Faults) == 0 {
			k.At = now.Unix()
		}
	}
	if !slices.ContainsFunc(k.Blobs, x.repeatsSecret) && (k.Child == nil || !x.repeatsSecret(oci.Descriptor{Digest: *k.Child})) {
		r.Known = k
	}
	return r
}

// repeatsSecret reports whether a digest has credentials, which must not be recorded.
func (x *Examiner) repeatsSecret(d oci.Descriptor) bool {
	return x.shown(d.Digest) != wire.CleanText(d.Digest)
}

func indexOf(known []Known, id string) int {
	return slices.IndexFunc(known, func(k Known) bool { return k.ID == id })
}

// unchanged returns what is known of the artifact if the reference has a known digest. A registry that returns no digest
// for HEAD has its manifest read each time.
func (x *Examiner) unchanged(ctx context.Context, reference string, known []Known, r *Result) (k Known, ok bool) {
	if len(known) == 0 || x.Download != nil || !oci.IsReference(reference) {
		return k, false
	}
	digest, h := x.head(ctx, reference)
	r.Headers = append(r.Headers, h)
	if strings.Contains(reference, ":") && h != nil {
		digest = reference
	}
	i := indexOf(known, idOf(digest))
	if digest == "" || i < 0 {
		return k, false
	}
	return known[i], true
}

// hasChild reports whether the registry still has the manifest that was chosen from an index: those who delete manifests without tags may
// leave its blobs and the index. If that is not certain, all is read again.
func (x *Examiner) hasChild(ctx context.Context, k Known, r *Result) bool {
	if k.Child == nil || *k.Child == "" {
		return k.Child != nil
	}
	_, h := x.head(ctx, *k.Child)
	r.Headers = append(r.Headers, h)
	return h != nil
}

// Words returns what was found: the kind, and whether its blobs are there.
func (r Result) Words() string {
	text := string(r.Kind)
	if r.Platform != "" {
		text += " (" + r.Platform + ")"
	}
	downloaded := " (" + layout.Bytes(r.Size) + " downloaded)"
	switch {
	case r.Asked == 0 || len(r.Faults) > 0:
	case r.Hashed == r.Blobs && r.Hashed > 0:
		text += ", and its " + wire.Counted(r.Blobs, "blob has its digest", "blobs have their digests") + downloaded
	case r.Hashed > 0:
		text += ", and " + strconv.Itoa(r.Hashed) + " of its " + r.count() + " blobs have their digests" + downloaded +
			"; the others exceed the limit of a download, and are there"
	case r.Asked < r.Blobs:
		text += ", and " + strconv.Itoa(r.Asked) + " of its " + r.count() + " blobs that were asked for are there"
	default:
		text += ", and its " + wire.Counted(r.Blobs, "blob is", "blobs are") + " there"
	}
	return text
}

func (r Result) count() string {
	if r.Blobs >= oci.MaxDescriptors {
		return strconv.Itoa(oci.MaxDescriptors) + " or more"
	}
	return strconv.Itoa(r.Blobs)
}

// Whole reports whether all that was to be examined was: a blob that exceeds the limit of a download is not.
func (r Result) Whole() bool {
	return r.Hashed == 0 || r.Hashed == r.Blobs && r.Blobs < oci.MaxDescriptors
}

// Worst returns the fault that shows most: damage first. It is nil if there is none.
func (r Result) Worst() *Fault {
	if r.Manifest != nil {
		return r.Manifest
	}
	if i := slices.IndexFunc(r.Faults, func(f Fault) bool { return f.Damage != "" }); i >= 0 {
		return &r.Faults[i]
	}
	if len(r.Faults) > 0 {
		return &r.Faults[0]
	}
	return nil
}

// Others returns how many other blobs have a fault, as the end of a sentence.
func (r Result) Others() string {
	if len(r.Faults) < 2 {
		return ""
	}
	return "; " + strconv.Itoa(len(r.Faults)-1) + " more of its " + r.count() + " blobs cannot be pulled"
}
