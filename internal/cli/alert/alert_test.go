package alert

import (
	"strings"
	"testing"
)

func TestURLsWithSecretsAreNoArguments(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://hooks.example.com/regwarden": true, "https://events.pagerduty.com/v2/enqueue": true, "http://127.0.0.1:8080": true,
		"https://hooks.slack.com/services/T000/B000/abcdefghijklmnopqrstuvwx": false,
		"https://hooks.example.com/?sig=marked":                               false,
		"https://hooks.example.com/#marked":                                   false,
		"https://marked@hooks.example.com/":                                   false,
		"https://hooks.example.com/%zzmarked":                                 false,
	} {
		if err := checkPlainURL(url); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "marked") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
