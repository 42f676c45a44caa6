package auth

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/process/cputime"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// BenchmarkAuthenticate measures the authentication of a request whose token was used before: one token, and one of many.
//
//	go test ./internal/service/auth -run '^$' -bench Authenticate -benchmem
func BenchmarkAuthenticate(b *testing.B) {
	db, err := store.Open(b.Context(), store.Options{DataDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := newService(b.Context(), db, Config{hashCost: cheap})
	if err != nil {
		b.Fatal(err)
	}
	go s.PollChanges(b.Context())
	for _, count := range []int{1, 100_000} {
		tokens := make([]secret.String, count)
		for i := range tokens {
			session := store.Session{UID: uuid.NewString(), UserUID: uuid.NewString(), OrgUID: uuid.NewString(),
				Email: fmt.Sprintf("user%d@acme.example", i), Role: "member", OrgName: "acme"}
			if tokens[i], _, err = s.sign(s.keySet().signing, session, uuid.NewString(), time.Now(), s.cache.Position()); err != nil {
				b.Fatal(err)
			}
		}
		authenticate := func(token secret.String) {
			if _, err := s.Authenticate(b.Context(), Presented{Authorization: token}); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("%d_first_use", count), func(b *testing.B) {
			for i := range min(b.N, count) {
				authenticate(tokens[i])
			}
		})
		for _, token := range tokens {
			authenticate(token)
		}
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			before := cputime.Used()
			for b.Loop() {
				authenticate(tokens[rand.IntN(count)])
			}
			b.ReportMetric(float64(cputime.Used()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
