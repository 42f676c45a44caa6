package regcheck

// contentFacts are what is known about the content path. The path may be a repository or the prefix of some, and
// what a registry returns for a prefix itself says little: Harbor returns 400 for the name of any project, to
// everybody. A random repository below the path and the catalog then decide.
type contentFacts struct {
	path, below answerKind // of the path, of a random repository below it
	listed      listing
	malformed   bool // the path breaks the grammar of names
	remote      bool // each token costs a round trip to another host
	whole       bool // the catalog is an administrator's: it shows what others may not read, too
}

// listing is what the catalog says of the content path.
type listing uint8

const (
	notListed    listing = iota // not asked
	listsBelow                  // repositories below the path
	listsPath                   // the path, and nothing below it
	listsOthers                 // the catalog is complete, and has neither
	listsNothing                // it is empty, as that of a pull-through cache before the first pull
	listsUnknown                // it cannot be read completely
)

// contentStep is what to ask next, or the conclusion.
type contentStep uint8

const (
	askBelow contentStep = iota
	askCatalog
	askBoth
	pathTagged    // it is a repository with tags
	pathEmpty     // it is a repository without tags
	listedBelow   // one of the repositories that the catalog has below it is to be read
	belowReadable // what is below it may be read
	pathMissing
	pathDenied
	pathInvalid
	noConclusion
)

// decide takes the next step. It asks for no more than the conclusion needs.
func (f contentFacts) decide() contentStep {
	switch {
	case f.path == hasTags:
		return pathTagged
	case f.malformed && f.path.rejects():
		return pathInvalid
	case f.path == noTags && f.below == notAsked:
		return askBelow
	case f.path == noTags && f.below != noTags:
		return pathEmpty
	case f.path == noTags: // the registry returns an empty list for any name
		return f.byCatalog(noConclusion)
	case f.path == notFound:
		return f.byCatalog(noConclusion)
	case f.path == noAccess:
		return f.byBelow()
	case f.path == nameInvalid || f.path == badRequest:
		return f.byBoth()
	}
	return noConclusion
}

func (k answerKind) rejects() bool {
	return k == notFound || k == noAccess || k == nameInvalid || k == badRequest
}

// readable reports whether an unknown repository is treated as one that may be read.
func (k answerKind) readable() bool { return k == notFound || k == noTags || k == hasTags }

func (f contentFacts) byCatalog(otherwise contentStep) contentStep {
	switch f.listed {
	case notListed:
		if f.remote && f.below == notAsked {
			return askBoth // spares reading one of the repositories
		}
		return askCatalog
	case listsBelow:
		if f.remote && f.below.readable() {
			return belowReadable
		}
		return listedBelow
	case listsPath:
		return pathEmpty
	case listsOthers:
		return pathMissing
	}
	return otherwise
}

// byBelow: where the path is denied and nothing can be below it either, the path alone counts.
func (f contentFacts) byBelow() contentStep {
	switch {
	case f.below == notAsked:
		return askBelow
	case f.below.readable():
		return belowReadable
	}
	return pathDenied
}

// byBoth is for a path that the registry takes for no repository's name.
func (f contentFacts) byBoth() contentStep {
	switch {
	case f.below == notAsked:
		return askBoth
	case f.below.readable():
		return f.byCatalog(belowReadable)
	case f.listed == listsBelow:
		return listedBelow
	case f.listed == listsOthers && f.whole:
		return pathMissing
	case f.below == noAccess:
		return pathDenied
	case f.path == nameInvalid && f.below == nameInvalid:
		return pathInvalid
	}
	return noConclusion
}
