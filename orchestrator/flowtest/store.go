package flowtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// empty opens a store without runs.
func (c *Case[In, Out]) empty(t *testing.T) runlog.Store {
	t.Helper()
	if c.Store == nil {
		return runlog.NewMemory()
	}
	s := c.Store(t)
	if held := runsIn(t, s); len(held) > 0 {
		t.Fatalf("Case.Store opened a store that holds the runs %q, want an empty one", held)
	}
	return s
}

// plain returns s for one process. It has no method of s beyond those of Store and Blobs.
// So no heartbeat ticks, and a test that hangs shows as a deadlock.
func plain(s runlog.Store) runlog.Store {
	kept := s
	if f, ok := s.(*faulty); ok {
		kept = f.Store
	}
	if blobs, ok := runlog.As[runlog.Blobs](kept); ok {
		return struct {
			runlog.Store
			runlog.Blobs
		}{s, blobs}
	}
	return struct{ runlog.Store }{s}
}

// frozen is a store for a process that must not get beyond its log. It refuses the first
// record that would advance a run, and stores those before it.
type frozen struct{ *runlog.Memory }

// Append implements runlog.Store.
func (s frozen) Append(ctx context.Context, recs []runlog.Record) error {
	n := slices.IndexFunc(recs, advances)
	if n < 0 {
		return s.Memory.Append(ctx, recs)
	}
	if n > 0 {
		if err := s.Memory.Append(ctx, recs[:n]); err != nil {
			return err
		}
	}
	return errKilled
}

// advances reports whether a flow waits for a record of this kind, or ends with it.
func advances(rec runlog.Record) bool {
	switch rec.Kind {
	case runlog.Called, runlog.Slept, runlog.Expired, runlog.Answered, runlog.Canceled, runlog.Ended:
		return true
	}
	return false
}

// fault is one of the ways in which a store fails; its text names a subtest.
type fault string

const (
	killed    fault = "killed behind record"
	twice     fault = "killed twice behind record"
	unwritten fault = "write error behind record"
	unsure    fault = "write error although stored behind record"
	hanging   fault = "store hangs behind record"
	conflict  fault = "conflict behind record"
)

var faults = []fault{killed, twice, unwritten, unsure, hanging, conflict}

var (
	errKilled = errors.New("the process was killed")
	errWrite  = errors.New("the disk is full")
	errUnsure = errors.New("the connection was lost while the records were stored")
	errHangs  = errors.New("the store did not answer")
)

// faulty is a store that fails when it would hold more than a number of records. It fails
// for ever if the fault ends the process, else once.
type faulty struct {
	runlog.Store
	at    int // number of records that it holds without a fault; -1: any
	fault fault

	mu     sync.Mutex
	waited []bool // one for each record that counts: the flow waited for it
	failed bool
}

// counts reports whether a sweep counts a record. Records of resumptions do not count,
// because they differ from one engine to another.
func counts(rec runlog.Record) bool {
	return rec.Kind != runlog.Resumed && rec.Kind != runlog.Used
}

// newFaulty returns a store over kept that fails after the nth record that counts.
func newFaulty(t *testing.T, kept runlog.Store, f fault, n int) *faulty {
	t.Helper()
	s := &faulty{Store: kept, at: n, fault: f}
	for _, run := range runsIn(t, kept) {
		for _, rec := range readLog(t, kept, run) {
			s.note(rec)
		}
	}
	return s
}

// note counts a record. A flow waits for its start and for records that advance it; the
// others it writes without a wait.
func (s *faulty) note(rec runlog.Record) {
	if counts(rec) {
		s.waited = append(s.waited, rec.Kind == runlog.Started || advances(rec))
	}
}

// waitedFor returns, for each record that counts, whether the flow waited for it.
func (s *faulty) waitedFor() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waited
}

// Append implements runlog.Store.
func (s *faulty) Append(ctx context.Context, recs []runlog.Record) error {
	err := s.append(ctx, recs)
	if errors.Is(err, errHangs) { // 1 ns of virtual time lets all others come to a wait, and no time limit pass
		_ = pass(ctx, time.Nanosecond)
	}
	return err
}

// dead returns an error if the process has ended: it must not read either.
func (s *faulty) dead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed && s.dies() {
		return errKilled
	}
	return nil
}

// Records implements runlog.Store.
func (s *faulty) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if err := s.dead(); err != nil {
		return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, err) }
	}
	return s.Store.Records(ctx, run, from)
}

// List implements runlog.Store.
func (s *faulty) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	if err := s.dead(); err != nil {
		return func(yield func(runlog.Listing, error) bool) { yield(runlog.Listing{}, err) }
	}
	return s.Store.List(ctx, q)
}

// dies reports whether the fault ends the process: it was killed, or another one works on
// its runs.
func (s *faulty) dies() bool { return s.fault == killed || s.fault == twice || s.fault == conflict }

// append is Append under the lock.
func (s *faulty) append(ctx context.Context, recs []runlog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dies := s.dies()
	if s.at < 0 || s.failed && !dies || !s.failed && len(s.waited)+counted(recs) <= s.at {
		return s.store(ctx, recs)
	}
	if s.failed {
		return errKilled
	}
	s.failed = true
	switch s.fault {
	case unwritten:
		return errWrite
	case unsure:
		return errors.Join(s.store(ctx, recs), errUnsure)
	case hanging:
		return errHangs
	case conflict:
		return fmt.Errorf("%w: as the test wants", runlog.ErrConflict)
	case killed, twice:
	}
	for i, rec := range recs { // one by one: other stores may commit a part of the batch
		if counts(rec) && len(s.waited) == s.at {
			break
		}
		if err := s.store(ctx, recs[i:i+1]); err != nil {
			return err
		}
	}
	return errKilled
}

// counted returns how many of the records count.
func counted(recs []runlog.Record) int {
	n := 0
	for _, rec := range recs {
		if counts(rec) {
			n++
		}
	}
	return n
}

// store appends recs and counts them.
func (s *faulty) store(ctx context.Context, recs []runlog.Record) error {
	err := s.Store.Append(ctx, recs)
	for _, rec := range recs {
		if err == nil {
			s.note(rec)
		}
	}
	return err
}
