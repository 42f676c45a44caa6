package regcheck

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The JSON of a report is a contract: every name, and null for what does not apply.
func TestReportJSON(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 17, 0, 0, time.UTC)
	for _, row := range []struct {
		report Report
		want   string
	}{
		{Report{Valid: true, Registry: "https://registry.test/v2/", StartedAt: at},
			`{"valid":true,"code":null,"message":null,"stage":null,"reason":null,"field":null,"hint":null,"retryable":false,` +
				`"registry":"https://registry.test/v2/","stages":[],"references":[],"warnings":[],"startedAt":"2026-11-21T05:17:00.000Z",` +
				`"durationMs":0,"roundTrips":0}`},
		{Report{Code: CodeTLSFailed, Message: "m", Stage: StageTLS, Reason: ReasonExpired, Hint: "h", Retryable: true, Registry: "r",
			Stages: []StageResult{{Name: StageResolve, Status: OK, DurationMS: 3, Detail: "d", RoundTrips: 2,
				Hops: []string{"https://h.test"}}, {Name: StageAPI, Status: Skipped}},
			References: []ReferenceResult{{Reference: "a:1", Valid: true, Status: OK, Message: "m"},
				{Reference: "a:2", Status: Failed, Code: CodeContentNotFound, Reason: ReasonTagUnknown, Message: "m",
					Hint: "h", Retryable: true}},
			Warnings:  []Warning{{Code: WarnRedirected, Field: "endpoint", Message: "w"}, {Code: WarnCertificateExpiresSoon, Message: "x"}},
			StartedAt: at, Duration: 7 * time.Millisecond, DurationMS: 7, RoundTrips: 2},
			`{"valid":false,"code":"RegistryTLSFailed","message":"m","stage":"tls","reason":"expired","field":null,"hint":"h",` +
				`"retryable":true,"registry":"r",` +
				`"stages":[{"name":"resolve","status":"ok","durationMs":3,"detail":"d","roundTrips":2,"hops":["https://h.test"]},` +
				`{"name":"api","status":"skipped","durationMs":0,"detail":null,"roundTrips":0,"hops":[]}],` +
				`"references":[{"reference":"a:1","valid":true,"status":"ok","code":null,"reason":null,"message":"m","hint":null,` +
				`"retryable":false},` +
				`{"reference":"a:2","valid":false,"status":"failed","code":"RegistryContentNotFound","reason":"tagUnknown","message":"m",` +
				`"hint":"h","retryable":true}],` +
				`"warnings":[{"code":"redirected","field":"endpoint","message":"w"},{"code":"certificateExpiresSoon","field":null,` +
				`"message":"x"}],` +
				`"startedAt":"2026-11-21T05:17:00.000Z","durationMs":7,"roundTrips":2}`},
	} {
		got, err := json.Marshal(&row.report)
		if err != nil || string(got) != row.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, row.want)
		}
		var back Report
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(back)
		if diff := cmp.Diff(string(got), string(again)); diff != "" {
			t.Errorf("reading it back: %s", diff)
		}
	}
}
