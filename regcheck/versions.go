package regcheck

import (
	"context"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// readRange reads repository:range, for charts whose version is a range. A range that may be a tag is one.
func (p *Plan) readRange(path string) (repository, of string, ok bool) {
	repository, of, _ = strings.Cut(path, ":")
	ok = p.kind == KindOCI && oci.IsRepository(repository) && !strings.ContainsAny(of, "@:/") && IsRange(of)
	return repository, of, ok
}

// IsRange reports whether a text is a range of versions that may follow the repository of a chart in a content path: repository:range.
func IsRange(text string) bool { return !oci.IsTag(text) && chartindex.IsRange(text) }

// maxTagPages is how many pages of tags are read to find a version in a range.
const maxTagPages = 10

// inRange examines the newest version in the range of the content path, as Helm, Flux and Argo CD choose it from all tags.
func (c *contentCheck) inRange(ctx context.Context) outcome {
	count, newest, rest, includes := 0, "", "", chartindex.Within(c.plan.versions)
	for page := range maxTagPages {
		r := c.TagsPage(ctx, c.access, c.plan.contentPath, rest)
		switch state := r.State(); {
		case state == content.HasTags, state == content.NoTags && page > 0: // a last page may be empty
		case page == 0:
			return c.withoutTags(ctx)
		default:
			return c.laterPage(r)
		}
		_, _ = wire.EachName(r.Response.Body, "tags", func(tag string) bool { // not Names, which has only the first tags
			if oci.IsTag(tag) {
				if count++; includes(versionOf(tag)) && (newest == "" || oci.Newer(tag, newest)) {
					newest = tag
				}
			}
			return true
		})
		if rest = oci.NextPage(r.Response); rest == "" {
			break
		}
	}
	shown, of := c.Wire.Name(c.plan.contentPath), wire.CleanText(c.plan.versions)
	switch {
	case newest != "":
		return c.referenced(ctx, oci.Reference{Repository: c.plan.contentPath, Tag: newest})
	case rest != "":
		return codes.Unknown("the first %s of %s are not in the range %s, and there are more", wire.Counted(count, "tag", "tags"), shown,
			of)
	}
	return codes.Failed(fail(CodeContentNotFound, ReasonVersionUnknown, "%s has %s, and none in the range %s.", shown,
		wire.Counted(count, "tag", "tags"), of))
}

// withoutTags is the outcome if no tag is listed. Where the registry denies the path, or shows that it is not a repository with tags, no
// version is in the range, whatever is below the path.
func (c *contentCheck) withoutTags(ctx context.Context) outcome {
	asked, f := c.requestContent(ctx)
	if f != nil {
		return codes.Failed(f)
	}
	step := asked.Facts.Decide()
	switch state := asked.Facts.Path; {
	case slices.Contains([]content.Step{content.PathMissing, content.PathDenied, content.PathInvalid}, step):
	case state == content.NoAccess:
		return codes.Failed(c.denied(asked.Path))
	case slices.Contains([]content.State{content.NoTags, content.NotFound, content.NameInvalid, content.BadRequest}, state):
		return codes.Failed(fail(CodeContentNotFound, ReasonVersionUnknown, "No version of %s is in the range %s: %s.",
			c.Wire.Name(c.plan.contentPath), wire.CleanText(c.plan.versions), asked.Path.Why()).
			Hinting("Correct the repository in {baseContentPath}: append the name of the chart if it is missing. " +
				"If the repository is right, push the chart first."))
	}
	return asked.conclude(ctx, step)
}

// laterPage is the outcome if a page of tags that follows others cannot be read: a newer version may be on it.
func (c *contentCheck) laterPage(r content.Reading) outcome {
	if f := c.diagnoseReading(r); f != nil {
		return codes.Failed(f)
	}
	return codes.Unknown("the tags of %s were read in part: %s", c.Wire.Name(c.plan.contentPath), r.Why())
}

// versionOf returns the version for which a tag stands: a tag must not contain a plus sign.
func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }
