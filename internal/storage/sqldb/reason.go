package sqldb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLSTATE codes of connections that the database refuses, and of its full disk.
const (
	codeWrongPassword = "28P01"
	codeNotAdmitted   = "28000"
	codeNoDatabase    = "3D000"
	codeTooMany       = "53300"
	codeDiskFull      = "53100"
)

// Reason returns why the database cannot be used and what to do, for people: nothing for errors that a repetition may end. connecting
// reports whether there was no connection, as with wrong settings.
func Reason(err error) (text string, connecting bool) {
	failed, ok := errors.AsType[*unavailableError](err)
	if !ok {
		return "", false
	}
	return failed.reason, failed.connecting
}

// reasonOf returns the reason of an error of the database, before its type is lost.
func reasonOf(err error) (text string, connecting bool) {
	if x, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return connectReason(x), true
	}
	if x, ok := errors.AsType[*sqlite.Error](err); ok {
		return sqliteReasons[x.Code()&0xff], false
	}
	if errors.Is(err, syscall.ENOSPC) { // of the probe of a full disk
		return sqliteReasons[sqlite3.SQLITE_FULL], false
	}
	if codeOf(err) == codeDiskFull {
		return "The disk of the database server is full. Free space there.", false
	}
	return "", false
}

var sqliteReasons = map[int]string{
	sqlite3.SQLITE_FULL:     "The disk of the data directory is full. Free space there, or move the directory.",
	sqlite3.SQLITE_IOERR:    "The data directory cannot be read or written. Check its disk, and that it has free space.",
	sqlite3.SQLITE_READONLY: "The database in the data directory cannot be written. Check the permissions of the directory and its files.",
	sqlite3.SQLITE_CANTOPEN: "The database in the data directory cannot be opened. Check the permissions of the directory and its files.",
}

// connectReason describes why there is no connection. The configuration in the error has the password, which is not used.
func connectReason(x *pgconn.ConnectError) string {
	c := x.Config
	at := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	refused, _ := errors.AsType[*pgconn.PgError](x)
	switch codeOf(x) {
	case codeWrongPassword:
		return fmt.Sprintf("The database server at %s does not accept the password of the user %q. "+
			"Correct it in database-url, its file or the PGPASSFILE.", at, c.User)
	case codeNotAdmitted:
		return fmt.Sprintf("The database server at %s does not admit the user %q: %s. "+
			"Correct the user in database-url, or pg_hba.conf of the server.", at, c.User, refused.Message)
	case codeNoDatabase:
		return fmt.Sprintf("The database %q does not exist at %s. Create it, or correct its name in database-url.", c.Database, at)
	case codeTooMany:
		return fmt.Sprintf("The database server at %s has no free connection. "+
			"Raise its max_connections, or stop other programs that use it.", at)
	case "":
		return networkReason(x, c.Host, at)
	}
	return fmt.Sprintf("The database server at %s refuses connections: %s.", at, refused.Message)
}

func networkReason(err error, host, at string) string {
	unknown, _ := errors.AsType[*net.DNSError](err)
	switch {
	case unknown != nil && unknown.IsNotFound:
		return fmt.Sprintf("The database host %s is unknown. Correct it in database-url, or the DNS of this machine.", host)
	case unknown != nil:
		return fmt.Sprintf("The name of the database host %s cannot be resolved now. Correct the DNS of this machine.", host)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist): // the latter for a socket
		return fmt.Sprintf("No database server accepts connections at %s. Start it, or correct host and port in database-url.", at)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("The database host %s does not respond. Correct host and port in database-url, or the network between.", at)
	}
	return fmt.Sprintf("There is no connection to the database at %s. Correct database-url, such as its sslmode.", at)
}
