package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/blackboard/runlog"
)

// errWithheld is why a run of which secrets are missing is not resumed.
var errWithheld = errors.New("it is a copy without its secrets, which can be read and not resumed: export it with ExportOptions.Secrets")

// part is how many answers are decoded by one goroutine, while the next records are
// read.
const part = 512

// NewReplay reads the log of a run from its first record; nil: there is none. What
// is kept beside the log is in Data already.
func NewReplay(run string, log iter.Seq2[runlog.Record, error]) (*Replay, error) {
	p := &Replay{next: 1, effects: map[effectID]*onRecord{}, own: map[ownID]own{}}
	p.Started.Run = run
	var decoding errgroup.Group
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	var err error
	for rec, readErr := range log {
		switch {
		case readErr != nil:
			err = fmt.Errorf("log of run %q: %w", run, readErr)
		case rec.Seq != int64(len(p.Records)):
			err = p.damaged(rec.Seq, "it is at the place of record %d", len(p.Records))
		default:
			if len(p.Records) == cap(p.Records) { // twice as many: a long log is copied less often
				p.Records = slices.Grow(p.Records, len(p.Records)+part)
			}
			p.Records = append(p.Records, rec)
			err = p.note(&p.Records[rec.Seq])
		}
		if err != nil {
			break
		}
		if len(p.Records)%part == 0 {
			decoding.Go(p.decode(len(p.Records) - part))
		}
	}
	decoding.Go(p.decode(len(p.Records) / part * part))
	if err = cmp.Or(err, decoding.Wait()); err != nil || len(p.Records) == 0 {
		return nil, err
	}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

// note notes what rec says of an effect, or that the flow has to repeat it.
func (p *Replay) note(rec *runlog.Record) error {
	switch rec.Kind {
	case runlog.Called, runlog.Slept, runlog.Expired:
		p.effect(rec.Branch, rec.N).seq = rec.Seq
		return nil
	case runlog.Started, runlog.Ended, runlog.Used, runlog.Answered, runlog.Canceled, runlog.Resumed, runlog.Stuck:
		return nil
	case runlog.Changed:
		p.effect(rec.Branch, rec.N).hash = rec.Hash
	case runlog.Refused:
		d := &RefusedData{}
		if err := json.Unmarshal(rec.Data, d); err != nil {
			return p.damaged(rec.Seq, "%v", err)
		}
		p.effect(rec.Branch, rec.N).refused = d
	}
	o := own{kind: rec.Kind, seq: rec.Seq}
	if rec.Kind == runlog.Asked {
		o.hash = cmp.Or(rec.Hash, AskHash(rec.Data))
	}
	p.own[ownIDOf(rec)] = o
	return nil
}

// decode makes a function that decodes the answers of the records from there on.
func (p *Replay) decode(from int) func() error {
	recs, answers := p.Records[from:], make([]CalledData, len(p.Records)-from)
	p.answers = append(p.answers, answers)
	return func() error {
		for i := range recs {
			if recs[i].Kind != runlog.Called {
				continue
			}
			if err := json.Unmarshal(recs[i].Data, &answers[i]); err != nil {
				return p.damaged(recs[i].Seq, "%v", err)
			}
		}
		return nil
	}
}

// answer is the answer of a Called record.
func (p *Replay) answer(seq int64) *CalledData { return &p.answers[seq/part][seq%part] }

// open reads what the run is, and why its flow failed, if it did: what calls came to
// that were under way then may follow.
func (p *Replay) open() error {
	first := p.Records[0]
	if first.Kind != runlog.Started {
		return p.damaged(0, "it is %q, want %q", first.Kind, runlog.Started)
	}
	if err := json.Unmarshal(first.Data, &p.Started); err != nil {
		return p.damaged(0, "%v", err)
	}
	if p.Started.Secret.Withheld {
		return fmt.Errorf("log of run %q: %w", p.Started.Run, errWithheld)
	}
	last := len(p.Records) - 1
	for p.Records[last].Kind == runlog.Called || p.Records[last].Kind == runlog.Used {
		last--
	}
	if rec := p.Records[last]; rec.Kind == runlog.Stuck {
		var d StuckData
		if err := json.Unmarshal(rec.Data, &d); err != nil || d.Err == nil {
			return p.damaged(rec.Seq, "%v", err)
		}
		p.Stuck = d.Err.Message
	}
	return nil
}

// Tally counts the whole log.
func (p *Replay) Tally() (t Tally, err error) {
	t.ContinuedFrom = p.Started.ContinuedFrom
	for i := range p.Records {
		switch rec := &p.Records[i]; rec.Kind {
		case runlog.Called:
			t.Add(rec.Name, p.answer(rec.Seq).Usage())
		case runlog.Used, runlog.Lost:
			if err := t.Note(rec); err != nil {
				return t, err
			}
		}
	}
	t.Records = int64(len(p.Records))
	return t, nil
}

func (p *Replay) damaged(seq int64, format string, args ...any) error {
	return fmt.Errorf("log of run %q: record %d: %w: %s", p.Started.Run, seq, runlog.ErrDamaged, fmt.Sprintf(format, args...))
}
