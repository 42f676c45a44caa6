package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

const marked = "hunter2-marked"

func TestSecretIsNeverPrinted(t *testing.T) {
	type holder struct{ Password secret.String }
	s := secret.String(marked)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{s, &s, holder{s}, &holder{s}, []secret.String{s}, map[string]secret.String{"k": s}} {
			if out := fmt.Sprintf(verb, value); strings.Contains(out, marked) || strings.Contains(out, fmt.Sprintf("%x", marked)) {
				t.Errorf("%s of %T shows the secret: %s", verb, value, out)
			}
		}
	}
	if err := fmt.Errorf("log in: %w", errors.New(fmt.Sprint(s))); strings.Contains(err.Error(), marked) {
		t.Errorf("an error shows the secret: %v", err)
	}

	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("m", "a", s, "b", holder{s}, "c", &s)
	}
	body, err := json.Marshal(holder{s})
	if err != nil {
		t.Fatal(err)
	}
	if all := log.String() + string(body); strings.Contains(all, marked) {
		t.Errorf("an encoder shows the secret: %s", all)
	}
	if !strings.Contains(string(body), secret.Mask) {
		t.Errorf("JSON does not show that a secret is there: %s", body)
	}
}

func TestDecodeAndReveal(t *testing.T) {
	var got struct{ A, B secret.String }
	if err := json.Unmarshal([]byte(`{"A":"`+marked+`"}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.A.Reveal() != marked || got.B != "" || got.B.String() != "" {
		t.Errorf("got %q and %q", got.A.Reveal(), got.B.Reveal())
	}
}
