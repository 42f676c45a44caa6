package source

import (
	"context"
	"slices"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// Ambient is the identity that the process has at clouds: its environment, files that this names, and metadata services. It belongs to
// the operator, so only definitions that ask for it and whose owner may use it get credentials by it. It does not change.
type Ambient struct {
	Clouds     []string // whose identity may be used: aws, gcp, azure
	ExternalID string   // with which every role is assumed, so that no owner assumes the role of another one; "": that of the definition
	Getenv     func(string) string
	ReadFile   func(string) ([]byte, error)

	// For a credential helper and a file that flags of a command line name; nil: none may be used.
	Helper    func(ctx context.Context, program, server string) (username string, password secret.String, err error)
	NamedFile func(path string) (text []byte, changed time.Time, err error)
}

// binder is a source that may use the identity of the process.
type binder interface{ bind(a *Ambient) Source }

// Bind returns a source that has what it may use of the process. It obtains nothing if it needs what it may not use; nil is allowed for
// both.
func Bind(s Source, a *Ambient) Source {
	if b, ok := s.(binder); ok {
		return b.bind(a)
	}
	return s
}

// refused is a source that obtains nothing.
type refused struct{ refusal *Refusal }

// Depends implements Source.
func (refused) Depends() []string { return nil }

// Obtain implements Source.
func (r refused) Obtain(context.Context, Call, time.Time) (Credentials, error) {
	return Credentials{}, r.refusal
}

// refuse returns why the identity at a cloud must not be used, nil if it may be. field is the member that asks for it.
func (a *Ambient) refuse(cloud, field string) Source {
	if a != nil && slices.Contains(a.Clouds, cloud) {
		return nil
	}
	return refused{&Refusal{Reason: AmbientNotAllowed, Field: field,
		Seen: message.Of("The identity of {program} at %s was not used.", cloud)}}
}
