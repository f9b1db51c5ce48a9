package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// Job is what a goroutine that commits does next.
type Job = jobs.Job

// AppendLimit bounds one Append, which may take up to twice as long, and other short
// requests to a store, because a store may hang.
const AppendLimit = 10 * time.Second

// ErrOutage marks runs that are suspended because the store failed: the engine resumes
// them by itself.
const ErrOutage = agent.Code("outage")

// Now is the time as records have it.
func Now() time.Time { return time.Now().Round(0).UTC() }

// Closed is the error of what an engine does not do any more because it is closed.
func Closed() error {
	return agent.ErrorOf(fmt.Errorf("%w: the engine is closed; the run can be resumed", engine.ErrStopped))
}

// Entry is a record on its way into the log of a run. An engine without a store keeps
// it for good.
type Entry struct {
	runlog.Record
	Value any        // source of Data, an engine.CalledData by pointer; nil: Data is set
	Op    *engine.Op // the effect that the record completes, until it is delivered; nil: none
	Sink  Sink       // who learns what became of it
	After Job        // done on a goroutine of its own once the record is in the store; nil: nothing

	log  *Log
	done chan struct{} // closed when Sink knows; nil: nothing waits for that
	err  error         // why it was not committed
}

// Sink is who writes records: a run.
type Sink interface {
	// Committed tells that e is in the log, or that it never will be, because of err. It
	// returns what the calling goroutine does next.
	Committed(e *Entry, err error) Job
}

// settle counts e, wakes those who watch its log, and tells its sink what became of it.
func (e *Entry) settle(do func(Job)) (next Job) {
	l := e.log
	l.mu.Lock()
	if l.signal != nil {
		l.wake()
	}
	switch d, called := e.Value.(*engine.CalledData); {
	case e.err != nil:
	case called && d.Response != nil && l.tally.ByAgent != nil: // Count does the same
		l.tally.ByAgent[e.Name] = l.tally.ByAgent[e.Name].Add(d.Response.Usage)
		l.tally.Records = e.Seq + 1
	default:
		l.tally.Count(&e.Record, e.Value)
	}
	if l.tally.Records >= l.carry {
		l.Due.Store(true)
	}
	l.mu.Unlock()
	next = e.Sink.Committed(e, e.err)
	if e.done != nil {
		close(e.done)
	}
	if e.err == nil && e.After != nil {
		do(e.After)
	}
	return next
}

// Log is the log of one run: the place of its next record, and, in an engine without a
// store, the records themselves. It is safe for concurrent use. The zero value is the
// log of a run that has no record yet.
type Log struct {
	// Due says that the next record that can carry a Tally shall carry one: see Carry.
	Due atomic.Bool

	stopped atomic.Bool // the run is not driven any more
	keeps   bool        // entries stay here: the engine has no store
	order   sync.Mutex  // lock around the place of an entry and the telling of its run; only without a store

	mu      sync.Mutex
	next    int64 // Seq of the next record
	ended   bool  // there is an Ended record
	broken  error // why no record can follow; nil: one can
	entries []*Entry
	signal  chan struct{} // closed at the next record; nil: nobody waits for it

	tally   engine.Tally   // figures by the records that are committed; of a log that keeps its entries, by those that are noted
	carry   int64          // number of records at which Due is set
	noted   int            // entries that tally and listing know
	handed  int64          // bytes of the entries that the log kept and gave away
	listing runlog.Listing // listing of the run, where the log keeps its entries
}

var (
	// ErrLate says that a run has ended or stopped, so that its log takes the record no
	// more.
	ErrLate = errors.New("the run has ended or stopped")

	errBroken = errors.New("an earlier record was not stored")
)

// Continue lets the log go on behind the records that t counts. It keeps the map of t.
func (l *Log) Continue(t engine.Tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = t.Records
	if !l.keeps {
		l.tally = t
	}
}

// Stop closes the log to what the world tells a run, because nobody drives the run any
// more: times that are over, answers, a cancel. What its calls come to may follow.
func (l *Log) Stop() { l.stopped.Store(true) }

