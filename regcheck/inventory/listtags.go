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

// repository lists the tags of one. It is not there when the content path itself is no repository. The tags
// that were read come with a *stop, too.
func (l *lister) repository(ctx context.Context, name string) (r Repository, there bool, err error) {
	list := &tagListing{lister: l, name: name, way: content.Way{Access: l.Access(), Scope: content.PullScope(name)}, known: map[string]bool{}, seen: map[string]bool{}}
	r.Name = name
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

// tagListing reads the pages of a repository's tags.
type tagListing struct {
	*lister
	name  string
	way   content.Way
	tags  []string
	known map[string]bool
	seen  map[string]bool // queries of pages
	left  int             // that are no tags, or repeat a secret
	why   string          // the list is not whole
}

func (t *tagListing) read(ctx context.Context) (there bool, err error) {
	query, before := "n=100", t.troubles
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
			t.why = "its list of tags was answered " + strconv.Itoa(a.Status)
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

// mayBeThere: the content path need not be a repository, what the catalog lists is one.
func (t *tagListing) mayBeThere(troublesBefore int) bool {
	return t.name != t.ContentPath() || len(t.tags) > 0 || t.troubles > troublesBefore
}

// page asks for a page. Where the registry names a token service, or a scope, only now, the rest of the
// repository is asked for with that.
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

// add takes the tags of a page and gives the query of the next one, "" when there is none.
func (t *tagListing) add(a *wire.Response) (next string) {
	if a.Packed {
		t.why = "its list of tags came compressed, which nobody asked for"
		return ""
	}
	room, full, news := t.room(), false, false
	there, err := wire.EachName(a.Body, "tags", func(tag string) bool {
		switch {
		case !oci.IsTag(tag) || t.tells(tag):
			t.left++
		case t.known[tag]:
		case len(t.tags) == room:
			full = true
		default:
			news, t.known[tag], t.tags = true, true, append(t.tags, tag)
		}
		return !full
	})
	next = oci.NextPage(a)
	switch {
	case full:
		t.why = "it has more than " + wire.Counted(room, "tag", "tags") + ", of which the first are listed"
	case a.Over, a.Cut != nil:
		t.why = "its list of tags is too long, or ends early"
	case err != nil, !there && !oci.NamesRepository(a.Body, t.name):
		t.why = "its list of tags was answered with something else"
	case next == "":
	case t.seen[sameQuery(next)] || !news:
		t.why = "the pages of its tags lead in a circle"
	default:
		t.seen[sameQuery(next)] = true
		return next
	}
	return ""
}

// room is how many tags of this repository may be listed.
func (t *tagListing) room() int {
	return min(t.limits.RepositoryTags, max(1, t.limits.Tags-t.result.Cursor.Tags))
}

func (t *tagListing) problem() string {
	var words []string
	if t.why != "" {
		words = append(words, t.why)
	}
	if t.left > 0 {
		words = append(words, "names that no tag can have, or that repeat credentials, are left out: "+strconv.Itoa(t.left))
	}
	return t.Shown(strings.Join(words, "; "))
}

// tag reads the manifest of a tag. Its digest is of the bytes that came; what the registry says of it
// (Docker-Content-Digest) must be the same.
func (l *lister) tag(ctx context.Context, at content.Way, repository, name string) (Tag, error) {
	t := Tag{Name: name}
	m, a, err := l.manifest(ctx, at, repository, name, &t)
	if err != nil || t.Problem != "" {
		return t, err
	}
	t.Digest = oci.Digest(a.Body)
	if said := a.Header.Get(oci.DigestHeader); strings.HasPrefix(said, "sha256:") && said != t.Digest {
		t.Problem = "the registry says another digest than its manifest has"
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

// child reads the first manifest of an index, which must be the one that the index names.
func (l *lister) child(ctx context.Context, at content.Way, repository, digest string, t *Tag) (oci.Manifest, error) {
	if !oci.IsReference(digest) || !strings.HasPrefix(digest, "sha256:") {
		t.Problem = "its index names a manifest in a way that cannot be followed"
		return oci.Manifest{}, nil
	}
	m, a, err := l.manifest(ctx, at, repository, digest, t)
	if err == nil && a != nil && oci.Digest(a.Body) != digest {
		t.Problem = "the manifest that its index names has another digest"
		return oci.Manifest{}, nil
	}
	return m, err
}

// manifest reads one, or says in t what is wrong with it.
func (l *lister) manifest(ctx context.Context, at content.Way, repository, reference string, t *Tag) (m oci.Manifest, a *wire.Response, err error) {
	a, why, err := l.get(ctx, at, repository+"/manifests/"+reference, "")
	switch {
	case err != nil:
		return m, nil, err
	case a == nil:
		t.Problem = why
	case a.Status != 200:
		t.Problem = "its manifest was answered " + strconv.Itoa(a.Status)
	case a.Over || a.Packed || a.Cut != nil:
		t.Problem = "its manifest is too long, compressed, or ends early"
	case json.Unmarshal(a.Body, &m) != nil:
		t.Problem = "its manifest cannot be read"
	default:
		l.troubles = 0
		return m, a, nil
	}
	return oci.Manifest{}, nil, nil
}

// kindIn is what a manifest in a repository is.
func (l *lister) kindIn(repository string, m oci.Manifest) Kind {
	switch m.Kind() {
	case oci.KindHelm:
		return HelmChart
	case oci.KindZarf:
		return ZarfPackage
	case oci.KindOther:
		if m.Untyped() && !strings.Contains("/"+repository, "/"+oci.ManifestPlace+"/") &&
			(l.Provider() == regcheck.Pack || strings.Contains("/"+repository, "/"+oci.PackPlace+"/")) {
			return PackArchive
		}
	}
	return OtherArtifact
}
