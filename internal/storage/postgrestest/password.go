package postgrestest

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// hashedPassword is Password as PostgreSQL stores it (column rolpassword of pg_authid), with one iteration. By default there are 4096,
// which each client computes for each connection: a third of the processor time of tests of the store.
func hashedPassword() string {
	const iterations, salt = 1, "regwarden-test"
	salted, err := pbkdf2.Key(sha256.New, Password, []byte(salt), iterations, sha256.Size)
	if err != nil {
		panic(err) // only for other parameters
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		_, _ = mac.Write([]byte(text)) // never fails
		return mac.Sum(nil)
	}
	storedKey := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode([]byte(salt)), encode(storedKey[:]), encode(sign("Server Key")))
}
