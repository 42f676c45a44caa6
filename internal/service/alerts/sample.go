package alerts

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	maxOrgTests   = 4   // at once
	shownResponse = 200 // characters of a receiver's response
)

// TestResult is what became of a sample alert. Status is 0 and Response empty if the receiver sent none.
type TestResult struct {
	Delivered bool
	Status    int    // of HTTP
	Response  string // the beginning of the receiver's response with copies of secrets masked; for email the number of messages
	Duration  time.Duration
	Error     string // empty if it was delivered
	Hint      string
}

// Test sends a sample alert by a channel now, active or not, in the way of real ones. Nothing is retried, and the status of the channel
// and its pending deliveries stay as they are. Each test counts as a contact caused by the user.
//
// Faults: Forbidden; Limited; NotFound for an unknown component or channel.
func (s *Channels) Test(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, uid string) (TestResult, error) {
	record := p.AuditRecord(origin, audit.AlertTest)
	record.UID, record.At, record.Object, record.Outcome = origin.RecordUID(), s.now(), uid, audit.Started
	if refusal := p.MayIn(access.ConfigureAlerts, in.ProjectUID); refusal != nil {
		return TestResult{}, s.refuse(ctx, record, fault.CodeOperationForbidden, refusal)
	}
	if err := checkComponent(in.Component); err != nil {
		return TestResult{}, err
	}
	release, ok := s.tests.acquire(in.OrgUID)
	if !ok {
		return TestResult{}, s.refuse(ctx, record, fault.CodeTooManyRequests, tooManyTests("at once", time.Second))
	}
	defer release()
	channel, org, err := s.beginTest(ctx, p, in, record)
	if fault.KindOf(err) == fault.Limited {
		return TestResult{}, s.refuse(ctx, record, fault.CodeTooManyRequests, err)
	}
	if err != nil {
		return TestResult{}, fault.Wrap("test an alert channel", err)
	}
	began := time.Now()
	sent := s.sender.send(ctx, channel, store.Delivery{UID: uuid.NewString(), OrgUID: in.OrgUID}, sampleAlert(in.Component, org, s.now()))
	tested := testResult(channel, sent)
	tested.Duration = time.Since(began)
	return tested, storeOutcome(ctx, s.db, func(ctx context.Context, tx *store.Tx) error {
		if tested.Delivered {
			return tx.Audits.Complete(ctx, record.UID, audit.Succeeded, "", nil)
		}
		return tx.Audits.Complete(ctx, record.UID, audit.Failed, "notDelivered", nil)
	})
}

// beginTest reads the channel, counts the test, and records it before anything is sent.
func (s *Channels) beginTest(ctx context.Context, p auth.Principal, in Scope,
	record audit.Record) (channel store.Channel, org store.Org, err error) {
	err = s.db.InTx(ctx, func(tx *store.Tx) error {
		if channel, err = tx.Channels.Get(ctx, in.OrgUID, record.Object); err != nil {
			return notFound(err)
		}
		if channel.ProjectUID != in.ProjectUID || channel.Component != in.Component {
			return channelNotFound()
		}
		if org, err = tx.Orgs.Get(ctx, in.OrgUID); err != nil {
			return err
		}
		if p.UserUID != "" { // not an operator
			wait, _, err := tx.Allowances.ReserveContact(ctx, p.UserUID, s.config.ChecksPerMinute, s.now())
			if err != nil {
				return err
			}
			if wait > 0 {
				return tooManyTests("in the last minute", wait)
			}
		}
		record.Target = originOf(channel.HTTP.URL)
		return tx.Audits.Append(ctx, record)
	})
	return channel, org, err
}

func tooManyTests(when string, wait time.Duration) error {
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: fmt.Sprintf("Too many tests of alert channels %s. Retry after the time in Retry-After.", when)}
}

// testSlots limits the tests of an organization at once: receivers may be slow, and everyone can create channels for such.
type testSlots struct {
	mu      sync.Mutex
	running map[string]int
}

