package store

import (
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Shared runs PostgreSQL for the tests of both packages.
var Shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}
