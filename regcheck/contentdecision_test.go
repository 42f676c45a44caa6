package regcheck

import (
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
)

func TestContentDecision(t *testing.T) {
	for name, row := range map[string]struct {
		facts contentFacts
		want  contentStep
	}{
		"repository":                         {contentFacts{path: hasTags}, pathTagged},
		"repository with a malformed name":   {contentFacts{path: hasTags, malformed: true}, pathTagged},
		"malformed name":                     {contentFacts{path: noAccess, malformed: true}, pathInvalid},
		"malformed name, any name accepted":  {contentFacts{path: noTags, malformed: true}, askBelow},
		"no tags":                            {contentFacts{path: noTags}, askBelow},
		"no tags, unlike below":              {contentFacts{path: noTags, below: notFound}, pathEmpty},
		"no tags, for any name":              {contentFacts{path: noTags, below: noTags}, askCatalog},
		"no tags, for any name, listed":      {contentFacts{path: noTags, below: noTags, listed: listsPath}, pathEmpty},
		"no tags, for any name, prefix":      {contentFacts{path: noTags, below: noTags, listed: listsBelow}, listedBelow},
		"no tags, for any name, not listed":  {contentFacts{path: noTags, below: noTags, listed: listsOthers}, pathMissing},
		"no tags, for any name, no catalog":  {contentFacts{path: noTags, below: noTags, listed: listsUnknown}, noConclusion},
		"unknown":                            {contentFacts{path: notFound}, askCatalog},
		"unknown, remote tokens":             {contentFacts{path: notFound, remote: true}, askBoth},
		"unknown, prefix":                    {contentFacts{path: notFound, listed: listsBelow}, listedBelow},
		"unknown, prefix, remote tokens":     {contentFacts{path: notFound, below: notFound, listed: listsBelow, remote: true}, belowReadable},
		"unknown, denied prefix, remote":     {contentFacts{path: notFound, below: noAccess, listed: listsBelow, remote: true}, listedBelow},
		"unknown, but listed":                {contentFacts{path: notFound, listed: listsPath}, pathEmpty},
		"unknown, not listed":                {contentFacts{path: notFound, listed: listsOthers}, pathMissing},
		"unknown, empty catalog":             {contentFacts{path: notFound, listed: listsNothing}, noConclusion},
		"unknown, no catalog":                {contentFacts{path: notFound, listed: listsUnknown}, noConclusion},
		"denied":                             {contentFacts{path: noAccess}, askBelow},
		"denied, readable below":             {contentFacts{path: noAccess, below: notFound}, belowReadable},
		"denied, also below":                 {contentFacts{path: noAccess, below: noAccess}, pathDenied},
		"denied, nothing can be below":       {contentFacts{path: noAccess, below: nameInvalid}, pathDenied},
		"project":                            {contentFacts{path: badRequest}, askBoth},
		"project, member":                    {contentFacts{path: badRequest, below: notFound, listed: listsUnknown}, belowReadable},
		"project, stranger":                  {contentFacts{path: badRequest, below: noAccess, listed: listsUnknown}, pathDenied},
		"project, stranger, partial catalog": {contentFacts{path: badRequest, below: noAccess, listed: listsOthers}, pathDenied},
		"project, some repositories":         {contentFacts{path: badRequest, below: noAccess, listed: listsBelow}, listedBelow},
		"project, administrator":             {contentFacts{path: badRequest, below: notFound, listed: listsBelow, whole: true}, listedBelow},
		"missing project, administrator":     {contentFacts{path: badRequest, below: noAccess, listed: listsOthers, whole: true}, pathMissing},
		"empty project, catalog":             {contentFacts{path: nameInvalid, below: notFound, listed: listsOthers}, pathMissing},
		"invalid name":                       {contentFacts{path: nameInvalid, below: nameInvalid, listed: listsOthers}, pathInvalid},
		"bad request, also below":            {contentFacts{path: badRequest, below: badRequest, listed: listsOthers}, noConclusion},
		"something else":                     {contentFacts{path: unclear}, noConclusion},
	} {
		if got := row.facts.decide(); got != row.want {
			t.Errorf("%s: step %d, want %d", name, got, row.want)
		}
	}
}

// Whatever comes back, the questions end after two rounds.
func TestContentDecisionEnds(t *testing.T) {
	for i := range 1 << 3 {
		for path := notAsked; path <= unclear; path++ {
			for below := hasTags; below <= unclear; below++ {
				for listed := listsBelow; listed <= listsUnknown; listed++ {
					f := contentFacts{path: path, malformed: i&1 > 0, remote: i&2 > 0, whole: i&4 > 0}
					rounds := 0
					for step := f.decide(); step <= askBoth; step = f.decide() {
						if rounds++; rounds > 2 {
							t.Fatalf("%+v asks a third time", f)
						}
						if step != askCatalog {
							f.below = below
						}
						if step != askBelow {
							f.listed = listed
						}
					}
				}
			}
		}
	}
}

func TestNameFault(t *testing.T) {
	for path, want := range map[string]nameFault{
		"charts/nginx":                       {},
		"docker.io/library":                  {},
		"a__b/c--d":                          {},
		"Charts/Nginx":                       {"upper-case letters are not allowed", "charts/nginx"},
		"charts//nginx":                      {"an empty component (//) is not allowed", "charts/nginx"},
		"charts/nginx:1.2.3":                 {"a tag or digest is not part of a repository's name", "charts/nginx"},
		"charts/nginx@sha256:00":             {"a tag or digest is not part of a repository's name", "charts/nginx"},
		"registry.test/charts/nginx":         {"the host belongs into endpoint only", "charts/nginx"},
		"REGISTRY.test:5000/Charts":          {"the host belongs into endpoint only", "charts"},
		"other.test:443/charts":              {"the host belongs into endpoint only", "charts"},
		"https://registry.test/charts":       {"the host belongs into endpoint only", "charts"},
		"oci://registry.test/charts/nginx:1": {"the host belongs into endpoint only", "charts/nginx"},
		"registry.test":                      {"the host belongs into endpoint only", ""},
		"charts/a b":                         {"names have at most 255 characters, and components of lower-case letters and digits, joined by single . _ -", ""},
	} {
		s := &session{plan: &plan{contentPath: path, base: endpoint.Base{Origin: egress.Origin{Host: "registry.test"}}}}
		if got := s.nameFault(); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}
