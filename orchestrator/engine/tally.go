package engine

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/providers"
)

// Tally is what the first records of a log say of a run's figures. The zero value counts
// no record. It is not safe for concurrent use.
//
// An engine that puts its Tally now and then into a record that it writes anyway (see
// [CalledData]) spares readers the log: [ReadTally] starts at the last one.
type Tally struct {
	Records       int64                      `json:"records"`                 // number of records that are counted: those with a lower Seq
	ByAgent       map[string]providers.Usage `json:"byAgent,omitzero"`        // usage by agent, that of children by flow; nil: none
	Lost          Lost                       `json:"lost,omitzero"`           // lost calls, which are not in ByAgent
	ContinuedFrom string                     `json:"continuedFrom,omitempty"` // ended run that the run continues; "": none
}

// Spent is the sum of ByAgent.
func (t *Tally) Spent() (sum providers.Usage) {
	for _, used := range t.ByAgent {
		sum = sum.Add(used)
	}
	return sum
}

// Clone returns a Tally with a map of its own, which is never nil.
func (t *Tally) Clone() Tally {
	c := *t
	if c.ByAgent = maps.Clone(t.ByAgent); c.ByAgent == nil {
		c.ByAgent = map[string]providers.Usage{}
	}
	return c
}

// Note counts the next record. One that cannot be read is [runlog.ErrDamaged].
func (t *Tally) Note(rec *runlog.Record) error {
	f, err := figuresOf(rec)
	if err == nil {
		t.add(&f)
	}
	return err
}

// Count is Note for a record whose Data need not be encoded yet: value is what Data says.
func (t *Tally) Count(rec *runlog.Record, value any) {
	switch d := value.(type) {
	case StartedData:
		t.ContinuedFrom = d.ContinuedFrom
	case *CalledData:
		t.Add(rec.Name, d.Usage())
	case UsedData:
		t.Add(rec.Name, d.Usage)
	default:
		if rec.Kind == runlog.Lost {
			_ = t.Note(rec) // Data is of the scheduler
		}
	}
	t.Records = rec.Seq + 1
}

// Add counts usage of a record that the caller has decoded. It leaves Records as it is.
func (t *Tally) Add(name string, used providers.Usage) {
	if t.ByAgent == nil {
		t.ByAgent = map[string]providers.Usage{}
	}
	t.ByAgent[name] = t.ByAgent[name].Add(used)
}

// Lose counts what was lost. It leaves Records as it is.
func (t *Tally) Lose(l Lost) {
	t.Lost.Calls += l.Calls
	t.Lost.Cost += l.Cost
	t.Lost.Tokens += l.Tokens
}

func (t *Tally) add(f *figures) {
	t.Records = f.seq + 1
	if f.used {
		t.Add(f.name, f.Usage.Add(f.Response.Usage).Add(f.Err.Usage))
	}
	t.Lose(f.Lost)
	if f.ContinuedFrom != "" {
		t.ContinuedFrom = f.ContinuedFrom
	}
}

// figures are what one record says of the figures of its run. The embedded Lost is that of
// a Lost record.
type figures struct {
	seq  int64
	name string
	used bool // the record is of a call or a child

	ContinuedFrom string                          `json:"continuedFrom"`
	Usage         providers.Usage                 `json:"usage"`
	Response      struct{ Usage providers.Usage } `json:"response"`
	Err           struct{ Usage providers.Usage } `json:"error"`
	Tally         *Tally                          `json:"tally"`
	Lost
}

// figuresOf decodes what rec says.
func figuresOf(rec *runlog.Record) (f figures, err error) {
	switch rec.Kind {
	case runlog.Started, runlog.Called, runlog.Used, runlog.Lost, runlog.Slept, runlog.Resumed, runlog.Stuck:
		if len(rec.Data) > 0 {
			err = json.Unmarshal(rec.Data, &f)
		}
	}
	if err != nil {
		return f, unreadable(rec, err)
	}
	f.seq, f.name = rec.Seq, rec.Name
	f.used = rec.Kind == runlog.Called || rec.Kind == runlog.Used
	if t := f.Tally; t != nil && t.Records > rec.Seq {
		f.Tally = nil // the log was renumbered
	}
	return f, nil
}

// span is how many of the last records ReadTally reads first.
const span = 128

// ReadTally counts the records of a run that has next of them. It starts from base, or,
// where many records follow that one, from the last Tally that the log has: it reads the
// last 128 records, then, if these have none, 8 times as many, and so on. read yields the
// records from a Seq on. Those that were added meanwhile are counted, too.
func ReadTally(base Tally, next int64, read func(from int64) iter.Seq2[runlog.Record, error]) (Tally, error) {
	for n := int64(span); ; n *= 8 {
		t := tail{Tally: base, from: max(base.Records, next-n)}
		t.known = t.from == base.Records
		for rec, err := range read(t.from) {
			if err == nil {
				err = t.note(&rec)
			}
			if err != nil {
				return Tally{}, err
			}
		}
		if t.known {
			return t.Clone(), nil
		}
	}
}

// tail counts the end of a log.
type tail struct {
	Tally
	from    int64
	known   bool      // the Tally counts all records before those that were read, and these
	pending []figures // those of records that the Tally does not count yet; nil once it is known
}

func (t *tail) note(rec *runlog.Record) error {
	f, err := figuresOf(rec)
	if err != nil {
		return err
	}
	if !t.known && f.Tally != nil && f.Tally.Records >= t.from {
		t.known, t.Tally = true, f.Tally.Clone()
		for i := range t.pending {
			if p := &t.pending[i]; p.seq >= f.Tally.Records {
				t.add(p)
			}
		}
		t.pending = nil
	}
	if t.known {
		t.add(&f)
	} else {
		t.pending = append(t.pending, f)
	}
	return nil
}

func unreadable(rec *runlog.Record, err error) error {
	return fmt.Errorf("log of run %q: record %d: %w: %w", rec.Run, rec.Seq, runlog.ErrDamaged, err)
}

// SetEnd sets the figures of a run that ended so.
func (v *View) SetEnd(end *End) {
	v.Spent, v.Lost, v.ByAgent, v.Outcome, v.ContinuedFrom = end.Spent, end.Lost, end.ByAgent, end.Outcome, end.ContinuedFrom
}

// SetTally sets the figures of a run that has not ended. It keeps the map of t.
func (v *View) SetTally(t *Tally) {
	v.Spent, v.Lost, v.ByAgent, v.ContinuedFrom = t.Spent(), t.Lost, t.ByAgent, t.ContinuedFrom
}

// ReadLog sets the figures by the whole log of the run.
func (v *View) ReadLog(log iter.Seq2[runlog.Record, error]) error {
	var t Tally
	for rec, err := range log {
		if err != nil {
			return err
		}
		if rec.Kind == runlog.Ended {
			return v.readEnd(&rec, &t)
		}
		if err := t.Note(&rec); err != nil {
			return err
		}
	}
	t = t.Clone()
	v.SetTally(&t)
	return nil
}

// readEnd sets the figures by the last record of a log. What it does not say is as t
// counted it.
func (v *View) readEnd(rec *runlog.Record, t *Tally) error {
	var d EndedData
	if err := json.Unmarshal(rec.Data, &d); err != nil {
		return unreadable(rec, err)
	}
	if d.ByAgent == nil {
		d.ByAgent, d.ContinuedFrom = t.Clone().ByAgent, t.ContinuedFrom
	}
	v.SetEnd(&d.End)
	return nil
}