// place gives e its number, unless it cannot follow.
func (l *Log) place(e *Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped.Load() && isOfWorld(e.Kind):
		return ErrLate
	case e.Kind == runlog.Started && l.next > 0:
		return runlog.ErrConflict
	case l.broken != nil:
		return fmt.Errorf("%w: %w", errBroken, l.broken)
	case l.ended:
		return ErrLate
	}
	l.ended = e.Kind == runlog.Ended
	e.Seq = l.next
	l.next++
	if !l.keeps {
		return nil
	}
	if l.entries == nil {
		l.entries = make([]*Entry, 0, 4) // a small run has its start and end in it
	}
	l.entries = append(l.entries, e)
	if l.signal != nil {
		l.wake()
	}
	return nil
}

// isOfWorld reports whether a record of that kind comes from outside of the flow and of
// its calls.
func isOfWorld(kind string) bool {
	switch kind {
	case runlog.Slept, runlog.Expired, runlog.Answered, runlog.Canceled:
		return true
	}
	return false
}

// takeBack undoes place for the entry that has the last place.
func (l *Log) takeBack(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.ended = e.Seq, false
}

// breakOff notes that what was placed last is not stored: nothing can follow it.
func (l *Log) breakOff(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// tallyEvery is how many records a log with few agents grows by before one carries a Tally
// again: readers of the log then decode few records, and a Tally of few agents costs less
// than one record in ten.
const tallyEvery = 32

// Tally returns the figures by all records that are committed to a store.
func (l *Log) Tally() engine.Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally.Clone()
}

// Carry returns the Tally for a record that is about to be written; nil: readers need none
// in this log.
func (l *Log) Carry() *engine.Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeps {
		return nil
	}
	t := l.tally.Clone()
	l.carry = t.Records + max(tallyEvery, int64(len(t.ByAgent)))
	l.Due.Store(false)
	return &t
}

// Wake has those who watch the log look again.
func (l *Log) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake()
}

func (l *Log) wake() {
	if l.signal != nil {
		close(l.signal)
		l.signal = nil
	}
}

// Watch returns a channel that is closed at the next record, or when Wake is called.
func (l *Log) Watch() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signal == nil {
		l.signal = make(chan struct{})
	}
	return l.signal
}

// failCall makes of the answer of a call, which can never be stored because of err, the
// failure of the call with the usage of the answer. It reports whether e is of a call.
func (e *Entry) failCall(err error) bool {
	called, ok := e.Value.(*engine.CalledData)
	if !ok {
		return false
	}
	failure := agent.ErrorOf(final.Coded(err))
	if failure.Usage = called.Usage(); called.Err != nil {
		failure.Codes = append(slices.Clone(called.Err.Codes), failure.Codes...)
	}
	if called.Response, called.Err = nil, failure; runlog.IsNever(err) {
		called.Request = nil // it may be what is too large for the store
	}
	e.Data, e.Blob = nil, ""
	return e.encode() == nil
}

// encode makes the Data of e, unless it is there.
func (e *Entry) encode() (err error) {
	if e.Value == nil || e.Data != nil {
		return nil
	}
	if raw, ok := e.Value.(json.RawMessage); ok {
		e.Data = raw
		return nil
	}
	var data json.RawMessage
	if d, ok := e.Value.(*engine.CalledData); ok && d.Response != nil && len(d.Response.Text)+len(d.Response.Data) >= engine.LargeAnswer {
		data, err = engine.EncodeCalled(d)
	} else {
		data, err = text.JSON(e.Value)
	}
	if len(data) > engine.MaxData {
		err = engine.TooLarge(len(data))
	}
	if err != nil {
		return fmt.Errorf("record %q of run %q: %w", e.Kind, e.Run, err)
	}
	e.Data = data
	return nil
}

// keepListed leaves of Data, which is kept beside the log, what stores list runs by and
// what tells the run's figures.
func (e *Entry) keepListed() (err error) {
	e.Data = nil
	switch v := e.Value.(type) {
	case engine.StartedData:
		v.Data = nil
		e.Data, err = engine.Encode(v)
	case engine.EndedData:
		v.Output, v.State = nil, nil
		e.Data, err = engine.Encode(v)
	case *engine.CalledData:
		e.Data, err = engine.Encode(engine.CalledData{Response: &agent.Response{Usage: v.Usage()}, Tally: v.Tally})
	}
	return err
}
