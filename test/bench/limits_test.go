package bench

import (
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	_ "modernc.org/sqlite" // the driver that the service has

	"github.com/regwarden/regwarden/test/instance"
)

// What the machine can do at most, measured in a process of its own, in turn with what is held against it.
const (
	limitPlain  = "plain"  // password hashes of all cores, by golang.org/x/crypto/argon2
	limitRow    = "row"    // SQLite as the service sets it: one row updated, one commit
	limitRows   = "rows"   // the same, 32 rows in a commit
	limitSign   = "sign"   // Ed25519
	limitVerify = "verify" // Ed25519
	limitEcho   = "echo"   // a byte there and back on loopback
)

// limitAsked is what to measure, where on the disk, and for how long.
type limitAsked struct {
	What, Folder string
	For          time.Duration
}

// limitEnd is how much was done in a second, and what each took of the processors.
type limitEnd struct {
	PerSecond float64
	Each      time.Duration
}

func (e limitEnd) milli() float64 { return float64(e.Each) / 1e6 }

// limits is the part's state: what is made once.
type limits struct {
	rows *sql.DB
}

// answer is asked with a limitAsked and answers with a limitEnd, both JSON.
func (l *limits) answer(asked string) (string, error) {
	runtime.GOMAXPROCS(runtime.NumCPU())
	var a limitAsked
	if err := json.Unmarshal([]byte(asked), &a); err != nil {
		return "", err
	}
	do, workers, rows, err := l.work(a)
	if err != nil {
		return "", err
	}
	end, err := repeat(do, workers, a.For)
	end.PerSecond *= float64(rows)
	return instance.JSON(end), err
}

// work returns what to do again and again, on how many goroutines, and how much is done each time.
func (l *limits) work(a limitAsked) (do func(int) error, workers, each int, err error) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	message := make([]byte, 400) // as long as the claims of a token
	signed := ed25519.Sign(key, message)
	switch a.What {
	case limitPlain:
		return func(int) error {
			argon2.IDKey([]byte(userSecret), message[:16], 2, hashMiB<<10, 1, 32)
			return nil
		}, runtime.NumCPU(), 1, nil
	case limitRow, limitRows:
		err = l.openRows(a.Folder)
		if each = 1; a.What == limitRows {
			each = 32
		}
		return l.update(each), 1, each, err
	case limitSign:
		return func(int) error { ed25519.Sign(key, message); return nil }, 1, 1, nil
	case limitVerify:
		return func(int) error { ed25519.Verify(key.Public().(ed25519.PublicKey), message, signed); return nil }, 1, 1, nil
	case limitEcho:
		do, err = echo()
		return do, 1, 1, err
	}
	return nil, 0, 0, fmt.Errorf("no limit is called %q", a.What)
}

// repeat does something on so many goroutines for that long.
func repeat(do func(n int) error, workers int, long time.Duration) (limitEnd, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	done, used, began := 0, ownTime(), time.Now()
	for range workers {
		all.Go(func() {
			mine, err := 0, error(nil)
			for ; time.Since(began) < long && err == nil; mine++ {
				err = do(mine)
			}
			mu.Lock()
			defer mu.Unlock()
			if done += mine; err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	return limitEnd{float64(done) / took.Seconds(), (ownTime() - used) / time.Duration(max(done, 1))}, failed
}

const benchRows = 1000

// openRows makes a table of small rows, in a database that is as safe as the service's.
func (l *limits) openRows(folder string) error {
	if l.rows != nil {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "rows.db")+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
	for id := 0; id < benchRows && err == nil; id++ {
		_, err = db.Exec("INSERT INTO rows VALUES ($1, 0)", id)
	}
	l.rows = db
	return err
}

// update returns a transaction that updates so many rows. One alone needs no BEGIN: it is a transaction by itself.
func (l *limits) update(rows int) func(int) error {
	if l.rows == nil {
		return nil
	}
	one, err := l.rows.Prepare("UPDATE rows SET n = n + 1 WHERE id = $1")
	return func(n int) error {
		if err != nil || rows == 1 {
			if err == nil {
				_, err = one.Exec(n * 7 % benchRows)
			}
			return err
		}
		tx, err := l.rows.Begin()
		if err != nil {
			return err
		}
		mine := tx.Stmt(one)
		for i := range rows {
			if _, err := mine.Exec((n*rows + i) * 7 % benchRows); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
}

// echo returns a round trip of one byte on loopback.
func echo() (func(int) error, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		defer listener.Close()
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) // byte by byte: no splice(2)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	one := []byte{1}
	return func(int) error {
		if _, err := conn.Write(one); err != nil {
			return err
		}
		_, err := conn.Read(one)
		return err
	}, err
}

// machineLimits is the running part.
type machineLimits struct {
	b      *testing.B
	part   *part
	folder string
}

// startLimits measures on the disk that the folder is on.
func startLimits(b *testing.B) *machineLimits {
	b.Helper()
	return &machineLimits{b, startPart(b, partLimits), b.TempDir()}
}

func (m *machineLimits) measure(what string, long time.Duration) (end limitEnd) {
	m.b.Helper()
	said, err := m.part.ask(instance.JSON(limitAsked{what, m.folder, long}))
	if err == nil {
		err = json.Unmarshal([]byte(said), &end)
	}
	if err != nil {
		m.b.Fatalf("measure %s: %v", what, err)
	}
	return end
}
