package flowtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard"
)

// empty opens a store without runs.
func (c *Case[In, Out]) empty(t *testing.T) blackboard.Store {
	t.Helper()
	if c.Store == nil {
		return blackboard.NewMemory()
	}
	s := c.Store(t)
	if held := runsIn(t, s); len(held) > 0 {
		t.Fatalf("Case.Store opened a store that holds the runs %q, want an empty one", held)
	}
	return s
}

// plain is a store for one process: it hides what s is besides a Store and Blobs, so
// nothing ticks, and a test that waits for nothing is found out.
func plain(s blackboard.Store) blackboard.Store {
	kept := s
	if f, ok := s.(*faulty); ok {
		kept = f.Store
	}
	if blobs, ok := kept.(blackboard.Blobs); ok {
		return struct {
			blackboard.Store
			blackboard.Blobs
		}{s, blobs}
	}
	return struct{ blackboard.Store }{s}
}

// frozen is for a process that gets no further than its log: nothing that would
// advance a run is stored.
type frozen struct{ *blackboard.Memory }

// Append implements blackboard.Store.
func (s frozen) Append(ctx context.Context, recs []blackboard.Record) error {
	for _, rec := range recs {
		switch rec.Kind {
		case blackboard.Called, blackboard.Slept, blackboard.Expired, blackboard.Answered, blackboard.Canceled, blackboard.Ended:
			return errKilled
		}
	}
	return s.Memory.Append(ctx, recs)
}

// fault is what a store does to a run.
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

// faulty is a store that fails once it holds so many records: for ever if the
// process was killed, else once.
type faulty struct {
	blackboard.Store
	at    int // -1: never
	fault fault

	mu     sync.Mutex
	count  int // of the records that a sweep counts
	failed bool
}

// counts tells whether a sweep counts a record: the records of resumptions differ
// from one engine to another.
func counts(rec blackboard.Record) bool {
	return rec.Kind != blackboard.Resumed && rec.Kind != lostCall
}

// newFaulty returns a store over kept that fails behind the nth record that counts.
func newFaulty(t *testing.T, kept blackboard.Store, f fault, n int) *faulty {
	t.Helper()
	s := &faulty{Store: kept, at: n, fault: f}
	for _, run := range runsIn(t, kept) {
		for _, rec := range readLog(t, kept, run) {
			if counts(rec) {
				s.count++
			}
		}
	}
	return s
}

// held is how many records that count the store has.
func (s *faulty) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Append implements blackboard.Store.
func (s *faulty) Append(ctx context.Context, recs []blackboard.Record) error {
	err := s.append(ctx, recs)
	if errors.Is(err, errHangs) { // without the lock, until all else waits: more time would let time limits pass
		_ = pass(ctx, time.Nanosecond)
	}
	return err
}

// dead tells whether the process was killed: it reads nothing any more, either.
func (s *faulty) dead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed && s.dies() {
		return errKilled
	}
	return nil
}

// Records implements blackboard.Store.
func (s *faulty) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	if err := s.dead(); err != nil {
		return func(yield func(blackboard.Record, error) bool) { yield(blackboard.Record{}, err) }
	}
	return s.Store.Records(ctx, run, from)
}

// List implements blackboard.Store.
func (s *faulty) List(ctx context.Context, q blackboard.Query) iter.Seq2[blackboard.Listing, error] {
	if err := s.dead(); err != nil {
		return func(yield func(blackboard.Listing, error) bool) { yield(blackboard.Listing{}, err) }
	}
	return s.Store.List(ctx, q)
}

// dies tells whether the process is killed with its first failure.
func (s *faulty) dies() bool { return s.fault == killed || s.fault == twice }

func (s *faulty) append(ctx context.Context, recs []blackboard.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dies := s.dies()
	if s.at < 0 || s.failed && !dies || !s.failed && s.count+counted(recs) <= s.at {
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
		return fmt.Errorf("%w: as the test wants", blackboard.ErrConflict)
	case killed, twice:
	}
	for i, rec := range recs { // one by one: what is a batch here may be none elsewhere
		if counts(rec) && s.count == s.at {
			break
		}
		if err := s.store(ctx, recs[i:i+1]); err != nil {
			return err
		}
	}
	return errKilled
}

func counted(recs []blackboard.Record) int {
	n := 0
	for _, rec := range recs {
		if counts(rec) {
			n++
		}
	}
	return n
}

// store appends recs and counts them.
func (s *faulty) store(ctx context.Context, recs []blackboard.Record) error {
	err := s.Store.Append(ctx, recs)
	if err == nil {
		s.count += counted(recs)
	}
	return err
}

// lostCall is the kind of a record that says what a call used that a process lost.
const lostCall = "used"

// settlesLost tells whether engines know records of that kind.
const settlesLost = true

// settleLost puts on record that the calls that reached the agents and have no
// record of their own used nothing: the process died before the agents were reached,
// and budgets are charged with nothing.
func settleLost(t *testing.T, s blackboard.Store, reached map[string]call) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, run := range runsIn(t, s) {
		log := readLog(t, s, run)
		if len(log) == 0 || log[len(log)-1].Kind == blackboard.Ended {
			continue
		}
		seq := log[len(log)-1].Seq
		var recs []blackboard.Record
		for _, c := range lostIn(log, run, reached) {
			seq++
			recs = append(recs, blackboard.Record{
				Run: run, Seq: seq, Kind: lostCall, Branch: c.info.Branch, N: c.info.N,
				Name: c.info.Agent, At: log[len(log)-1].At, Data: []byte("{}"),
			})
		}
		if recs == nil {
			continue
		}
		if err := s.Append(ctx, recs); err != nil {
			t.Fatalf("records of the calls that run %q lost: %v", run, err)
		}
	}
}

// lostIn are the calls of a run that its log tells nothing of since it was last
// resumed, in a fixed order.
func lostIn(log []blackboard.Record, run string, reached map[string]call) []call {
	called, settled := map[string]bool{}, map[string]bool{}
	for _, rec := range log {
		switch rec.Kind {
		case blackboard.Called:
			called[keyOf(rec)] = true
		case lostCall:
			settled[keyOf(rec)] = true
		case blackboard.Resumed:
			clear(settled)
		}
	}
	var lost []call
	for key, c := range reached {
		if c.info.Run == run && !called[key] && !settled[key] {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b call) int {
		return cmp.Or(slices.Compare(path(a.info.Branch), path(b.info.Branch)), cmp.Compare(a.info.N, b.info.N))
	})
	return lost
}
