package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/convene-go/convene/blackboard/runlog"
)

// bundle has records of one or several runs, and the changes of these runs.
type bundle struct {
	parts []*part
	rows  []row
	byRun map[string]int // the index in parts by the ID of the run
}

// row is a record as it is stored.
type row struct {
	runlog.Record
	part int64 // the number of its run in parts, from 1
	at   int64 // nanos of the record's At
}

// part is the change of one run by its records.
type part struct {
	run         string // ID of the run
	first, next int64  // Seq of the first of its records, and of the one that comes after the last
	at          int64  // nanos of the last record's At
	ended       bool   // the last record is Ended

	// The rest is written if touchesIndexes is true.
	touchesIndexes bool           // a list shows one of the records
	list           runlog.Listing // entry in the list of runs, where it is set
	started        bool           // flow, version, parent and labels of list are set
	owned          bool           // owner of list is set
	stated         bool           // status and err of list are set
	labels         []byte         // labels of list as JSON; nil: none
}

// newBundle checks recs. It keeps no slice of the caller's.
func newBundle(recs []runlog.Record) (*bundle, error) {
	b := &bundle{rows: make([]row, 0, len(recs))}
	for i := range recs {
		r := recs[i]
		r.Data = bytes.Clone(r.Data)
		if err := b.add(&r); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// together joins the records of all calls, which follow each other.
func together(calls []*appendCall) (*bundle, error) {
	if len(calls) == 1 {
		return calls[0].bundle, nil
	}
	b := &bundle{}
	for _, c := range calls {
		for i := range c.rows {
			if err := b.add(&c.rows[i].Record); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// add adds a record that follows the last one of its run.
func (b *bundle) add(r *runlog.Record) error {
	at, err := nanosOf(r)
	if err != nil {
		return err
	}
	i, p := b.part(r)
	if r.Seq < 0 || r.Seq == math.MaxInt64 || r.Seq != p.next || p.ended {
		return conflict(r.Run, r.Seq)
	}
	if err := p.take(r); err != nil {
		return err
	}
	p.at, p.next = at, r.Seq+1
	b.rows = append(b.rows, row{*r, int64(i + 1), at})
	return nil
}

// part returns the part of r's run.
func (b *bundle) part(r *runlog.Record) (int, *part) {
	if n := len(b.rows); n > 0 && b.rows[n-1].Run == r.Run {
		i := int(b.rows[n-1].part) - 1
		return i, b.parts[i]
	}
	i, ok := b.byRun[r.Run]
	if !ok {
		if b.byRun == nil {
			b.byRun = map[string]int{}
		}
		i = len(b.parts)
		b.byRun[r.Run] = i
		b.parts = append(b.parts, &part{run: r.Run, first: r.Seq, next: r.Seq})
	}
	return i, b.parts[i]
}

// take adds what r changes of its run.
func (p *part) take(r *runlog.Record) error {
	if r.Seq == 0 || runlog.Listed(r.Kind) {
		if err := p.list.Add(*r); err != nil {
			return err
		}
		p.touchesIndexes = true
	}
	p.touchesIndexes = p.touchesIndexes || runlog.AskKind(r.Kind)
	switch r.Kind {
	case runlog.Started:
		p.started, p.owned = true, true
	case runlog.Resumed:
		p.owned, p.stated = true, true
	case runlog.Stuck, runlog.Ended:
		p.stated = true
		p.ended = r.Kind == runlog.Ended
	}
	if p.labels = nil; len(p.list.Labels) > 0 {
		var err error
		if p.labels, err = json.Marshal(p.list.Labels); err != nil {
			return fmt.Errorf("labels of run %q: %w", p.run, err)
		}
	}
	return nil
}

// follows reports whether all records of b follow those of taken.
func (b *bundle) follows(taken map[string]*part) bool {
	for _, p := range b.parts {
		if before := taken[p.run]; before != nil && (before.ended || before.next != p.first) {
			return false
		}
	}
	return true
}

// touchesIndexes reports whether more changes than the logs and their ends.
func (b *bundle) touchesIndexes() bool {
	for _, p := range b.parts {
		if p.touchesIndexes {
			return true
		}
	}
	return false
}

// runs returns the IDs of the runs.
func (b *bundle) runs() []string {
	ids := make([]string, len(b.parts))
	for i, p := range b.parts {
		ids[i] = p.run
	}
	return ids
}

// conflict returns ErrConflict with the names of the runs.
func (b *bundle) conflict() error {
	if len(b.parts) == 1 {
		return conflict(b.parts[0].run, b.parts[0].first)
	}
	return fmt.Errorf("%w: with a record of one of the runs %q", runlog.ErrConflict, b.runs())
}

func conflict(run string, seq int64) error {
	return fmt.Errorf("%w: record %d of run %q is taken, leaves a gap, or the run has ended", runlog.ErrConflict, seq, run)
}
