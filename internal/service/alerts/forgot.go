package alerts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	maxForgotten       = 32 // requests that wait; more are dropped
	forgottenPerMinute = 5  // of one source
	forgottenInterval  = time.Hour
	maxOrgsNamed       = 50
)

// OrgReminder sends people the names of the organizations that they can log in to. Nothing about a request shows whether there are any.
type OrgReminder struct {
	db       *store.DB
	config   Config
	now      func() time.Time
	limit    *perminute.Limiter
	requests chan string // addresses by addressKey
}

func newOrgReminder(db *store.DB, c Config, now func() time.Time) *OrgReminder {
	return &OrgReminder{db: db, config: c, now: now, limit: perminute.New(forgottenPerMinute), requests: make(chan string, maxForgotten)}
}

// Request has a message sent to an address later, if it is that of a user. It does the same for every address.
func (r *OrgReminder) Request(origin audit.Origin, address string) {
	if _, reserved := r.limit.Reserve(origin.Source(), 0, r.now()); !reserved || r.config.Mail == nil {
		return
	}
	if names.EmailProblem(address) != "" {
		return
	}
	select {
	case r.requests <- addressKey(strings.TrimSpace(address)):
	default: // too many wait
	}
}

// Run sends the messages until ctx ends.
func (r *OrgReminder) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case address := <-r.requests:
			if err := r.send(ctx, address); err != nil && ctx.Err() == nil && r.config.Log != nil {
				r.config.Log.Warn("names of organizations not sent", "error", err)
			}
		}
	}
}

// send sends one message, at most one in an hour to an address. An address without a user takes no allowance. Users whose address is
// another one with the same canonical form are other people: for mail servers, ß is not ss.
func (r *OrgReminder) send(ctx context.Context, address string) error {
	var orgs []store.OrgOfUser
	reserved := false
	err := r.db.InTx(ctx, func(tx *store.Tx) (err error) {
		orgs, err = tx.Orgs.OfEmail(ctx, names.Canonical(address), maxOrgsNamed)
		orgs = slices.DeleteFunc(orgs, func(o store.OrgOfUser) bool { return addressKey(o.Email) != address })
		if err != nil || len(orgs) == 0 {
			return err
		}
		hash := sha256.Sum256([]byte(address))
		_, reserved, err = tx.Allowances.Reserve(ctx, store.OrgNamesOf+hex.EncodeToString(hash[:]), 1, forgottenInterval, 0, r.now())
		return err
	})
	if err != nil || !reserved {
		return err
	}
	message, err := r.config.Mail.orgNames(orgs, r.now())
	if err != nil {
		return err
	}
	if problem := r.config.Mail.deliver(ctx, message); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// orgNames returns the message with the names of organizations.
func (m *Mail) orgNames(orgs []store.OrgOfUser, at time.Time) (*mail.Msg, error) {
	msg, err := m.envelope(orgs[0].Email, at)
	if err != nil {
		return nil, err
	}
	lines := []string{"You, or someone else, asked regwarden for the organizations that you can log in to with this address:", ""}
	for _, org := range orgs {
		lines = append(lines, "  "+OrgName(org.Name))
	}
	msg.Subject("[regwarden] Your organizations")
	msg.SetBodyString(mail.TypeTextPlain, strings.Join(append(lines, "", "If you did not ask, do nothing.", ""), "\n"))
	return msg, nil
}
