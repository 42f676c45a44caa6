package registry

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/manage"
)

// store is a local store that returns the same responses in their order, and records the bodies of requests.
type store struct {
	responses []string
	requests  []string
}

func (s *store) AddFlags(*pflag.FlagSet) {}
func (s *store) Source() string          { return "flag" }
func (s *store) Where() string           { return "the store" }

func (s *store) Open(context.Context, string, bool) (http.RoundTripper, func(), error) {
	return s, func() {}, nil
}

func (s *store) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests = append(s.requests, string(body))
	text := s.responses[min(len(s.requests), len(s.responses))-1]
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// Only what the question named is deleted: nothing if it would name none, and one that is missing by then is reported by its name.
func TestBulkDelete(t *testing.T) {
	for _, tt := range []struct {
		name           string
		responses      []string
		sent, messages string
		fails          bool
	}{
		{"none", []string{`{"items":[]}`}, "", "Deleted 0 registries.\n", false},
		{"two, one of which is missing", []string{
			`{"items":[{"uid":"1","name":"one","result":"matched"},{"uid":"2","name":"two","result":"matched"}]}`,
			`{"items":[{"uid":"1","name":"one","result":"done"},{"uid":"2","name":"","result":"refused","message":"Registry not found."}]}`,
		}, `{"action":"delete","uids":["1","2"],"dryRun":false}`, "two: Registry not found.\nDeleted 1 registry.\n", true},
	} {
		s := &store{responses: tt.responses}
		cmd := Commands{manage.Program{NewLocal: func() manage.Local { return s }}}.Registry()
		var messages bytes.Buffer
		cmd.SetErr(&messages)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"delete", "--label", "team=a", "--yes"})
		err := cmd.ExecuteContext(t.Context())
		if sent := strings.Join(s.requests[min(1, len(s.requests)):], " "); (err != nil) != tt.fails || sent != tt.sent {
			t.Errorf("%s: %v, sent %s", tt.name, err, sent)
		}
		if messages.String() != tt.messages {
			t.Errorf("%s: %q", tt.name, messages.String())
		}
	}
}
