package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsOfChecksAndTheMailServer(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // part of the problem; "" for none
	}{
		{nil, ""},
		{[]string{"--watch-interval", "0s"}, ""},
		{[]string{"--smtp-host", "mail.example.com"}, "smtp-from: must be an email address"},
		{[]string{"--smtp-host", "mail.example.com", "--smtp-from", "Regwarden <r@example.com>"}, "smtp-from: must be an email address"},
		{[]string{"--smtp-host", "mail.example.com", "--smtp-from", "r@example.com"}, ""},
		{[]string{"--smtp-from", "r@example.com"}, "smtp-host: is required"},
		{[]string{"--smtp-tls", "maybe"}, "smtp-tls: must be one of starttls, tls, none"},
		{[]string{"--smtp-host", "m", "--smtp-from", "r@example.com", "--smtp-username", "u"},
			"smtp-username: requires smtp-password-file"},
		{[]string{"--smtp-host", "m", "--smtp-from", "r@example.com", "--smtp-username", "u", "--smtp-password-file", "f", "--smtp-tls",
			"none"}, "unencrypted"},
		{[]string{"--alert-mail-domains", "Example.com,sub.example.com", "--alert-mails-per-hour", "1", "--public-url",
			"https://r.example.com/base/"}, ""},
		{[]string{"--alert-mail-domains", "*.example.com"}, `alert-mail-domains: "*.example.com" must be a domain`},
		{[]string{"--public-url", "r.example.com"}, "public-url: must be a URL"},
		{[]string{"--public-url", "https://u:p@r.example.com"}, "public-url: must be a URL"},
		{[]string{"--public-url", "https://r.example.com/?a=b"}, "public-url: must be a URL"},
	} {
		_, err := loaded(t, tt.args, nil, "")
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestThePasswordOfTheMailServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	c := &Config{SMTPHost: "m", SMTPTLS: "tls", SMTPUsername: "u", SMTPPasswordFile: path, SMTPFrom: "r@example.com"}
	for text, want := range map[string]string{"pa55 \r\n": "pa55 ", "pa55": "pa55", "\n": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := c.MailServer()
		if (err == nil) != (want != "") || err == nil && (m.Password.Reveal() != want || m.Port != 465) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if m, err := (&Config{}).MailServer(); m != nil || err != nil {
		t.Errorf("without settings: %v, %v", m, err)
	}
}
