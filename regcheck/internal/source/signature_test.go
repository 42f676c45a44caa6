package source

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Signatures are those that AWS publishes: the example of its General Reference, and get-vanilla of its test suite for Signature
// Version 4.
func TestPublishedSignatures(t *testing.T) {
	key := awsKey{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for _, row := range []struct {
		url, contentType, service, want string
	}{
		{"https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "application/x-www-form-urlencoded; charset=utf-8", "iam",
			"SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
		{"https://example.amazonaws.com/", "", "service",
			"SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	} {
		u, err := url.Parse(row.url)
		if err != nil {
			t.Fatal(err)
		}
		request := &Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
		if row.contentType != "" {
			request.Header.Set("Content-Type", row.contentType)
		}
		signed, err := key.signed(t.Context(), request, row.service, "us-east-1", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" + row.service + "/aws4_request, " + row.want
		if got := signed.Header.Get("Authorization"); got != want {
			t.Errorf("%s: %s, want %s", row.url, got, want)
		}
	}
}
