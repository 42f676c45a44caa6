package auth

import (
	"context"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/secret"
)

// Shares of the slots for hashing.
const (
	knownLogins    = iota // from a source with an earlier success with the account
	unknownLogins         // from any other source
	administration        // passwords of users that administrators create or change; their source is the organization
)

// newBulkhead limits hashing. Known logins have half of the slots under load, and half of the queue.
func newBulkhead(c Config) *fairqueue.Limiter {
	return fairqueue.New(fairqueue.Config{Workers: c.LoginWorkers, Queue: c.LoginQueue, Wait: c.LoginWait,
		Turns: []int{knownLogins, unknownLogins, knownLogins, administration},
		Busy:  "Too many passwords are being hashed at once. Retry after the time in Retry-After."})
}

// Passwords hashes and checks passwords. Hashing runs behind a bulkhead. It is safe for concurrent use.
type Passwords struct {
	hasher *passwordhash.Hasher
	bulk   *fairqueue.Limiter
}

func newPasswords(c Config) *Passwords {
	return &Passwords{hasher: passwordhash.New(c.hashCost, c.ComputeHash), bulk: newBulkhead(c)}
}

// Load returns how many passwords are being hashed and how many callers wait.
func (p *Passwords) Load() (running, waiting int) { return p.bulk.Load() }

// Hash returns the PHC string of a password that an administrator sets, or a fault of kind Unavailable when too many
// callers wait or hashing fails. Organizations take turns.
func (p *Passwords) Hash(ctx context.Context, orgUID string, password secret.String) (string, error) {
	return p.hashFor(ctx, fairqueue.Caller{Share: administration, Source: orgUID}, password)
}

func (p *Passwords) hashFor(ctx context.Context, c fairqueue.Caller, password secret.String) (string, error) {
	release, _, err := p.bulk.Acquire(ctx, c)
	if err != nil {
		return "", err
	}
	defer release()
	return p.hasher.Hash(password)
}

// Problems lists the problems of a new password under the given field name. It must not be one of names, such as email and organization.
func (*Passwords) Problems(field string, password secret.String, names ...string) []fault.Field {
	return passwordrules.Problems(field, password, names...)
}

// PasswordHint describes the rules to users before they choose a password.
const PasswordHint = passwordrules.Hint
