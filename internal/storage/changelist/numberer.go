package changelist

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const (
	numberBatch = 5000                  // changes per transaction
	numberPause = 50 * time.Millisecond // between two transactions, which move what was queued since
)

// Numberer moves queued changes to the list, in the background. Any number of processes may do so at once.
type Numberer struct {
	db *sqldb.DB

	mu      sync.Mutex
	woken   bool // since the running pass began
	running bool
	closed  bool
	passes  sync.WaitGroup
}

// NewNumberer returns the Numberer of a database.
func NewNumberer(db *sqldb.DB) *Numberer { return &Numberer{db: db} }

// Wake makes the Numberer move what was queued before. It is called after a commit, and by readers that find something in the queue:
// a server may end before it moves its own changes. Where a database has no queue, it does nothing.
func (n *Numberer) Wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || !n.db.Shared() {
		return
	}
	n.woken = true
	if !n.running {
		n.running = true
		n.passes.Go(n.run)
	}
}

// Close waits until what was queued before it is in the list, so that changes of a command reach servers at once.
func (n *Numberer) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.passes.Wait()
}

func (n *Numberer) run() {
	for n.begin() {
		_ = n.number() // readers read the queue too, and wake it again
		time.Sleep(numberPause)
	}
}

// begin reports whether there is something to do.
func (n *Numberer) begin() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running, n.woken = n.woken, false
	return n.running
}

// number moves all queued changes.
func (n *Numberer) number() error {
	for {
		var moved int64
		err := n.db.InTx(context.Background(), func(q sqldb.Querier) (err error) {
			moved, err = numberSome(context.Background(), q)
			return err
		})
		if err != nil || moved < numberBatch {
			return err
		}
	}
}

// numberSome moves some queued changes to the list, and notifies other processes. It moves none while another transaction does: its
// lock of the counter makes it the only one that adds to the list.
func numberSome(ctx context.Context, q sqldb.Querier) (moved int64, err error) {
	last, err := count(ctx, q, sqlLockCounter)
	if errors.Is(err, sqldb.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if moved, err = count(ctx, q, sqlNumberChanges, last, numberBatch); moved > 0 {
		q.Notify()
	}
	return moved, err
}
