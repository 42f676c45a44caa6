package store

import (
	"context"
	"errors"
)

func openPostgres(context.Context, Options) (*DB, error) { return nil, errors.New("not built yet") }

func meaningOfPostgres(err error) error { return err }
