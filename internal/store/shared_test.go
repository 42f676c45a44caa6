package store

import "github.com/regwarden/regwarden/internal/store/postgrestest"

// Shared runs PostgreSQL for the tests of both packages that do not end it.
var Shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: []string{"deadlock_timeout = 50ms"}}}
