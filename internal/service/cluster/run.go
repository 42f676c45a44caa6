package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	leaseTime     = 30 * time.Second
	renewEvery    = leaseTime / 3
	settleTime    = 500 * time.Millisecond // changes that come together are stored together
	compareEvery  = time.Minute            // although nothing changed: somebody may have restored a backup
	announceEvery = 2 * time.Second
	errorBackoff  = 10 * time.Second
	maxWriters    = 8 // concurrent transactions, which share commits
)

// Run reads the cluster until ctx ends. Of several servers, the one with the lease does.
func (s *Service) Run(ctx context.Context) {
	owner := uuid.NewString()
	for ctx.Err() == nil {
		if s.hold(ctx, owner) {
			s.lead(ctx, owner)
		}
		_ = loop.Sleep(ctx, renewEvery)
	}
}

// hold takes or renews the lease, and reports whether it did.
func (s *Service) hold(ctx context.Context, owner string) bool {
	now := s.now()
	held, err := store.Write(ctx, s.db, func(tx *store.Tx) (bool, error) {
		return tx.Origins.Hold(ctx, s.OrgUID, s.Cluster, owner, now, now.Add(leaseTime))
	})
	if err != nil && ctx.Err() == nil {
		s.Log.Error("lease of the cluster not renewed", "cluster", s.Cluster, "error", err)
	}
	return held
}

// lead watches, stores and announces until the lease is lost or ctx ends.
func (s *Service) lead(ctx context.Context, owner string) {
	s.Log.Info("cluster is read by this server", "cluster", s.Cluster)
	led, cancel := context.WithCancel(ctx)
	defer func() {
		_ = s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.Origins.Leave(ctx, s.OrgUID, s.Cluster, owner)
		})
	}()
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	changed := make(chan struct{}, 1)
	working.Go(func() {
		s.source.Watch(led, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	})
	working.Go(func() { s.work(led, changed) })
	for renewed := s.now(); s.now().Sub(renewed) < leaseTime-renewEvery; {
		if loop.Sleep(ctx, renewEvery) != nil {
			return
		}
		if s.hold(ctx, owner) {
			renewed = s.now()
		}
	}
	s.Log.Warn("cluster is not read by this server any more: the lease was lost", "cluster", s.Cluster)
}

// work stores what changed, and announces changes of health.
func (s *Service) work(ctx context.Context, changed <-chan struct{}) {
	a := &announcer{Service: s, written: map[defect]time.Time{}}
	var now resolved
	compare, announce := time.NewTimer(compareEvery), time.NewTicker(announceEvery)
	defer announce.Stop()
	defer compare.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-announce.C:
			next := announceEvery
			if a.announce(ctx, now); a.refused {
				next = errorBackoff
			}
			announce.Reset(next)
			continue
		case <-compare.C:
		case <-changed:
			_ = loop.Sleep(ctx, settleTime)
		}
		next := compareEvery
		var err error
		if now, err = s.reconcile(ctx); err != nil {
			next = errorBackoff
			if ctx.Err() == nil {
				s.Log.Error("registries of the cluster not stored", "cluster", s.Cluster, "retry_in", next, "error", err)
			}
		}
		compare.Reset(next)
	}
}

// reconcile stores what the known objects have: new definitions, changed ones, and none of objects that do not exist any more.
func (s *Service) reconcile(ctx context.Context) (now resolved, err error) {
	defer func() {
		if cause := recover(); cause != nil { // a Secret must not end the server
			err = fmt.Errorf("reading the objects %w", fault.Panicked(cause))
		}
	}()
	objects, complete := s.source.Objects()
	now = resolve(s.Cluster, objects)
	changes, err := s.registries.CompareCluster(ctx, s.OrgUID, s.Cluster, now.inputs(s.Config))
	if err != nil {
		return now, err
	}
	gone, err := s.deleteGone(ctx, changes.Gone, complete) // first: an organization may be at its quota
	err = errors.Join(err, s.storeChanged(ctx, changes))
	if len(changes.New)+len(changes.Replaced)+gone > 0 && err == nil {
		s.Log.Info("registries of the cluster stored", "cluster", s.Cluster, "new", len(changes.New), "replaced", len(changes.Replaced),
			"deleted", gone, "objects", len(objects))
	}
	return now, err
}

// deleteGone deletes the registries of objects that do not exist any more, where all objects of the namespace are known. It returns their
// number.
func (s *Service) deleteGone(ctx context.Context, gone []store.OriginRegistry, complete func(namespace string) bool) (n int, err error) {
	w := writers()
	for _, r := range gone {
		if complete(namespaceOf(r.Object)) {
			n++
			w.Go(func() error { return s.registries.DeleteOfCluster(ctx, s.OrgUID, r.UID) })
		}
	}
	return n, w.Wait()
}

func (s *Service) storeChanged(ctx context.Context, changes registries.ClusterChanges) error {
	w := writers()
	for uid, input := range changes.Replaced {
		w.Go(func() error { return s.store(ctx, uid, input) })
	}
	for i, input := range changes.New {
		input.Delay = s.delay(i)
		w.Go(func() error { return s.store(ctx, "", input) })
	}
	return w.Wait()
}

// writers returns a group of a few concurrent changes. It has no context of its own: an object that cannot be stored stops no other.
func writers() *errgroup.Group {
	var w errgroup.Group
	w.SetLimit(maxWriters)
	return &w
}

// firstChecksPerSecond is how many registries of a cluster have their first check at once: most use the same host.
const firstChecksPerSecond = 10

// delay returns when the first check of the i-th new registry is due. All are due within one interval.
func (s *Service) delay(i int) time.Duration {
	d := time.Duration(i) * time.Second / firstChecksPerSecond
	if s.Interval > 0 {
		d %= s.Interval
	}
	return d
}

// store stores a new registry, or replaces that of the uid. If a user has the name, it gets another one.
func (s *Service) store(ctx context.Context, uid string, input registries.RegistryInput) error {
	err := s.registries.StoreOfCluster(ctx, s.OrgUID, uid, input)
	if fault.Visible(err).Code == registries.CodeRegistryExists {
		input.Name += " " + shortHash(key(input.Origin))
		err = s.registries.StoreOfCluster(ctx, s.OrgUID, uid, input)
	}
	return err
}

func namespaceOf(object string) string {
	parts := strings.SplitN(object, "/", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}
