package flowtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Sweep runs the case once to its end, then, for every record of its log, three
// times more: killed behind that record, and with a store that fails to write it,
// or says that somebody else was first. Each time the run is resumed, and must
// come to the same result and error, make no recorded call again, write no record
// twice, and have spent the same.
func (c *Case[In, Out]) Sweep(t *testing.T) {
	t.Helper()
	want := c.whole(t)
	for n := range want.records + 1 {
		for _, f := range []fault{killed, unwritten, conflict} {
			t.Run(fmt.Sprintf("%s %d", f, n), func(t *testing.T) { c.interrupted(t, want, f, n) })
		}
	}
}

// ending is what must be the same however often a run was interrupted.
type ending struct {
	records int // of all logs
	out     json.RawMessage
	err     error
	spent   providers.Usage // by calls that were not given up
	status  engine.Status
}

func (c *Case[In, Out]) whole(t *testing.T) ending {
	t.Helper()
	var e ending
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Memory: blackboard.NewMemory(), at: -1}
		p := c.open(t, s, &world{roster: c.agents(t)})
		out, err := p.result()
		e = c.ending(t, s, out, err)
		p.close() // children may still be told to end
		e.records = s.held()
	})
	return e
}

func (c *Case[In, Out]) ending(t *testing.T, s blackboard.Store, out Out, err error) ending {
	t.Helper()
	if c.Strip != nil {
		out = c.Strip(out)
	}
	e := ending{out: agent.JSON(out), err: err}
	log := readLog(t, s, caseID)
	if len(log) == 0 || log[len(log)-1].Kind != blackboard.Ended {
		t.Fatalf("the run did not end: %v", err)
	}
	var end engine.End
	if err := json.Unmarshal(log[len(log)-1].Data, &end); err != nil {
		t.Fatal(err)
	}
	e.status = end.Status
	e.spent = spent(t, log, end.Spent)
	return e
}

// spent is what the calls on record have used, but for those that were given up: a
// crash may come before their end. It fails the test if the end of the run tells of
// less, or of more than is on record.
func spent(t *testing.T, log []blackboard.Record, told providers.Usage) providers.Usage {
	t.Helper()
	var sure, all providers.Usage
	for _, rec := range log {
		if rec.Kind != blackboard.Called {
			continue
		}
		var d engine.CalledData
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			t.Fatal(err)
		}
		all = all.Add(d.Usage())
		if d.Err == nil || !errors.Is(d.Err, engine.ErrCanceled) {
			sure = sure.Add(d.Usage())
		}
	}
	if told.Calls < sure.Calls || told.Calls > all.Calls || told.Cost < sure.Cost || told.Cost > all.Cost {
		t.Errorf("the run tells of %+v spent; on record are %+v, with calls that were given up %+v", told, sure, all)
	}
	return sure
}

// interrupted lets the store fail behind n records and resumes the run.
func (c *Case[In, Out]) interrupted(t *testing.T, want ending, f fault, n int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem := blackboard.NewMemory()
		w := &world{roster: c.agents(t)}
		first := c.open(t, &faulty{Memory: mem, at: n, fault: f}, w)
		_, _ = first.result() // it stops, or ends if the fault comes too late for it
		first.close()
		recorded, before := calledIn(t, mem), w.made()

		second := c.open(t, plain{mem}, w)
		out, err := second.result()
		got := c.ending(t, mem, out, err)
		second.close()

		want.compare(t, got)
		for key, n := range w.made() {
			if recorded[key] && n > before[key] {
				t.Errorf("the call %s is on record and was made again", key)
			}
		}
		unique(t, mem)
	})
}

func (e ending) compare(t *testing.T, got ending) {
	t.Helper()
	if !bytes.Equal(e.out, got.out) {
		t.Errorf("the result differs:\nuninterrupted: %s\n      resumed: %s", e.out, got.out)
	}
	if fmt.Sprint(e.err) != fmt.Sprint(got.err) {
		t.Errorf("the error differs:\nuninterrupted: %v\n      resumed: %v", e.err, got.err)
	}
	if e.status != got.status {
		t.Errorf("the status differs: %q uninterrupted, %q resumed", e.status, got.status)
	}
	if e.spent != got.spent {
		t.Errorf("what was spent differs:\nuninterrupted: %+v\n      resumed: %+v", e.spent, got.spent)
	}
}

// calledIn are the keys of the calls on record, of all runs.
func calledIn(t *testing.T, s blackboard.Store) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for _, run := range runsIn(t, s) {
		for _, rec := range readLog(t, s, run) {
			if rec.Kind == blackboard.Called {
				keys[run+"/"+engine.Key(rec.Branch, rec.N)] = true
			}
		}
	}
	return keys
}

// unique fails the test if an effect or an emission is on record twice.
func unique(t *testing.T, s blackboard.Store) {
	t.Helper()
	for _, run := range runsIn(t, s) {
		seen := map[string]bool{}
		for _, rec := range readLog(t, s, run) {
			if rec.Kind == blackboard.Resumed {
				continue
			}
			id := fmt.Sprint(rec.Kind, " ", rec.Name, " ", engine.Key(rec.Branch, rec.N))
			if seen[id] {
				t.Errorf("run %s: the record %s is there twice", run, id)
			}
			seen[id] = true
		}
	}
}

func runsIn(t *testing.T, s blackboard.Store) []string {
	t.Helper()
	var ids []string
	for ends, err := range s.Runs(context.WithoutCancel(t.Context()), false) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, ends[0].Run)
	}
	return ids
}

// fault is what a store does to a run.
type fault string

const (
	killed    fault = "killed behind record"
	unwritten fault = "write error behind record"
	conflict  fault = "conflict behind record"
)

var (
	errKilled = errors.New("the process was killed")
	errWrite  = errors.New("the disk is full")
)

// faulty is a store that fails once it holds so many records: for ever if the
// process was killed, else once.
type faulty struct {
	*blackboard.Memory
	at    int // -1: never
	fault fault

	mu    sync.Mutex
	count int
	done  bool
}

// These hide what a Memory is besides a Store and Blobs: nothing ticks then.
func (*faulty) Lease() {}
func (*faulty) Put()   {}

// held is how many records the store has.
func (s *faulty) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Append implements blackboard.Store.
func (s *faulty) Append(ctx context.Context, recs []blackboard.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.at - s.count
	if s.at < 0 || s.done && s.fault != killed || !s.done && len(recs) <= room {
		err := s.Memory.Append(ctx, recs)
		if err == nil {
			s.count += len(recs)
		}
		return err
	}
	if s.done {
		return errKilled
	}
	s.done = true
	switch s.fault {
	case unwritten:
		return errWrite
	case conflict:
		return fmt.Errorf("%w: as the test wants", blackboard.ErrConflict)
	case killed:
	}
	for _, rec := range recs[:max(room, 0)] { // each record once: a batch is not what dies together
		if err := s.Memory.Append(ctx, []blackboard.Record{rec}); err != nil {
			return err
		}
	}
	return errKilled
}
