package store

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// BenchmarkRefresh measures transactions of the shape of a refresh (advance a session, append a record) on both
// databases, and the same PostgreSQL with pgbench and one single-row update:
//
//	go test ./internal/storage/store -run '^$' -bench Refresh -benchtime 3s
func BenchmarkRefresh(b *testing.B) {
	server := postgrestest.Start(b, postgrestest.Options{})
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("SQLite/%d", clients), func(b *testing.B) { refreshes(b, Options{DataDir: b.TempDir()}, clients) })
		b.Run(fmt.Sprintf("PostgreSQL/%d", clients), func(b *testing.B) {
			refreshes(b, Options{DatabaseURL: secret.String(server.NewDatabase(b)), MasterKey: testKey}, clients)
		})
		b.Run(fmt.Sprintf("pgbench/%d", clients), func(b *testing.B) { pgbench(b, server, clients) })
	}
}

func refreshes(b *testing.B, o Options, clients int) {
	ctx := context.Background()
	db, err := Open(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	sessions := make([]string, clients)
	err = db.InTx(ctx, func(tx *Tx) error {
		if err := tx.Orgs.Insert(ctx, Org{UID: "o", Name: "o", Canonical: "o", CreatedAt: noon}); err != nil {
			return err
		}
		if err := tx.Users.Insert(ctx,
			User{UID: "u", OrgUID: "o", Email: "u", Canonical: "u", Role: "member", PasswordHash: "h", PasswordChangedAt: noon,
				CreatedAt: noon}); err != nil {
			return err
		}
		for i := range sessions {
			sessions[i] = uuid.NewString()
			if err := tx.Sessions.Insert(ctx, Session{UID: sessions[i], OrgUID: "o", UserUID: "u", Generation: 1, CreatedAt: noon,
				IdleUntil: noon.Add(time.Hour), MaxUntil: noon.Add(time.Hour)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	for _, uid := range sessions {
		wait.Go(func() {
			for generation := int64(1); left.Add(-1) >= 0; generation++ {
				if err := refresh(ctx, db, uid, generation); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
}

func refresh(ctx context.Context, db *DB, uid string, generation int64) error {
	return db.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.Sessions.Advance(ctx, uid, generation, noon, noon.Add(time.Hour)); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, audit.Record{UID: uuid.NewString(), At: noon, Action: audit.Refresh, Outcome: audit.Succeeded})
	})
}

var benchSpeed = regexp.MustCompile(`tps = ([0-9.]+)`)

func pgbench(b *testing.B, server *postgrestest.Server, clients int) {
	url := server.NewDatabase(b)
	if err := server.Exec(b.Context(), url, "CREATE TABLE rows (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		"INSERT INTO rows SELECT id, 0 FROM generate_series(1, 1000) AS id"); err != nil {
		b.Fatal(err)
	}
	script := filepath.Join(b.TempDir(), "update")
	if err := os.WriteFile(script, []byte("\\set id random(1, 1000)\nUPDATE rows SET n = n + 1 WHERE id = :id;\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		b.Fatal("pgbench is not installed")
	}
	b.ResetTimer()
	out, err := exec.CommandContext(b.Context(), found[len(found)-1], "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "1", "-t",
		strconv.Itoa(max(1, b.N/clients)),
		"-f", script, strings.TrimSpace(url)).CombinedOutput() // #nosec G204 -- arguments of a benchmark
	match := benchSpeed.FindSubmatch(out)
	if err != nil || match == nil {
		b.Fatalf("%v\n%s", err, out)
	}
	speed, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(speed, "tx/s")
}
