package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// BenchmarkChanges measures transactions of 32 clients at three servers on PostgreSQL that change one row each, and the same with a change
// that the other servers must know:
//
//	go test ./internal/storage/store -run '^$' -bench Changes -benchtime 3s
func BenchmarkChanges(b *testing.B) {
	server := postgrestest.Start(b, postgrestest.Options{})
	for name, note := range map[string]bool{"not_noted": false, "noted": true} {
		b.Run(name, func(b *testing.B) { changeRows(b, secret.String(server.NewDatabase(b)), note) })
	}
}

func changeRows(b *testing.B, url secret.String, note bool) {
	const clients, servers = 32, 3
	var dbs []*DB
	for range servers {
		db, err := Open(b.Context(), Options{DatabaseURL: url, MasterKey: testKey})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		dbs = append(dbs, db)
	}
	orgs := make([]string, clients)
	for i := range orgs {
		orgs[i] = uuid.NewString()
		if err := dbs[0].InTx(b.Context(), func(tx *Tx) error {
			return tx.Orgs.Insert(b.Context(), Org{UID: orgs[i], Name: orgs[i], Canonical: orgs[i], CreatedAt: noon})
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	for i, org := range orgs {
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				if err := changeRow(dbs[i%servers], org, note); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
	b.ReportMetric(0, "ns/op")
}

func changeRow(db *DB, org string, note bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return db.InTx(ctx, func(tx *Tx) error {
		if err := tx.Orgs.Lock(ctx, org); err != nil || !note {
			return err
		}
		return tx.Changes.Note(ctx, org)
	})
}
