package inventory

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// repository lists the tags of a repository. there is false if the content path itself is not a repository. With a *stop it
// also returns the tags that were read.
func (l *lister) repository(ctx context.Context, name string) (r Repository, there bool, err error) {
	list := &tagListing{lister: l, name: name, way: content.Way{Access: l.Access(), Scope: content.PullScope(name)},
		known: map[string]bool{}, seen: map[string]bool{}}
	r.Name = name
	if !oci.IsRepository(name) {
		r.Problem = maskedName
		return r, true, nil
	}
	there, err = list.read(ctx)
	if err != nil || !there {
		return r, there, err
	}
	r.Problem = list.problem()
	slices.Sort(list.tags) // distribution 2 lists them in any order
	for _, tag := range list.tags {
		t, err := l.tag(ctx, list.way, name, tag)
		if err != nil {
			return r, true, err
		}
		r.Tags = append(r.Tags, t)
	}
	return r, true, nil
}

// maskedName is the problem of a name that was masked: only the registry knows it, so it cannot be requested.
const maskedName = "its name repeats credentials of the definition, which are masked, so it is not read"

// tagListing reads the pages of a repository's tags.
type tagListing struct {
	*lister
	name  string
	way   content.Way
	tags  []string
	known map[string]bool
	seen  map[string]bool // queries of pages
	left  int             // names that are not valid
	why   string          // why the list is not complete
}

func (t *tagListing) read(ctx context.Context) (there bool, err error) {
	query, before := "n=100", t.failures
	for range maxTagPages {
		a, why, err := t.page(ctx, query)
		if err != nil {
			return true, err
		}
		if a == nil {
			t.why = why
			return t.mayBeThere(before), nil
		}
		if a.Status != 200 {
			t.why = "its list of tags has the status " + strconv.Itoa(a.Status)
			return t.mayBeThere(before), nil
		}
		query = t.add(a)
		if query == "" {
			return true, nil
		}
	}
	t.why = "its list of tags has too many pages"
	return true, nil
}

// mayBeThere reports whether the repository may exist: a name of the catalog exists, the content path may not.
func (t *tagListing) mayBeThere(failuresBefore int) bool {
	return t.name != t.ContentPath() || len(t.tags) > 0 || t.failures > failuresBefore
}

// page requests a page. If the response has a challenge with another token service or scope, that is used for the rest of the
// repository.
func (t *tagListing) page(ctx context.Context, query string) (*wire.Response, string, error) {
	a, why, err := t.get(ctx, t.way, t.name+"/tags/list", query)
	if a == nil || a.Status != 401 {
		return a, why, err
	}
	next, ok := t.Client().Other(t.way, a, t.name)
	if !ok {
		return a, why, err
	}
	t.way = next
	return t.get(ctx, t.way, t.name+"/tags/list", query)
}

// add adds the tags of a page. It returns the query of the next page, "" if there is none.
func (t *tagListing) add(a *wire.Response) (next string) {
	if a.Packed {
		t.why = "its list of tags was compressed, which was not requested"
		return ""
	}
	limit, full, added := t.limit(), false, false
	there, err := wire.EachName(a.Body, "tags", func(tag string) bool {
		shown := t.ShowName(tag)
		switch {
		case !oci.IsTag(tag):
			t.left++
		case t.known[shown]:
		case len(t.tags) == limit:
			full = true
		default:
			added, t.known[shown], t.tags = true, true, append(t.tags, shown)
		}
		return !full
	})
	next = oci.NextPage(a)
	switch {
	case full:
		t.why = "it has more than " + wire.Counted(limit, "tag", "tags") + "; only the first are listed"
	case a.Over, a.Cut != nil:
		t.why = "its list of tags is too long, or ends early"
	case err != nil, !there && !oci.NamesRepository(a.Body, t.name):
		t.why = "its list of tags returned with something else"
	case next == "":
	case t.seen[sameQuery(next)] || !added:
		t.why = "the pages of its tags form a loop"
	default:
		t.seen[sameQuery(next)] = true
		return next
	}
	return ""
}

// limit returns how many tags of this repository may be listed.
func (t *tagListing) limit() int {
	return min(t.limits.RepositoryTags, max(1, t.limits.Tags-t.result.Cursor.Tags))
}

func (t *tagListing) problem() string {
	var words []string
	if t.why != "" {
		words = append(words, t.why)
	}
	if t.left > 0 {
		words = append(words, "omitted names that are not valid: "+strconv.Itoa(t.left))
	}
	return wire.CleanText(strings.Join(words, "; "))
}

// tag reads the manifest of a tag and computes its digest, which must be equal to the Docker-Content-Digest of the registry.
func (l *lister) tag(ctx context.Context, at content.Way, repository, name string) (Tag, error) {
	t := Tag{Name: name}
	if !oci.IsTag(name) {
		t.Problem = maskedName
		return t, nil
	}
	m, a, err := l.manifest(ctx, at, repository, name, &t)
	if err != nil || t.Problem != "" {
		return t, err
	}
	t.Digest = oci.Digest(a.Body)
	if header := a.Header.Get(oci.DigestHeader); strings.HasPrefix(header, "sha256:") && header != t.Digest {
		t.Problem = "its Docker-Content-Digest is not the digest of its manifest"
	}
	if len(m.Manifests) > 0 { // Zarf pushes an index with one manifest per architecture
		m, err = l.child(ctx, at, repository, m.Manifests[0].Digest, &t)
		if err != nil || m.Empty() {
			return t, err
		}
	}
	t.Kind = l.kindIn(repository, m)
	return t, nil
}

// child reads the first manifest of an index and checks its digest.
func (l *lister) child(ctx context.Context, at content.Way, repository, digest string, t *Tag) (oci.Manifest, error) {
	if !oci.IsReference(digest) || !strings.HasPrefix(digest, "sha256:") {
		t.Problem = "its index has an invalid reference to a manifest"
		return oci.Manifest{}, nil
	}
	m, a, err := l.manifest(ctx, at, repository, digest, t)
	if err == nil && a != nil && oci.Digest(a.Body) != digest {
		t.Problem = "the manifest of its index has another digest"
		return oci.Manifest{}, nil
	}
	return m, err
}

// manifest reads a manifest, or sets the problem of t.
func (l *lister) manifest(ctx context.Context, at content.Way, repository, reference string, t *Tag) (
	m oci.Manifest, a *wire.Response, err error,
) {
	a, why, err := l.get(ctx, at, repository+"/manifests/"+reference, "")
	switch {
	case err != nil:
		return m, nil, err
	case a == nil:
		t.Problem = why
	case a.Status != 200:
		t.Problem = "its manifest has the status " + strconv.Itoa(a.Status)
	case a.Over || a.Packed || a.Cut != nil:
		t.Problem = "its manifest is too long, compressed or incomplete"
	case json.Unmarshal(a.Body, &m) != nil:
		t.Problem = "its manifest cannot be read"
	default:
		l.failures = 0
		return m, a, nil
	}
	return oci.Manifest{}, nil, nil
}

// kindIn returns the kind of a manifest in a repository.
func (l *lister) kindIn(repository string, m oci.Manifest) Kind {
	switch m.Kind() {
	case oci.KindHelm:
		return HelmChart
	case oci.KindZarf:
		return ZarfPackage
	case oci.KindOther:
		if m.Untyped() && !strings.Contains("/"+repository, "/"+oci.ManifestPrefix+"/") &&
			(l.Provider() == regcheck.Pack || strings.Contains("/"+repository, "/"+oci.PackPrefix+"/")) {
			return PackArchive
		}
		return OtherArtifact
	default:
		return OtherArtifact
	}
}
