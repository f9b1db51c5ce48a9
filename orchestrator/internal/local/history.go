package local

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// history is the log of a run, and while the run is resumed, what of it the flow
// has not yet repeated.
type history struct {
	id    string
	start engine.StartedData
	flow  string
	owner string // of the last who worked on it
	recs  []blackboard.Record

	answers [][]engine.CalledData // of recs, by Seq, so many in a part

	next    int                     // of recs
	own     map[identity]string     // what the flow itself wrote and has not repeated: its kind
	pending map[effectID]*engine.Op // effects that wait for their record
	order   []*engine.Op            // the same, in the order in which they were asked for
	dropped map[effectID]*engine.Op // effects that the flow gave up
	hashes  map[effectID]string     // changed requests that were accepted
}

// effectID is the identity of an effect in its run.
type effectID struct {
	branch string
	n      int64
}

// identity is that of a record that the flow itself writes: emissions, and what is
// said of an effect, are counted apart.
type identity struct {
	class byte
	effectID
}

func identityOf(rec blackboard.Record) identity {
	id := identity{'e', effectID{rec.Branch, rec.N}}
	switch rec.Kind {
	case blackboard.Asked:
		id.class = 'a'
	case blackboard.Withdrawn:
		id.class = 'w'
	case blackboard.Changed:
		id.class = 'c'
	}
	return id
}

// load reads the log of a run; nil: there is none.
func (e *Engine) load(ctx context.Context, id string) (*history, error) {
	h := &history{id: id}
	var decoding errgroup.Group
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	defer func() { _ = decoding.Wait() }()
	for rec, err := range e.cfg.Store.Records(ctx, id, 0) {
		if err != nil {
			return nil, fmt.Errorf("log of run %q: %w", id, err)
		}
		if rec.Seq != int64(len(h.recs)) {
			return nil, fmt.Errorf("log of run %q: record %d stands where %d is wanted", id, rec.Seq, len(h.recs))
		}
		if rec.Blob != "" {
			if rec, err = e.expand(ctx, rec); err != nil {
				return nil, err
			}
		}
		h.recs = append(h.recs, rec)
		if len(h.recs)%part == 0 {
			h.decode(&decoding)
		}
	}
	if len(h.recs) == 0 {
		return nil, nil
	}
	h.decode(&decoding)
	if err := h.open(); err != nil {
		return nil, err
	}
	return h, decoding.Wait()
}

// part is how many answers are decoded by one goroutine, while the next records are
// read.
const part = 512

// decode lets g decode the answers of the records that came since.
func (h *history) decode(g *errgroup.Group) {
	recs := h.recs[len(h.answers)*part:]
	answers := make([]engine.CalledData, len(recs))
	h.answers = append(h.answers, answers)
	g.Go(func() error {
		for i, rec := range recs {
			if rec.Kind != blackboard.Called {
				continue
			}
			if err := json.Unmarshal(rec.Data, &answers[i]); err != nil {
				return fmt.Errorf("log of run %q: record %d: %w", h.id, rec.Seq, err)
			}
		}
		return nil
	})
}

// answer is the answer of a Called record.
func (h *history) answer(rec blackboard.Record) engine.CalledData {
	return h.answers[rec.Seq/part][rec.Seq%part]
}

// open reads who and what the run is.
func (h *history) open() error {
	first := h.recs[0]
	if first.Kind != blackboard.Started {
		return fmt.Errorf("log of run %q: the first record is %q, want %q", h.id, first.Kind, blackboard.Started)
	}
	if err := json.Unmarshal(first.Data, &h.start); err != nil {
		return fmt.Errorf("log of run %q: first record: %w", h.id, err)
	}
	h.flow, h.owner = first.Name, h.start.Owner
	for _, rec := range h.recs {
		if rec.Kind == blackboard.Resumed {
			var d engine.ResumedData
			if err := json.Unmarshal(rec.Data, &d); err != nil {
				return fmt.Errorf("log of run %q: record %d: %w", h.id, rec.Seq, err)
			}
			h.owner = d.Owner
		}
	}
	return nil
}

func (h *history) ended() bool { return h.recs[len(h.recs)-1].Kind == blackboard.Ended }

