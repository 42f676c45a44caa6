package content

import "testing"

func TestContentDecision(t *testing.T) {
	for name, row := range map[string]struct {
		facts Facts
		want  Step
	}{
		"repository":                        {Facts{Path: HasTags}, PathTagged},
		"repository with a malformed name":  {Facts{Path: HasTags, Malformed: true}, PathTagged},
		"malformed name":                    {Facts{Path: NoAccess, Malformed: true}, PathInvalid},
		"malformed name, any name accepted": {Facts{Path: NoTags, Malformed: true}, RequestBelow},
		"no tags":                           {Facts{Path: NoTags}, RequestBelow},
		"no tags, unlike below":             {Facts{Path: NoTags, Below: NotFound}, PathEmpty},
		"no tags, for any name":             {Facts{Path: NoTags, Below: NoTags}, RequestCatalog},
		"no tags, for any name, listed":     {Facts{Path: NoTags, Below: NoTags, Listed: listsPath}, PathEmpty},
		"no tags, for any name, prefix":     {Facts{Path: NoTags, Below: NoTags, Listed: listsBelow}, ListedBelow},
		"no tags, for any name, not listed": {Facts{Path: NoTags, Below: NoTags, Listed: listsOthers}, PathMissing},
		"no tags, for any name, no catalog": {Facts{Path: NoTags, Below: NoTags, Listed: ListsUnknown}, NoConclusion},
		"unknown":                           {Facts{Path: NotFound}, RequestCatalog},
		"unknown, remote tokens":            {Facts{Path: NotFound, Remote: true}, RequestBoth},
		"unknown, prefix":                   {Facts{Path: NotFound, Listed: listsBelow}, ListedBelow},
		"unknown, prefix, remote tokens":    {Facts{Path: NotFound, Below: NotFound, Listed: listsBelow, Remote: true}, BelowReadable},
		"unknown, denied prefix, remote":    {Facts{Path: NotFound, Below: NoAccess, Listed: listsBelow, Remote: true}, ListedBelow},
		"unknown, but listed":               {Facts{Path: NotFound, Listed: listsPath}, PathEmpty},
		"unknown, not listed":               {Facts{Path: NotFound, Listed: listsOthers}, RequestSibling},
		"unknown, siblings":                 {Facts{Path: NotFound, Listed: listsSiblings}, PathMissing},
		"unknown, not listed, all unknown":  {Facts{Path: NotFound, Below: NotFound, Sibling: NotFound, Listed: listsOthers}, PathMissing},
		"unknown, not listed, others denied": {Facts{Path: NotFound, Below: NotFound, Sibling: NoAccess, Listed: listsOthers},
			PrefixEmpty},
		"unknown, not listed, denied below":    {Facts{Path: NotFound, Below: NoAccess, Listed: listsOthers}, PathMissing},
		"unknown, empty catalog":               {Facts{Path: NotFound, Listed: listsNothing}, NoConclusion},
		"unknown, no catalog":                  {Facts{Path: NotFound, Listed: ListsUnknown}, NoConclusion},
		"denied":                               {Facts{Path: NoAccess}, RequestBelow},
		"denied, readable below":               {Facts{Path: NoAccess, Below: NotFound}, BelowReadable},
		"denied, also below":                   {Facts{Path: NoAccess, Below: NoAccess}, RequestCatalog},
		"denied, also below, not listed":       {Facts{Path: NoAccess, Below: NoAccess, Listed: listsOthers}, PathDenied},
		"denied, also below, no catalog":       {Facts{Path: NoAccess, Below: NoAccess, Listed: ListsUnknown}, PathDenied},
		"denied, some repositories":            {Facts{Path: NoAccess, Below: NoAccess, Listed: listsBelow}, BelowGranted},
		"denied, nothing can be below":         {Facts{Path: NoAccess, Below: NameInvalid, Listed: listsNothing}, PathDenied},
		"project":                              {Facts{Path: BadRequest}, RequestBoth},
		"project, member":                      {Facts{Path: BadRequest, Below: NotFound, Listed: ListsUnknown}, BelowReadable},
		"project, other user":                  {Facts{Path: BadRequest, Below: NoAccess, Listed: ListsUnknown}, PathDenied},
		"project, other user, partial catalog": {Facts{Path: BadRequest, Below: NoAccess, Listed: listsOthers}, PathDenied},
		"project, some repositories":           {Facts{Path: BadRequest, Below: NoAccess, Listed: listsBelow}, ListedBelow},
		"project, administrator":               {Facts{Path: BadRequest, Below: NotFound, Listed: listsBelow, Whole: true}, ListedBelow},
		"missing project, administrator":       {Facts{Path: BadRequest, Below: NoAccess, Listed: listsOthers, Whole: true}, PathMissing},
		"empty project":                        {Facts{Path: NameInvalid, Below: NotFound, Listed: listsOthers}, RequestSibling},
		"empty project, others denied": {Facts{Path: NameInvalid, Below: NotFound, Sibling: NoAccess, Listed: listsOthers},
			PrefixEmpty},
		"empty project, others unknown": {Facts{Path: NameInvalid, Below: NotFound, Sibling: NotFound, Listed: listsOthers},
			PathMissing},
		"invalid name":            {Facts{Path: NameInvalid, Below: NameInvalid, Listed: listsOthers}, PathInvalid},
		"bad request, also below": {Facts{Path: BadRequest, Below: BadRequest, Listed: listsOthers}, NoConclusion},
		"something else":          {Facts{Path: Unclear}, NoConclusion},
	} {
		if got := row.facts.Decide(); got != row.want {
			t.Errorf("%s: step %d, want %d", name, got, row.want)
		}
	}
}

// For all responses the requests end after two rounds.
func TestContentDecisionEnds(t *testing.T) {
	for i := range 1 << 3 {
		for path := NotRequested; path <= Unclear; path++ {
			for below := HasTags; below <= Unclear; below++ {
				for listed := listsBelow; listed <= ListsUnknown; listed++ {
					f := Facts{Path: path, Malformed: i&1 > 0, Remote: i&2 > 0, Whole: i&4 > 0}
					rounds := 0
					for step := f.Decide(); step.IsRequest(); step = f.Decide() {
						if rounds++; rounds > 2 {
							t.Fatalf("%+v asks a third time", f)
						}
						if step != RequestCatalog {
							f.Below = below
						}
						if step == RequestCatalog || step == RequestBoth {
							f.Listed = listed
						}
						if step == RequestSibling {
							f.Sibling = below
						}
					}
				}
			}
		}
	}
}
