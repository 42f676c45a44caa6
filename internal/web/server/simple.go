package server

import (
	"context"
	"net/http"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
)

// Handlers of resources that are in packages of their own need no more of a request than its body or uid.

// shows is the handler of an operation that returns something.
func shows[T any](show func(context.Context, auth.Principal) (T, error)) func(*call) (response, error) {
	return func(c *call) (response, error) {
		body, err := show(c.Context(), c.principal)
		return response{http.StatusOK, body}, err
	}
}

// creates is the handler of an operation with a body that creates something.
func creates[In, Out any](create func(context.Context, auth.Principal, audit.Origin, In) (Out, error)) func(*call) (response, error) {
	return takes(http.StatusCreated, create)
}

// takes is the handler of an operation with a body.
func takes[In, Out any](status int, do func(context.Context, auth.Principal, audit.Origin, In) (Out, error)) func(*call) (response, error) {
	return func(c *call) (response, error) {
		var in In
		if err := c.read(&in, func() []fault.Field { return nil }); err != nil {
			return response{}, err
		}
		body, err := do(c.Context(), c.principal, c.origin, in)
		return response{status, body}, err
	}
}

// deletes is the handler of an operation that deletes what the path names.
func deletes(remove func(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error) func(*call) (response, error) {
	return func(c *call) (response, error) {
		return response{status: http.StatusNoContent}, remove(c.Context(), c.principal, c.origin, c.PathValue("uid"))
	}
}