// same is for somebody who starts a run under the ID of this one.
func (h *history) same(p engine.Program, in engine.Input) error {
	return same(h.id, h.flow, h.start.Data, p, in)
}

// takeUp makes r go on from h: it puts that on record, which fences off everybody
// else, and prepares the replay.
func (e *Engine) takeUp(ctx context.Context, r *run, h *history) error {
	if h.start.Version != r.prog.Version {
		return agent.ErrorOf(fmt.Errorf("%w: run %q is of version %d of flow %q, this is version %d", engine.ErrDiverged, h.id, h.start.Version, h.flow, r.prog.Version))
	}
	r.in = h.start.Input
	r.in.Run = h.id
	r.now = h.recs[0].At
	r.last = r.now
	r.records.seq = int64(len(h.recs))
	resumed := &entry{r: r, kind: blackboard.Resumed, name: h.flow, at: now(), data: engine.ResumedData{Owner: e.id}}
	if err := r.writeSync(ctx, resumed); err != nil {
		return fmt.Errorf("resume of run %q: %w", h.id, err)
	}
	h.recs = append(h.recs, resumed.record(int64(len(h.recs)), resumed.raw))
	h.prepare()
	r.past = h
	for _, rec := range h.recs {
		switch rec.Kind {
		case blackboard.Answered:
			r.answers.note(rec.Name)
		case blackboard.Canceled:
			r.answers.note("")
		}
	}
	return nil
}

// prepare splits the log into what completes effects and what the flow wrote.
func (h *history) prepare() {
	h.own = map[identity]string{}
	h.pending = map[effectID]*engine.Op{}
	h.dropped = map[effectID]*engine.Op{}
	h.hashes = map[effectID]string{}
	h.recs = slices.DeleteFunc(h.recs[1:], func(rec blackboard.Record) bool {
		switch rec.Kind {
		case blackboard.Called, blackboard.Slept, blackboard.Expired, blackboard.Answered, blackboard.Canceled, blackboard.Resumed:
			return false
		case blackboard.Changed:
			h.hashes[effectID{rec.Branch, rec.N}] = rec.Hash
		}
		h.own[identityOf(rec)] = rec.Kind
		return true
	})
}

// wait notes an effect that the flow asks for.
func (h *history) wait(op *engine.Op) {
	h.pending[effectID{op.Branch, op.N}] = op
	h.order = append(h.order, op)
}

// drop notes that the flow gave an effect up.
func (h *history) drop(op *engine.Op) {
	id := effectID{op.Branch, op.N}
	delete(h.pending, id)
	h.dropped[id] = op
}

// answered notes that a question has its answer, or was given up: the record of
// its time may still come.
func (h *history) answered(op *engine.Op) { h.drop(op) }

// repeated tells whether the record of the flow's own is in the log already.
func (h *history) repeated(rec blackboard.Record) bool {
	id := identityOf(rec)
	kind, ok := h.own[id]
	if !ok || kind != rec.Kind {
		return false // the leftover will say what was recorded instead
	}
	delete(h.own, id)
	return true
}

// leftover says what is in the log that the flow did not do again, or nil.
func (h *history) leftover() error {
	for _, rec := range h.recs[h.next:] {
		id := effectID{rec.Branch, rec.N}
		switch rec.Kind {
		case blackboard.Called, blackboard.Slept, blackboard.Expired:
			if h.pending[id] == nil && h.dropped[id] == nil {
				return h.diverged(rec, "the flow ended before it")
			}
		}
	}
	var first identity
	for id := range h.own {
		if first == (identity{}) || id.branch < first.branch || id.branch == first.branch && id.n < first.n {
			first = id
		}
	}
	if first != (identity{}) {
		return agent.ErrorOf(fmt.Errorf("%w: run %q: recorded was %q by branch %q (number %d), which the flow did not do again",
			engine.ErrDiverged, h.id, h.own[first], first.branch, first.n))
	}
	return nil
}

func (h *history) diverged(rec blackboard.Record, format string, args ...any) error {
	what := fmt.Sprintf("record %d is %q of effect %s", rec.Seq, rec.Kind, engine.Key(rec.Branch, rec.N))
	if rec.Name != "" {
		what += fmt.Sprintf(" (%s)", rec.Name)
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %s: %s", engine.ErrDiverged, h.id, what, fmt.Sprintf(format, args...)))
}
