package scanner

import (
	"fmt"

	"github.com/regwarden/regwarden/definitions/model"
)

// Limits of a result, by the size of the files that were read. Entries that refer to each other, such as pods and pull Secrets, can make
// both the work and the result grow with the square of the file.
const (
	baseLookups  = 100_000
	baseText     = 32 << 20
	textPerByte  = 16
	lookupsOfOne = 16 // that a definition counts as

	costOfOwnText = 8 // as how many bytes one counts that definitions do not share, and that takes memory
)

// budget is what of the limits is used.
type budget struct {
	lookups, text int
	exceeded      bool
}

// Afford counts comparisons of one entry with others, and reports whether they are within the limit. If not, the entry is not resolved, nor
// is what follows: a problem says so.
func (s *Scanner) Afford(at model.Source, lookups int) bool {
	b := s.budget
	b.lookups += lookups
	if !b.exceeded && b.lookups > baseLookups+s.bytes {
		b.exceeded = true
		s.budgetProblem(at,
			fmt.Sprintf("The entries of the files refer to each other more than %d times. What follows is not read. Scan fewer files at "+
				"once.", baseLookups+s.bytes))
	}
	return !b.exceeded
}

// affordDefinition counts a definition with its texts, which many definitions may have in common.
func (s *Scanner) affordDefinition(r *model.Registry) bool {
	b := s.budget
	b.text += textOf(r)
	if !b.exceeded && b.text > baseText+textPerByte*s.bytes {
		b.exceeded = true
		s.budgetProblem(r.Sources[0],
			fmt.Sprintf("The definitions repeat certificates and other texts of more than %d MiB. What follows is not shown. Scan fewer "+
				"files at once.", (baseText+textPerByte*s.bytes)>>20))
	}
	return s.Afford(r.Sources[0], lookupsOfOne)
}

func (s *Scanner) budgetProblem(at model.Source, message string) {
	s.result.Problems = append(s.result.Problems, model.Problem{Source: at, Reason: model.ProblemWrongShape, Message: message})
}

// textOf returns as how many bytes the texts of a definition count.
func textOf(r *model.Registry) int {
	d := r.Definition
	shared := len(d.Auth.Username) + len(d.Auth.Password) + len(d.Auth.Token) + len(d.Auth.TLS.CA) + len(d.Auth.TLS.Certificate) +
		len(d.Auth.TLS.Key)
	own := len(d.Endpoint) + len(d.BasePath) + len(d.BaseContentPath) + len(r.Detail)
	for _, notice := range r.Notices {
		own += len(notice.Message)
	}
	return shared + costOfOwnText*own
}
