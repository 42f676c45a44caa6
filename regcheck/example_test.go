package regcheck_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
)

// A registry that accepts one password.
func Example() {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if _, password, _ := r.BasicAuth(); password != "correct" {
			w.Header().Set("WWW-Authenticate", `Basic realm="example"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer registry.Close()

	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.1"}})
	if err != nil {
		log.Fatal(err)
	}
	checker := regcheck.Checker{Egress: policy}
	plan, problems := regcheck.Parse(regcheck.Definition{
		Endpoint: registry.URL,
		Auth:     &regcheck.Auth{Username: "ada", Password: "wrong"},
	})
	if len(problems) > 0 {
		log.Fatal(problems)
	}
	report, err := checker.Check(context.Background(), plan, func(stage regcheck.StageResult) {
		fmt.Println(stage.Name, stage.Status)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Valid, report.Code, report.Reason)
	fmt.Println(report.Field+":", report.Hint)
	// Output:
	// resolve ok
	// egress ok
	// connect ok
	// tls skipped
	// api ok
	// auth failed
	// content skipped
	// false RegistryAuthFailed refused
	// auth.password: Correct the username and password, or the token; create a new one if it was revoked.
}
