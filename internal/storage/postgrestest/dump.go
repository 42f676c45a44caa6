package postgrestest

import (
	"fmt"
	"io"
	"net/url"
)

// Dump runs pg_dump on a database of the server and writes its output to w. Its transaction lasts until w has accepted all.
func (s *Server) Dump(database string, w io.Writer) error {
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	u.User = url.User(User) // command passes the password
	cmd := s.command("pg_dump", "--dbname", u.String())
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pg_dump: %w", err)
	}
	return nil
}
