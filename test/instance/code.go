package instance

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- RFC 6238
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// Code returns the code of a second factor (RFC 6238), so many time steps from now. It is written for the tests, so that they do not
// compare the library of the program with itself.
func Code(t testing.TB, secret string, steps int64) string {
	t.Helper()
	code, err := CodeOf(secret, steps)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// CodeOf is Code without a test.
func CodeOf(secret string, steps int64) (string, error) {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, time.Now().Unix()/30+steps)
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1e6), nil
}