func (t *testSlots) acquire(orgUID string) (release func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[orgUID] >= maxOrgTests {
		return nil, false
	}
	if t.running == nil {
		t.running = map[string]int{}
	}
	t.running[orgUID]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.running[orgUID]--; t.running[orgUID] == 0 {
			delete(t.running, orgUID)
		}
	}, true
}

// sampleAlert is like a real alert of the component, and says that it is a test in every text that people read.
func sampleAlert(component string, org store.Org, at time.Time) Alert {
	const noAction, none = "This is a test. No action is needed.", "00000000-0000-0000-0000-000000000000"
	if component == ClusterHealth {
		component = RegistryHealth
	}
	a := Alert{UID: uuid.NewString(), Component: component, At: at, Test: true, Organization: Organization{org.UID, org.Name}}
	if component == APIKeyExpiry {
		key := APIKey{UID: none, Name: "example", User: "user@example.com", ExpiresAt: at.AddDate(0, 0, 7)}
		a.Kind, a.Message, a.APIKeys = APIKeyExpiresSoon, `Test: API key "example" of user@example.com expires soon. `+noAction,
			[]APIKey{key}
		return a
	}
	const endpoint = "https://registry.example.com"
	a.Kind, a.Message = RegistryNotValid, fmt.Sprintf("Test: Registry %q (%s) is not valid: RegistryAuthFailed. %s", "example", endpoint,
		noAction)
	a.Registry = &Registry{UID: none, Name: "example", Endpoint: endpoint, Previous: &HealthResult{Valid: true},
		Current: HealthResult{Code: "RegistryAuthFailed", Stage: "auth", Reason: "refused", Field: "auth.password",
			Message: "The credentials were rejected.", Hint: noAction}}
	return a
}

// testResult describes an attempt to the administrator of the channel.
func testResult(c store.Channel, r result) TestResult {
	t := TestResult{Delivered: r.ok, Status: r.status, Response: cut(maskCopies(oneLineOf(r.response), secretsOf(c.HTTP)...))}
	if !r.ok {
		t.Error, t.Hint = r.message, r.hint
	} else if c.Type == TypeEmail {
		t.Response = r.message
	}
	return t
}

// oneLineOf returns the printable characters of a text, with single spaces between words.
func oneLineOf(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }), " ")
}

// cut returns the first characters of a text.
func cut(text string) string {
	all := []rune(text)
	return string(all[:min(len(all), shownResponse)])
}

// secretsOf returns what a receiver may repeat of its request, often its path, and what users must not see who may not change the
// channel.
func secretsOf(h store.ChannelHTTP) []string {
	secrets := []string{h.Body, h.Secret}
	if u, err := url.Parse(h.URL); err == nil {
		query, _ := url.QueryUnescape(u.RawQuery)
		secrets = append(secrets, u.RequestURI(), u.EscapedPath(), u.Path, query)
	}
	for _, value := range h.Headers {
		secrets = append(secrets, value)
	}
	return secrets
}

// A part of a response with this many bytes of a secret is masked. A shorter secret is masked as a whole, if it has minCopied bytes.
const (
	copied    = 6
	minCopied = 3
)

// maskCopies masks the parts of text that are copies of a part of a secret, in any letter case.
func maskCopies(text string, secrets ...string) string {
	parts := map[string]bool{}
	for _, s := range secrets {
		s = lowerASCII(s)
		for n, i := min(copied, len(s)), 0; n >= minCopied && i+n <= len(s); i++ {
			parts[s[i:i+n]] = true
		}
	}
	lower, hidden := lowerASCII(text), make([]bool, len(text))
	for n := minCopied; n <= copied; n++ {
		for i := 0; i+n <= len(lower); i++ {
			if parts[lower[i:i+n]] {
				copy(hidden[i:i+n], slices.Repeat([]bool{true}, n))
			}
		}
	}
	var masked strings.Builder
	for i := range len(text) {
		if !hidden[i] {
			masked.WriteByte(text[i])
		} else if i == 0 || !hidden[i-1] {
			masked.WriteString(secret.Mask)
		}
	}
	return strings.ToValidUTF8(masked.String(), "") // a part may begin in the middle of a character
}
