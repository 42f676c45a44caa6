package expiries

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// ofRegistries lists certificates and credentials of registries, in no order.
func (s Service) ofRegistries(ctx context.Context, p auth.Principal) (list []Expiry, err error) {
	page, err := s.Registries.Search(ctx, p, registries.Query{Sort: registries.SortByExpiry,
		Request: paging.Request{Limit: most, Uncounted: true}})
	if err != nil {
		return nil, err
	}
	certificates, err := s.certificates(ctx, p.OrgUID, page.Items)
	if err != nil {
		return nil, err
	}
	positions := map[string]int{} // of certificates, by role and fingerprint
	for _, r := range page.Items {
		if e := expiryOf(r, Credentials, r.Health.State.CredentialsNotAfter); s.isNear(e.At) {
			list = append(list, e)
		}
		for _, e := range ofCertificates(r, certificates[r.UID]) {
			at, shared := positions[e.Role+e.Fingerprint]
			switch {
			case !s.isNear(e.At):
			case shared && e.Fingerprint != "":
				list[at] = withRegistry(list[at], e)
			default:
				positions[e.Role+e.Fingerprint] = len(list)
				list = append(list, e)
			}
		}
	}
	return list, nil
}

// certificates returns those of registries of an organization, by uid.
func (s Service) certificates(ctx context.Context, orgUID string, listed []registries.Summary) (
	found map[string]registries.Certificates, err error,
) {
	uids := make([]string, len(listed))
	for i, r := range listed {
		uids[i] = r.UID
	}
	err = s.DB.View(ctx, func(tx *store.Tx) error {
		found, err = tx.Lists.Certificates(ctx, orgUID, uids)
		return err
	})
	return found, fault.Wrap("read certificates of registries", err)
}

func expiryOf(r registries.Summary, kind Kind, at time.Time) Expiry {
	return Expiry{Kind: kind, UID: r.UID, Name: r.Name, Owner: r.Endpoint, At: at}
}

// isNear reports whether something that expires then is listed.
func (s Service) isNear(at time.Time) bool { return !at.IsZero() && at.Before(s.Now().Add(ahead)) }

// ofCertificates returns the certificates of a registry. A check by an older version has stored the first expiry only.
func ofCertificates(r registries.Summary, seen registries.Certificates) (list []Expiry) {
	if len(seen) == 0 {
		seen = registries.Certificates{{NotAfter: r.Health.State.CertificateNotAfter}}
	}
	for _, c := range seen {
		e := expiryOf(r, Certificate, c.NotAfter)
		e.Role, e.Subject, e.Fingerprint, e.Registries = c.Role, c.Subject, c.Fingerprint, 1
		list = append(list, e)
	}
	return list
}

// withRegistry returns a certificate that another registry needs too. It is listed with the one whose name is first.
func withRegistry(e, other Expiry) Expiry {
	if other.Name < e.Name {
		e.UID, e.Name, e.Owner = other.UID, other.Name, other.Owner
	}
	e.Registries++
	return e
}
