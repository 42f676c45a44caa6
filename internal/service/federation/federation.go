// Package federation logs in callers without a password: it exchanges tokens of trusted issuers, such as the platform of a pipeline, logs
// people in by the identity provider of their organization, and logs in programs that a person confirms in a browser.
//
// Package directory manages the rules by which an organization trusts an issuer, and auth has the sessions.
package federation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/outbound"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

// exchangesPerMinute is how many tokens a source may present. The runners of a company may share one address.
const exchangesPerMinute = 300

// Config configures the service.
type Config struct {
	Dialer     outbound.Dialer // to issuers
	DefaultOrg string          // organization of an exchange without one; empty: it is required
	Log        *slog.Logger
	Now        func() time.Time
	WaitNow    func() time.Time // clock of the limit, which does not go back; nil: time.Now
}

// Service is safe for concurrent use.
type Service struct {
	db      *store.DB
	logins  *auth.Logins
	config  Config
	issuers *issuers
	limit   *perminute.Limiter
}

// New returns the service of an open store.
func New(db *store.DB, logins *auth.Logins, config Config) *Service {
	if config.WaitNow == nil {
		config.WaitNow = time.Now
	}
	return &Service{db: db, logins: logins, config: config, issuers: newIssuers(config.Dialer, config.Now),
		limit: perminute.New(exchangesPerMinute)}
}

// Exchange is a request for a token.
type Exchange struct {
	Org   string
	Rule  string // name of the trust rule; empty: the only one that accepts the token
	Token secret.String
}

// Exchange returns an authorization token, without a refresh token, for a token of an issuer that the organization trusts (RFC 8693).
//
// Faults: Invalid with fields org, subject_token and rule; Unauthenticated; Limited; Unavailable when the issuer does not respond and its
// keys are not known.
func (s *Service) Exchange(ctx context.Context, origin audit.Origin, e Exchange) (auth.Tokens, error) {
	e.Org = cmp.Or(e.Org, s.config.DefaultOrg)
	if problems := e.problems(); len(problems) > 0 {
		return auth.Tokens{}, fault.InvalidFields(problems...)
	}
	if err := s.reserve(origin); err != nil {
		return auth.Tokens{}, err
	}
	token, err := parse(e.Token)
	if err != nil {
		return auth.Tokens{}, refused(ReasonMalformed)
	}
	if !token.valid(s.config.Now()) {
		return auth.Tokens{}, refused(ReasonExpired)
	}
	org, rules, err := s.rulesFor(ctx, e, token.issuer)
	if err != nil {
		return auth.Tokens{}, fault.Wrap("look up trust rules", err)
	}
	rule, err := s.choose(ctx, origin, org, rules, token)
	if err != nil {
		return auth.Tokens{}, err
	}
	return s.logIn(ctx, origin, org, rule, token)
}

// reserve returns a fault of kind Limited if a source exchanges too many tokens or codes.
func (s *Service) reserve(origin audit.Origin) error {
	if wait, reserved := s.limit.Reserve(origin.Source(), 0, s.config.WaitNow()); !reserved {
		return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
			Message: "Too many tokens were exchanged in the last minute. Retry after the time in Retry-After."}
	}
	return nil
}

func (e Exchange) problems() []fault.Field {
	problems := fault.FieldProblem("org", names.LookupProblem(e.Org))
	if e.Token == "" {
		problems = append(problems, fault.Field{Field: "subject_token", Problem: "is required"})
	}
	return problems
}

// rulesFor returns the rules of the organization for an issuer: none for an unknown organization.
func (s *Service) rulesFor(ctx context.Context, e Exchange, issuer string) (org store.Org, rules []trusts.Rule, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if org, err = tx.Orgs.ByName(ctx, names.Canonical(e.Org)); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		rules, err = tx.Trusts.OfIssuer(ctx, org.UID, issuer)
		return err
	})
	return org, slices.DeleteFunc(rules, func(r trusts.Rule) bool { return e.Rule != "" && r.Canonical != names.Canonical(e.Rule) }), err
}

// choose returns the only rule that accepts the token. Without one, the record of the organization has the reason.
func (s *Service) choose(ctx context.Context, origin audit.Origin, org store.Org, rules []trusts.Rule, token presented) (
	trusts.Rule, error) {
	var accepting []trusts.Rule
	var refusals []string
	var unavailable error
	for _, rule := range rules {
		reason, err := s.check(ctx, rule, token)
		switch {
		case err != nil:
			unavailable = err
		case reason == "":
			accepting = append(accepting, rule)
		default:
			refusals = append(refusals, reason)
		}
	}
	switch {
	case len(accepting) == 1:
		return accepting[0], nil
	case len(accepting) > 1:
		return trusts.Rule{}, fault.InvalidField("rule", "is required, since several trust rules accept this token: "+namesOf(accepting))
	case unavailable != nil:
		return trusts.Rule{}, s.unavailable(ctx, rules[0].Issuer, unavailable)
	case len(refusals) > 0:
		if err := s.record(ctx, origin, org, token, "", closest(refusals)); err != nil {
			return trusts.Rule{}, err
		}
	}
	return trusts.Rule{}, refused(ReasonNotTrusted)
}

