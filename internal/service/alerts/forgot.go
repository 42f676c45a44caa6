package alerts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
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
	requests chan string // canonical addresses
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
	case r.requests <- names.Canonical(address):
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

// send sends one message to each address with this canonical form, at most one in an hour. Those are different people, each with their own
// organizations: for mail servers, ß is not ss. An address without a user takes no allowance.
func (r *OrgReminder) send(ctx context.Context, canonical string) error {
	byAddress := map[string][]store.OrgOfUser{}
	err := r.db.InTx(ctx, func(tx *store.Tx) error {
		clear(byAddress)
		orgs, err := tx.Orgs.OfEmail(ctx, canonical, maxOrgsNamed)
		for _, org := range orgs {
			byAddress[addressKey(org.Email)] = append(byAddress[addressKey(org.Email)], org)
		}
		for _, address := range slices.Sorted(maps.Keys(byAddress)) {
			hash := sha256.Sum256([]byte(address))
			_, reserved, errR := tx.Allowances.Reserve(ctx, store.OrgNamesOf+hex.EncodeToString(hash[:]), 1, forgottenInterval, 0, r.now())
			if err = errors.Join(err, errR); !reserved {
				delete(byAddress, address)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	var problems []error
	for _, orgs := range byAddress {
		message, err := r.config.Mail.orgNames(orgs, r.now())
		if err == nil {
			if problem := r.config.Mail.deliver(ctx, message); problem != "" {
				err = errors.New(problem)
			}
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
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
