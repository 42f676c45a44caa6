package regcheck

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/source"
)

// The downloads of a full check take longer than a check: it does not begin with credentials that expire before their end.
func TestFullCheckRenewsCredentialsEarlier(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 17, 0, 0, time.UTC)
	plan := MustParse(t, Definition{Endpoint: "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
		Auth: &Auth{Type: ECR, AWS: &AWSKey{AccessKey: "AKIAREADER", SecretKey: "reader-secret"}}})
	for _, row := range []struct {
		left time.Duration
		full bool
		want bool
	}{
		{7 * time.Minute, false, true},
		{7 * time.Minute, true, false},
		{19 * time.Minute, true, false},
		{21 * time.Minute, true, true},
	} {
		c := &Checker{Obtained: new(source.Cache), Full: row.full, Now: func() time.Time { return now }}
		r := &run{subject: newSubject(c, plan), checker: c}
		c.Obtained.Put(plan.login.Source, source.Credentials{Username: "AWS", Expires: now.Add(row.left)}, now.Add(-11*time.Hour))
		if got := r.remembered().Remembered; got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
		r.Wire.Close()
	}
}