func namesOf(rules []trusts.Rule) string {
	var list []string
	for _, rule := range rules {
		list = append(list, rule.Name)
	}
	return strings.Join(list, ", ")
}

// closest returns the refusal by the rule that was most nearly met: a wrong claim rather than a wrong audience.
func closest(refusals []string) string {
	for _, reason := range refusals {
		if strings.HasPrefix(reason, reasonClaim) {
			return reason
		}
	}
	return refusals[0]
}

func (s *Service) unavailable(ctx context.Context, issuer string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.config.Log != nil {
		s.config.Log.Warn("keys of an issuer not read", "issuer", issuer, "error", err)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, RetryAfter: fetchPause, Cause: err,
		Message: "The keys of the issuer could not be read. Try again."}
}

// record stores the refusal of a token in the organization that it was meant for. Refusals share a record unless their objects differ: the
// object is the subject of a verified token, and empty for others, so that their sender cannot fill the audit log.
func (s *Service) record(ctx context.Context, origin audit.Origin, org store.Org, token presented, object, reason string) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: s.config.Now(), OrgUID: org.UID, ActorName: token.subject,
			Method: audit.MethodOIDC, Action: audit.Login, Object: object, Outcome: audit.Refused, Reason: reason, Origin: origin})
	})
	return fault.Wrap("record a refusal", err)
}

// logIn issues the token. A token of the issuer that was used before is refused in the same transaction, so that it is accepted once even
// by several servers.
func (s *Service) logIn(ctx context.Context, origin audit.Origin, org store.Org, rule trusts.Rule, token presented) (auth.Tokens, error) {
	tokens, err := s.logins.LoginWorkload(ctx, origin, auth.Vouched{OrgUID: org.UID, Method: audit.MethodOIDC, Target: token.subject,
		User: func(tx *store.Tx) (store.User, error) {
			user, err := tx.Users.Get(ctx, org.UID, rule.UID)
			if err == nil {
				err = useOnce(ctx, tx, rule, token)
			}
			return user, err
		}})
	if errors.Is(err, errUsed) {
		if err := s.record(ctx, origin, org, token, "", reasonUsed); err != nil {
			return auth.Tokens{}, err
		}
		return auth.Tokens{}, refused(ReasonNotTrusted)
	}
	if errors.Is(err, auth.ErrNoLogin) { // the rule was deleted since
		return auth.Tokens{}, refused(ReasonNotTrusted)
	}
	return tokens, fault.Wrap("exchange a token", err)
}

var errUsed = errors.New("the token was used before")

// useOnce returns errUsed for a token that was used before. A token without an ID is known by what is signed: some signatures have a second
// form.
func useOnce(ctx context.Context, tx *store.Tx, rule trusts.Rule, token presented) error {
	if rule.Reusable {
		return nil
	}
	signed := token.raw[:strings.LastIndexByte(token.raw, '.')]
	id := sha256.Sum256([]byte(fmt.Sprintf("%q %q", token.issuer, cmp.Or(token.id, signed))))
	isFirst, err := tx.Trusts.Use(ctx, id[:], token.expires.Add(clockSkew))
	if err == nil && !isFirst {
		err = errUsed
	}
	return err
}

// refused is the response to a token that is not accepted.
func refused(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeAuthenticationFailed, Reason: reason, Message: messages[reason]}
}

var messages = map[string]string{
	ReasonMalformed: "The token must be a JWT with the claims iss, sub and exp, signed with an asymmetric algorithm.",
	ReasonExpired:   "The token has expired or is not valid yet. Request a new one from its issuer.",
	ReasonNotTrusted: "No trust rule of this organization accepts the token. The audit log of the organization has the reason, such as a " +
		"claim that differs.",
	ReasonExpiredLogin: "The login has expired, or was begun in another window. Log in again.",
	ReasonRefusedThere: "The identity provider refused the login.",
	reasonEmailTaken: "A user with your email exists already. An administrator can link it to your account at the identity provider; the " +
		"audit log has the subject.",
	reasonNoEmail:      "The identity provider does not send your email. Ask your administrator: its client needs the scope email.",
	reasonUnverified:   "The identity provider has not verified your email.",
	reasonEmailDomain:  "Your email is not of a domain that your organization allows.",
	reasonUserDisabled: "Your user is disabled. Ask an administrator of your organization.",
}
