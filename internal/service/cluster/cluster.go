// Package cluster stores the registries that objects of a Kubernetes cluster use: it reads the objects by the rules of package definitions,
// stores each definition with its object, and reports changes of health as Events of the object. It writes nothing into objects.
//
// How objects are read and Events written is the business of a Source.
package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Object is an object of the cluster. JSON is what the API server returns of it.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
	JSON                                   []byte
}

// Event is written next to an object.
type Event struct {
	Object          Object // without JSON
	Warning         bool
	Reason, Message string
}

// Source has the objects of a cluster. Its methods are called concurrently.
type Source interface {
	// Watch lists and watches objects until ctx ends, and calls changed after each change.
	Watch(ctx context.Context, changed func())
	// Objects returns the objects that are known, and reports whether all of a namespace are. Nothing is known before Watch.
	Objects() (objects []Object, complete func(namespace string) bool)
	// Write writes an Event.
	Write(ctx context.Context, e Event) error
}

// Config configures the reading of a cluster. All fields are required.
type Config struct {
	Cluster  string        // its name in origins, without /
	OrgUID   string        // of the organization that has its registries
	Interval time.Duration // between checks of a registry
	// Words returns a report with the words of the file format of a definition.
	Words func(model.Registry, *regcheck.Report) *regcheck.Report
	Log   *slog.Logger
}

// Service stores the registries of one cluster.
type Service struct {
	Config
	db         *store.DB
	registries *registries.Service
	source     Source
	now        func() time.Time
}

// New returns a service that reads a source.
func New(db *store.DB, stored *registries.Service, source Source, config Config, now func() time.Time) *Service {
	return &Service{Config: config, db: db, registries: stored, source: source, now: now}
}
