// Package jsontext stores lists and maps of texts as JSON in one column.
package jsontext

import (
	"database/sql"
	"encoding/json"
)

// Of returns the value of a column, NULL when there are no texts.
func Of[T map[string]string | []string](texts T) (any, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(texts)
	return string(encoded), err
}

// Both is Of for the annotations and the labels of a record.
func Both(annotations, labels map[string]string) (first, second any, err error) {
	if first, err = Of(annotations); err != nil {
		return nil, nil, err
	}
	second, err = Of(labels)
	return first, second, err
}

// List returns the value of a column that is never NULL.
func List(texts []string) (string, error) {
	if texts == nil {
		texts = []string{}
	}
	encoded, err := json.Marshal(texts)
	return string(encoded), err
}

// To returns a scanner of a column. NULL and an empty text become the zero value.
func To[T any](texts *T) sql.Scanner { return scanner[T]{texts} }

type scanner[T any] struct{ to *T }

// Scan implements sql.Scanner.
func (s scanner[T]) Scan(value any) error {
	var stored sql.NullString
	var zero T
	*s.to = zero
	if err := stored.Scan(value); err != nil || stored.String == "" {
		return err
	}
	return json.Unmarshal([]byte(stored.String), s.to)
}
