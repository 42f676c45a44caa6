package dockerauth

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// Patterns finds the entries of a file that kubelet uses for a reference, as Lookup does, for many references. Keys without wildcards are
// found by host and path; the others are compared.
type Patterns struct {
	Rejected *Rejection // why kubelet rejects the whole file

	exact   map[exactPattern]*SamePattern
	lengths []int // of the paths of exact, ascending
	globs   []globPattern
	hub     *SamePattern // for Docker Hub if no other matches
}

// SamePattern are the entries whose keys are the same pattern, at least one, in the order of the file.
type SamePattern struct {
	Pattern string
	Entries []*Entry
	Differ  bool // whether their credentials differ

	next *SamePattern // that is another text for the same
}

// exactPattern is a pattern without wildcards as kubelet compares it.
type exactPattern struct{ host, port, path string }

// globPattern is a pattern with wildcards in its host.
type globPattern struct {
	*SamePattern
	labels     []string
	port, path string
}

// costOfFind is as many comparisons as parsing a reference takes the time of.
const costOfFind = 4

// HubPattern is the pattern of the entries that kubelet uses for Docker Hub if no other matches.
const HubPattern = "index.docker.io"

// Patterns returns the index of the file for kubelet.
func (c *Config) Patterns() *Patterns {
	decoded := c.as(Kubelet)
	p := &Patterns{Rejected: decoded.rejected, exact: map[exactPattern]*SamePattern{}}
	if p.Rejected != nil {
		return p
	}
	byPattern := map[string]*SamePattern{}
	for _, e := range decoded.entries {
		pattern, ok := kubeletPattern(e.Key)
		if !ok {
			continue
		}
		same := byPattern[pattern]
		if same == nil {
			same = &SamePattern{Pattern: pattern}
			byPattern[pattern] = same
			p.add(same)
		}
		same.Entries = append(same.Entries, e)
		same.Differ = same.Differ || e.Credential != same.Entries[0].Credential
	}
	p.hub = byPattern[HubPattern]
	return p
}

func (p *Patterns) add(same *SamePattern) {
	u, err := url.Parse("https://" + same.Pattern)
	if err != nil {
		return // it matches nothing
	}
	labels, port := labels(u.Host)
	if strings.ContainsAny(u.Host, `*?[\`) {
		p.globs = append(p.globs, globPattern{same, labels, port, u.Path})
		return
	}
	exact := exactPattern{strings.Join(labels, "."), port, u.Path}
	same.next = p.exact[exact]
	p.exact[exact] = same
	if at, found := slices.BinarySearch(p.lengths, len(u.Path)); !found {
		p.lengths = slices.Insert(p.lengths, at, len(u.Path))
	}
}

// Find returns the patterns that match a reference, in no order, and how many comparisons that took.
func (p *Patterns) Find(reference string) (found []*SamePattern, comparisons int) {
	if target, err := url.Parse("https://" + reference); err == nil {
		labels, port := labels(target.Host)
		found, comparisons = p.findExact(exactPattern{strings.Join(labels, "."), port, target.Path})
		for _, glob := range p.globs {
			comparisons += 1 + len(glob.Pattern)>>6
			if glob.port == port && strings.HasPrefix(target.Path, glob.path) && matchLabels(glob.labels, labels) {
				found = append(found, glob.SamePattern)
			}
		}
	}
	if len(found) == 0 && p.hub != nil && isDockerHub(reference) {
		found = append(found, p.hub)
	}
	return found, costOfFind + comparisons + len(found)
}

// findExact returns the patterns whose path the path of the reference begins with.
func (p *Patterns) findExact(reference exactPattern) (found []*SamePattern, comparisons int) {
	for _, length := range p.lengths {
		if length > len(reference.path) {
			break
		}
		prefix := reference
		prefix.path = reference.path[:length]
		for same := p.exact[prefix]; same != nil; same = same.next {
			found = append(found, same)
		}
	}
	return found, len(p.lengths)
}

// matchLabels reports whether each label of a pattern matches that of a host.
func matchLabels(patterns, labels []string) bool {
	return slices.EqualFunc(patterns, labels, func(pattern, label string) bool {
		matched, err := path.Match(pattern, label)
		return err == nil && matched
	})
}
