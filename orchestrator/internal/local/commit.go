package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// entry is a record on its way into the log.
type entry struct {
	r      *run
	op     *engine.Op // whose effect it is, until that is delivered; nil: none
	kind   string
	branch string
	n      int64
	name   string
	hash   string
	at     time.Time
	blob   string
	raw    json.RawMessage // Data; nil: what data or the answer encode to
	data   any
	resp   agent.Response // the answer of a Called entry
	err    *agent.Error   // the same
	given  []string       // the same: the blobs of what was asked
	done   chan error     // nil: nobody waits
	late   bool           // it comes behind the end of the log, or behind a record that failed
}

// encoded is the entry's Data.
func (en *entry) encoded() (json.RawMessage, error) {
	data := en.data
	switch {
	case en.raw != nil:
		return en.raw, nil
	case en.kind == blackboard.Called && en.err != nil:
		data = engine.CalledData{Err: en.err, Request: en.given}
	case en.kind == blackboard.Called:
		data = engine.CalledData{Response: &en.resp, Request: en.given}
	case data == nil:
		return nil, nil
	}
	raw, err := engine.Encode(data)
	if err != nil {
		return nil, fmt.Errorf("record %q of run %q has no JSON form: %w", en.kind, en.r.id, err)
	}
	return raw, nil
}

// record is the entry as it is stored.
func (en *entry) record(seq int64, data json.RawMessage) blackboard.Record {
	return blackboard.Record{
		Run: en.r.id, Seq: seq, Kind: en.kind, Branch: en.branch, N: en.n, Name: en.name,
		Hash: en.hash, At: en.at, Data: data, Blob: en.blob,
	}
}

// write puts en into the log and, when it is there, in line for the driver.
// Whoever writes first commits for all who come meanwhile. It returns the run that
// the caller has to drive, or nil.
func (r *run) write(en *entry) *run {
	if err := r.prepare(en); err != nil {
		return en.stored(err)
	}
	if r.e.commits == nil {
		return en.stored(r.records.add(en))
	}
	return r.e.commits.add(en)
}

// writeSync is write for somebody who waits until en is durable.
func (r *run) writeSync(ctx context.Context, en *entry) error {
	en.done = make(chan error, 1)
	r.e.goOn(r.write(en))
	select {
	case err := <-en.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// prepare encodes en, and moves a large Data beside the log. Without a store, an
// answer of text alone, which nobody can change, is encoded when somebody looks.
func (r *run) prepare(en *entry) (err error) {
	if r.e.commits == nil && en.kind == blackboard.Called && en.resp.Data == nil && en.resp.Messages == nil {
		return nil
	}
	if en.raw, err = en.encoded(); err != nil {
		return err
	}
	en.data = nil
	if len(en.raw) < largeData || r.e.blobs == nil {
		return nil
	}
	if en.blob, err = r.e.blobs.PutBlob(context.WithoutCancel(r.ctx), r.id, en.raw); err != nil {
		return fmt.Errorf("large value of run %q: %w", r.id, err)
	}
	en.raw = nil
	return nil
}

// largeData is the size in bytes from which Data is kept as a blob.
const largeData = 64 << 10

// stored tells those who wait what became of en. It returns the run that the caller
// has to drive, or nil.
func (en *entry) stored(err error) *run {
	mine := false
	switch {
	case err != nil:
		mine = en.r.inbox.fail(err)
	case en.kind != blackboard.Started && en.kind != blackboard.Ended && (en.op != nil || en.kind == blackboard.Answered || en.kind == blackboard.Canceled):
		mine = en.r.inbox.push(en)
	}
	if en.done != nil {
		en.done <- err
	}
	if !mine {
		return nil
	}
	return en.r
}

// maxBatch is how many records are appended at once.
const maxBatch = 512

// committer appends records of many runs and branches together.
type committer struct {
	store blackboard.Store
	calls atomic.Int64 // of agents under way, each of which ends in a record

	mu    sync.Mutex
	queue []*entry
	led   bool // somebody commits

	// Only who leads touches these.
	spare []*entry
	recs  []blackboard.Record
	drive []*run // that somebody has to drive now
}

// add puts en in line; if nobody commits, the caller does, until the line is empty.
// It returns the run that the caller has to drive, or nil.
func (c *committer) add(en *entry) *run {
	if c.put(en) {
		return c.lead()
	}
	return nil
}

// put puts en in line and tells whether the caller has to lead.
func (c *committer) put(en *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, en)
	lead := !c.led
	c.led = true
	return lead
}

// lead commits until the line is empty. It returns the run that the caller has to
// drive, or nil.
func (c *committer) lead() *run {
	var mine *run
	for {
		if c.calls.Load() > 1 {
			runtime.Gosched() // let those who are about to add a record do so
		}
		batch := c.next()
		if batch == nil {
			return mine
		}
		for rest := batch; len(rest) > 0; {
			if mine != nil { // who leads on cannot drive
				mine.e.goOn(mine)
			}
			n := min(len(rest), maxBatch)
			c.commit(rest[:n])
			rest = rest[n:]
			mine = c.handOut()
		}
		clear(batch)
		c.spare = batch[:0]
	}
}

// next takes what is in line; nil: it is empty, and nobody leads any more.
func (c *committer) next() []*entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue
	if len(batch) == 0 {
		c.led = false
		return nil
	}
	c.queue, c.spare = c.spare[:0], nil
	return batch
}

