// Package journal keeps the records of an engine's runs: in a store, or, in an engine
// without one, as Go values that are encoded when somebody reads them.
//
// The idea: one path for both. A run makes an [Entry] and writes it; the journal gives it
// its place in the run's [Log] and tells the run's [Sink] when it is committed. With a
// store, whoever finds no other goroutine committing commits for all that write
// meanwhile: one transaction has records of many runs and branches. Without a store an
// entry is committed as soon as it has its place: nothing is encoded, hashed or awaited.
//
// Invariants:
//   - The records of a run are committed in the order of their places, without gaps.
//     What cannot be stored breaks the log: nothing follows it.
//   - A Sink is told exactly once of each entry, and only when the entry is durable or
//     never will be.
//   - What became of an Append that failed is looked up before it is tried again, so that
//     a commit whose confirmation was lost is not taken for a conflict.
//   - A store that fails is tried again for Config.Outage; the time is one for all runs.
//
// # Files
//
//   - journal.go: writing records, large values
//   - storage.go: what an engine asks of its store, and what stands in for it
//   - commit.go: group commit, outages
//   - log.go: the log of one run, and its entries
package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// Journal keeps the records of all runs of an engine. It is safe for concurrent use.
type Journal struct {
	Storage
	committer

	Stored bool // records are kept in a store

	memory *memory // nil with a store
	large  int     // bytes from which Data is kept as a blob; 0: never
}

// largeData is large, where a store keeps blobs.
const largeData = 64 << 10

// New returns a Journal. It starts nothing.
func New(c Config) *Journal {
	j := &Journal{committer: committer{Config: c}}
	j.Storage, j.memory = open(c.Store)
	j.Stored = j.memory == nil
	if _, ok := c.Store.(runlog.Blobs); ok {
		j.large = largeData
	}
	return j
}

// Write commits e as a record of log, and tells e.Sink. Run, Kind and Sink are set; a
// zero At becomes the present time. The goroutine that called it goes on with the job
// that is returned. An answer that is larger than a record can be becomes the failure of
// its call, with the usage of the answer.
func (j *Journal) Write(log *Log, e *Entry) jobs.Job {
	e.log = log
	if e.At.IsZero() {
		e.At = Now()
	}
	called, isCall := e.Value.(*engine.CalledData)
	var err error
	if j.Stored || isCall && (called.Err != nil || called.Response.Data != nil || called.Response.Messages != nil) { // what the flow could change
		err = j.encode(e)
	}
	if isCall && called.Err == nil && errors.Is(err, engine.ErrTooLarge) {
		called.Err = agent.ErrorOf(err)
		called.Err.Usage = called.Response.Usage
		called.Response = nil
		err = j.encode(e)
	}
	if err == nil && j.Stored {
		return j.enqueue(e)
	}
	if e.err = err; err == nil {
		e.err = log.place(e)
	}
	if j.Stored {
		return e.settle(j.Pool)
	}
	return e.Sink.Committed(e, e.err)
}

// Expect prepares e for Await. It is called before Write.
func (j *Journal) Expect(e *Entry) {
	if j.Stored {
		e.done = make(chan struct{})
	}
}

// Await waits until e is committed, or until ctx or the engine's life is over: a store
// that hangs does not hold it up. It returns why e was not committed. next is what Write
// returned.
func (j *Journal) Await(ctx context.Context, e *Entry, next jobs.Job) error {
	if ctx == j.Life && next == jobs.Job(&j.committer) { // it waits anyway
		next = next.Work()
	}
	j.Pool.Do(next)
	if e.done == nil {
		return e.err
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-j.Life.Done():
		return Closed()
	}
}

// encode makes the Data of e, and keeps a large one beside the log.
func (j *Journal) encode(e *Entry) (err error) {
	if err := e.encode(); err != nil {
		return err
	}
	if j.large == 0 || len(e.Data) < j.large || e.Kind == runlog.Asked { // lists show questions
		return nil
	}
	if e.Blob, err = j.Keep(e.Run, e.Data); err != nil {
		return fmt.Errorf("large value of run %q: %w", e.Run, err)
	}
	e.Data = nil
	switch v := e.Value.(type) { // stores list runs by the rest of these
	case engine.StartedData:
		v.Data = nil
		e.Data, err = engine.Encode(v)
	case engine.EndedData:
		v.Output, v.State = nil, nil
		e.Data, err = engine.Encode(v)
	}
	return err
}

// Keep keeps a value beside the log of a run, and returns its hash.
func (j *Journal) Keep(run string, data []byte) (hash string, err error) {
	err = j.try(func(ctx context.Context, _ bool) error {
		hash, err = j.PutBlob(ctx, run, data)
		return err
	})
	return hash, err
}

// Open returns the log of a run that begins or is resumed: fresh, which is used from now
// on, or, without a store, the one that has the run's records.
func (j *Journal) Open(run string, fresh *Log) *Log {
	if j.Stored {
		return fresh
	}
	fresh.keeps = true
	return j.memory.log(run, fresh)
}

// Retire notes that a run has ended or stopped. Without a store only so many of these are
// remembered: oldest is the one that is forgotten now; "": none.
func (j *Journal) Retire(run string) (oldest string) {
	if j.Stored {
		return ""
	}
	return j.memory.retire(run)
}
