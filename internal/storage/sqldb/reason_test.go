package sqldb

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/secret"
)

// connectionReasons opens a store with wrong settings: the reason names what is wrong, and has no password.
func connectionReasons(t *testing.T, server *postgrestest.Server) {
	closed := testport.Unused(t)
	for want, url := range map[string]string{
		"does not accept the password of the user \"" + postgrestest.User +
			"\"": strings.Replace(server.URL("postgres"), "marked", "marked-wrong", 1),
		"The database \"missing\" does not exist at " + server.Address(): server.URL("missing"),
		"No database server accepts connections at " + closed:            server.URLVia(closed, "postgres"),
		"There is no connection to the database at " + server.Address() +
			". Correct da": strings.Replace(server.URL("postgres"), "sslmode=disable", "sslmode=require", 1),
	} {
		_, err := Open(t.Context(), Options{URL: secret.String(url)}, setup)
		text, connecting := Reason(err)
		if !connecting || !strings.Contains(text, want) || strings.Contains(text, "marked") || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReasonsOfTheNetwork(t *testing.T) {
	for want, err := range map[string]error{
		"The database host db.example is unknown.": &net.DNSError{Err: "no such host", Name: "db.example", IsNotFound: true},
		"cannot be resolved now": &net.DNSError{Err: "server misbehaving",
			Name: "db.example", IsTemporary: true},
		"The database host db.example:5432 does not respond": fmt.Errorf("dial: %w", context.DeadlineExceeded),
	} {
		if text := networkReason(err, "db.example", "db.example:5432"); !strings.Contains(text, want) {
			t.Errorf("%v: %s", err, text)
		}
	}
}

func TestReasonOfAFullDisk(t *testing.T) {
	db := mustOpen(t, Options{Dir: t.TempDir()})
	limitPages(t, db, 50)
	var err error
	for range 200 {
		if err = insertAlone(t, db, uuid.NewString()+strings.Repeat("x", 2000)); err != nil {
			break
		}
	}
	if text, connecting := Reason(err); connecting || !strings.HasPrefix(text, "The disk of the data directory is full.") {
		t.Errorf("%q: %v", text, err)
	}
	if text, connecting := Reason(unavailable(errClosed)); text != "" || connecting {
		t.Errorf("a closed store: %q", text)
	}
}