// handOut lets others drive the runs of a batch, but for one that it returns.
func (c *committer) handOut() *run {
	if len(c.drive) == 0 {
		return nil
	}
	mine := c.drive[0]
	for _, r := range c.drive[1:] {
		r.e.goOn(r)
	}
	clear(c.drive)
	c.drive = c.drive[:0]
	return mine
}

// commit stores a batch. If that fails and it is of several runs, each run's part
// is tried by itself, so that one that was fenced off does not stop the others.
func (c *committer) commit(batch []*entry) {
	err := c.append(batch)
	if err == nil || !mixed(batch) {
		for _, en := range batch {
			c.settle(en, err)
		}
		return
	}
	for len(batch) > 0 {
		part, rest := batch[:1:1], []*entry(nil)
		for _, en := range batch[1:] {
			if en.r == part[0].r {
				part = append(part, en)
			} else {
				rest = append(rest, en)
			}
		}
		err := c.append(part)
		for _, en := range part {
			c.settle(en, err)
		}
		batch = rest
	}
}

func mixed(batch []*entry) bool {
	for _, en := range batch[1:] {
		if en.r != batch[0].r {
			return true
		}
	}
	return false
}

var errEarlier = errors.New("the run's log is closed: it has ended, or an earlier record was not stored")

// append stores the batch, all or none. Nothing follows a record that failed.
func (c *committer) append(batch []*entry) error {
	c.recs = c.recs[:0]
	for _, en := range batch {
		l := &en.r.records
		if en.late = l.broken || l.closed; en.late {
			continue
		}
		l.closed = en.kind == blackboard.Ended
		c.recs = append(c.recs, en.record(l.seq, en.raw))
		l.seq++
	}
	if len(c.recs) == 0 {
		return nil
	}
	err := c.store.Append(context.Background(), c.recs)
	clear(c.recs)
	if err != nil {
		for _, en := range batch {
			if !en.late {
				en.r.records.seq--
			}
		}
	}
	return err
}

// settle is stored for an entry of a store's log.
func (c *committer) settle(en *entry, err error) {
	l := &en.r.records
	if err == nil && en.late {
		err = errEarlier
	}
	l.broken = l.broken || err != nil
	if err == nil {
		l.changed()
	}
	if r := en.stored(err); r != nil {
		c.drive = append(c.drive, r)
	}
}
