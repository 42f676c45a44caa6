package cloudtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// signature is a Signature Version 4 as a request has it: its own code, so that a mistake of a client's library is found.
type signature struct {
	key, date, region, service string
	headers                    []string
	value                      string
	time                       time.Time
}

// readSignature reads the Authorization header.
func readSignature(r *http.Request) (s signature, ok bool) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return s, false
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			scope := strings.Split(value, "/")
			if len(scope) != 5 || scope[4] != "aws4_request" {
				return s, false
			}
			s.key, s.date, s.region, s.service = scope[0], scope[1], scope[2], scope[3]
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		case "Signature":
			s.value = value
		}
	}
	var err error
	s.time, err = time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	return s, err == nil && strings.HasPrefix(r.Header.Get("X-Amz-Date"), s.date) && slices.Contains(s.headers, "host")
}

// matches computes the signature with the secret (AWS General Reference, "Create a signed AWS API request").
func (s signature) matches(r *http.Request, body []byte, secret string) bool {
	var headers strings.Builder
	for _, name := range s.headers {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
			if value == "" {
				value = strconv.Itoa(len(body))
			}
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	canonical := strings.Join([]string{r.Method, path, r.URL.Query().Encode(), headers.String(), strings.Join(s.headers, ";"),
		hash(body)}, "\n")
	scope := strings.Join([]string{s.date, s.region, s.service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", s.time.Format("20060102T150405Z"), scope, hash([]byte(canonical))}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.date, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(mac(key, text))), []byte(s.value)) == 1
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
