package content

// Facts are what is known about the content path. The path may be a repository or a prefix of repositories, and what a
// registry returns for a prefix is not conclusive: Harbor returns 400 for the name of any project, to every caller. Then a
// random repository below the path and the catalog decide.
type Facts struct {
	Path, Below State // of the path, of a random repository below it
	Sibling     State // of a random repository below a random sibling of the path
	Listed      Listing
	Malformed   bool // the path breaks the grammar of names
	Remote      bool // each token costs a round trip to another host
	Whole       bool // the catalog is for administrators: it lists what others may not read, too
}

// Listing is the result of the catalog for the content path.
type Listing uint8

// Results of the catalog.
const (
	notListed     Listing = iota // not requested
	listsBelow                   // repositories below the path
	listsPath                    // the path, and nothing below it
	listsSiblings                // the catalog is complete, and has neither, but siblings of it
	listsOthers                  // nor those
	listsNothing                 // it is empty, as that of a pull-through cache before the first pull
	ListsUnknown                 // it cannot be read completely
)

// Step is the next request, or the conclusion.
type Step uint8

// Steps. The first four are requests.
const (
	RequestBelow Step = iota
	RequestCatalog
	RequestBoth
	RequestSibling // with Below
	PathTagged     // it is a repository with tags
	PathEmpty      // it is a repository without tags
	ListedBelow    // a repository below it, from the catalog, must be read
	BelowReadable  // what is below it may be read
	BelowGranted   // nothing may be read of it but perhaps listed repositories below it
	PrefixEmpty    // it is a prefix that exists, and nothing is below it
	PathMissing
	PathDenied
	PathInvalid
	NoConclusion
)

// IsRequest reports whether a step is a request rather than a conclusion.
func (s Step) IsRequest() bool { return s <= RequestSibling }

// Decide returns the next step. It requests no more than the conclusion needs.
func (f Facts) Decide() Step {
	switch {
	case f.Path == HasTags:
		return PathTagged
	case f.Malformed && f.Path.rejects():
		return PathInvalid
	case f.Path == NoTags && f.Below == NotRequested:
		return RequestBelow
	case f.Path == NoTags && f.Below != NoTags:
		return PathEmpty
	case f.Path == NoTags: // the registry returns an empty list for any name
		return f.byCatalog(NoConclusion)
	case f.Path == NotFound:
		return f.byCatalog(NoConclusion)
	case f.Path == NoAccess:
		return f.byBelow()
	case f.Path == NameInvalid || f.Path == BadRequest:
		return f.byBoth()
	}
	return NoConclusion
}

func (f Facts) byCatalog(otherwise Step) Step {
	switch f.Listed {
	case notListed:
		if f.Remote && f.Below == NotRequested {
			return RequestBoth // avoids reading one of the repositories
		}
		return RequestCatalog
	case listsBelow:
		if f.Remote && f.Below.Readable() {
			return BelowReadable
		}
		return ListedBelow
	case listsPath:
		return PathEmpty
	case listsSiblings:
		return PathMissing
	case listsOthers:
		return f.missing()
	default:
		return otherwise
	}
}

// missing is for a path with nothing at or below it. A registry that refuses unknown projects, and has an unknown repository below
// this one, shows that the path exists: Harbor's empty projects.
func (f Facts) missing() Step {
	switch {
	case f.Path == NoTags:
		return PathMissing
	case f.Sibling == NotRequested && (f.Below == NotRequested || f.Below == NotFound):
		return RequestSibling
	case f.Below == NotFound && f.Sibling == NoAccess:
		return PrefixEmpty
	}
	return PathMissing
}

// byBelow is for a path that is denied: if nothing below it can be read either, it is denied. Registries that grant permissions per
// repository list those that may be read (Quay).
func (f Facts) byBelow() Step {
	switch {
	case f.Below == NotRequested:
		return RequestBelow
	case f.Below.Readable():
		return BelowReadable
	case f.Listed == notListed:
		return RequestCatalog
	case f.Listed == listsBelow:
		return BelowGranted
	}
	return PathDenied
}

// byBoth is for a path that the registry does not accept as the name of a repository.
func (f Facts) byBoth() Step {
	switch {
	case f.Below == NotRequested:
		return RequestBoth
	case f.Below.Readable():
		return f.byCatalog(BelowReadable)
	case f.Listed == listsBelow:
		return ListedBelow
	case (f.Listed == listsOthers || f.Listed == listsSiblings) && f.Whole:
		return PathMissing
	case f.Below == NoAccess:
		return PathDenied
	case f.Path == NameInvalid && f.Below == NameInvalid:
		return PathInvalid
	}
	return NoConclusion
}
