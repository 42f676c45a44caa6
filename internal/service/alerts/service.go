package alerts

import (
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Service has the parts of this package, which work on one store.
type Service struct {
	Channels      *Channels
	Confirmations *Confirmations
	Deliverer     *Deliverer
	KeyWatcher    *KeyWatcher
	Repeater      *Repeater
	Mailer        *Mailer
	OrgReminder   *OrgReminder
}

// New returns the service of an open store.
func New(db *store.DB, c Config) *Service { return newService(db, c, time.Now) }

func newService(db *store.DB, c Config, now func() time.Time) *Service {
	c = c.withDefaults()
	links := &links{db: db, config: c, now: now}
	sender := &sender{db: db, config: c, now: now, links: links}
	return &Service{
		Channels:      &Channels{db: db, config: c, now: now, links: links, sender: sender},
		Confirmations: &Confirmations{db: db, now: now},
		Deliverer:     &Deliverer{db: db, config: c, now: now, links: links, sender: sender},
		KeyWatcher:    &KeyWatcher{db: db, now: now, log: c.Log},
		Repeater:      &Repeater{db: db, now: now, log: c.Log},
		Mailer:        &Mailer{links},
		OrgReminder:   newOrgReminder(db, c, now),
	}
}
