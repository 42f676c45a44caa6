package sqldb

import (
	"testing"

	"github.com/regwarden/regwarden/secret"
)

func TestADatabasePasswordIsNotShown(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:marked@h:5432,i:5433/d?sslmode=require": "postgres://u:********@h:5432,i:5433/d?sslmode=require",
		"postgres://u@h/d": "postgres://u@h/d",
		"postgres:///d?host=/run&user=u&password=marked":       "postgres:///d?host=/run&user=u&password=********",
		"postgres://u@h/d?sslpassword=marked&p%61ssword=marke": "postgres://u@h/d?sslpassword=********&p%61ssword=********",
		"postgres://u:mar/ked@h/d":                             "********",
		"postgres://u:mar@ked@h/d":                             "********",
		"postgres://u:mar#ked@h/d":                             "********",
		"host=h password=marked":                               "********",
	} {
		if got := MaskURL(secret.String(address)); got != want {
			t.Errorf("%s is shown as %s", address, got)
		}
	}
}
