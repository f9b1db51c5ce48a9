package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// scripted is an Execution whose branches do what a script says, one word a step.
type scripted struct {
	Execution
	port    Port
	script  [][]string // words of each branch
	pos     []int      // next word of each branch
	n       []int64    // number of the next effect of each branch
	emitted []int64    // number of the next emission of each branch
	waits   []*Op      // effect that each branch waits for; nil: none
	heard   []string   // completions that branches waited for
}

func newScripted(script [][]string, port Port) *scripted {
	k := len(script)
	return &scripted{port: port, script: script, pos: make([]int, k), n: make([]int64, k), emitted: make([]int64, k), waits: make([]*Op, k)}
}

func keyAt(branch, pos int) string { return fmt.Sprintf("question %d of %d", pos, branch) }

// advance executes each branch until it waits.
func (x *scripted) advance() {
	for b := range x.script {
		for x.waits[b] == nil && x.pos[b] < len(x.script[b]) {
			x.pos[b]++
			x.step(b, x.pos[b]-1)
		}
	}
}

func (x *scripted) step(b, pos int) {
	branch, word := fmt.Sprint(b), x.script[b][pos]
	if word == "emit" {
		x.port.Emit(runlog.Record{Kind: "step", Branch: branch, N: x.emitted[b]})
		x.emitted[b]++
		return
	}
	op := &Op{Branch: branch, N: x.n[b]}
	x.n[b]++
	switch word {
	case "call":
		op.Kind, op.Name, op.Request = Call, "a", &agent.Request{Prompt: fmt.Sprint(pos)}
	case "child":
		op.Kind, op.Name = Child, "f"
	case "sleep", "nap":
		op.Kind = Sleep
	case "await", "drop":
		op.Kind, op.Name, op.Ask = Await, keyAt(b, pos), data(Ask{Question: Question{Key: keyAt(b, pos)}})
	}
	x.port.Start(op)
	if word == "nap" || word == "drop" { // the flow gives up at once
		x.port.Cancel(op)
		return
	}
	x.waits[b] = op
}

func (x *scripted) Complete(c Completion) {
	if c.Op == nil {
		x.heard = append(x.heard, c.Err.Message)
		return
	}
	b := slices.Index(x.waits, c.Op)
	if b < 0 {
		return // that of an Await that was canceled
	}
	what := "over"
	switch {
	case c.Err != nil:
		what = string(c.Err.Codes[0])
	case c.Response != nil:
		what = c.Response.Text + string(c.Response.Data)
	}
	x.heard = append(x.heard, c.Op.Key()+" "+what)
	x.waits[b] = nil
}

func (x *scripted) Charge(op *Op, _ providers.Usage) { x.heard = append(x.heard, "charge "+op.Key()) }

func (x *scripted) Lose(...*Op) { x.heard = append(x.heard, "lose") }

// world is a dumb engine that keeps a log: it executes nothing, and knows of each question
// only its answer.
type world struct {
	Port
	log     []runlog.Record
	open    []*Op
	asked   map[string]bool
	answers map[string]json.RawMessage
	ready   []Completion // answers that came before their question

	states map[int]state // what is so before a record that the flow did not write, by Seq
}

// state is where a run is when all branches wait.
type state struct {
	heard int
	open  []string
}

func (w *world) add(rec runlog.Record) {
	rec.Run, rec.Seq, rec.At = "x", int64(len(w.log)), begun.Add(time.Duration(len(w.log))*time.Second)
	w.log = append(w.log, rec)
}

func (w *world) Emit(rec runlog.Record) { w.add(rec) }

func (w *world) Start(op *Op) {
	if op.Kind == Await {
		w.asked[op.Name] = true
		if answer, ok := w.answers[op.Name]; ok {
			w.ready = append(w.ready, Completion{Op: op, Response: &agent.Response{Data: answer}})
			return
		}
		w.add(runlog.Record{Kind: runlog.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Data: op.Ask})
	}
	w.open = append(w.open, op)
}

func (w *world) Cancel(op *Op) {
	i := slices.Index(w.open, op)
	if i < 0 {
		return
	}
	w.open = slices.Delete(w.open, i, i+1)
	if op.Kind == Await {
		w.add(runlog.Record{Kind: runlog.Withdrawn, Branch: op.Branch, N: op.N, Name: op.Name})
	}
}

// complete writes the record that completes op.
func (w *world) complete(op *Op, expires bool) Completion {
	w.open = slices.DeleteFunc(w.open, func(other *Op) bool { return other == op })
	rec := runlog.Record{Kind: runlog.Called, Branch: op.Branch, N: op.N, Name: op.Name}
	c := Completion{Op: op, Response: &agent.Response{Text: fmt.Sprintf("by record %d", len(w.log))}}
	switch {
	case op.Kind == Sleep:
		rec.Kind, c.Response = runlog.Slept, nil
	case op.Kind == Await && expires:
		rec.Kind, c = runlog.Expired, Expired(op)
	case op.Kind == Await:
		w.answers[op.Name] = json.RawMessage(fmt.Sprint(len(w.log)))
		rec = runlog.Record{Kind: runlog.Answered, Name: op.Name, Data: w.answers[op.Name]}
		c.Response = &agent.Response{Data: rec.Data}
	default:
		rec.Data = data(CalledData{Response: c.Response})
		if op.Kind == Call {
			rec.Hash = RequestHash(op.Name, op.Request)
		}
	}
	w.add(rec)
	return c
}

// early answers a question that was not asked yet.
func (w *world) early(t *rapid.T, script [][]string) {
	b := rapid.IntRange(0, len(script)-1).Draw(t, "branch")
	key := keyAt(b, rapid.IntRange(0, 5).Draw(t, "pos"))
	if w.asked[key] || w.answers[key] != nil {
		return
	}
	w.answers[key] = json.RawMessage(`"early"`)
	w.add(runlog.Record{Kind: runlog.Answered, Name: key, Data: w.answers[key]})
}

// quiet lets all branches advance until each waits, and notes where the run is then.
func (w *world) quiet(x *scripted) {
	x.advance()
	for len(w.ready) > 0 {
		c := w.ready[0]
		w.ready = w.ready[1:]
		x.Complete(c)
		x.advance()
	}
	s := state{heard: len(x.heard)}
	for _, op := range w.open {
		s.open = append(s.open, "start "+op.Key()+" true")
	}
	w.states[len(w.log)] = s
}

// lived executes a script to its end, with completions in a random order.
func lived(t *rapid.T, script [][]string) (*world, *scripted) {
	w := &world{asked: map[string]bool{}, answers: map[string]json.RawMessage{}, states: map[int]state{}}
	x := newScripted(script, w)
	w.add(started())
	for w.quiet(x); len(w.open) > 0; w.quiet(x) {
		switch rapid.IntRange(0, 9).Draw(t, "act") {
		case 0:
			w.early(t, script)
		case 1:
			w.add(runlog.Record{Kind: runlog.Resumed})
			x.Lose()
		default:
			op := rapid.SampledFrom(w.open).Draw(t, "op")
			x.Complete(w.complete(op, rapid.Bool().Draw(t, "expires")))
		}
	}
	return w, x
}

// replayed executes a script over a log. It is the error of Step or Leftover.
func replayed(t require.TestingT, script [][]string, log []runlog.Record) (*Replay, *scripted, error) {
	p, err := NewReplay("x", logOf(log...))
	require.NoError(t, err)
	p.Clock, p.Questions = &Clock{}, &Questions{}
	p.Skip(p.Records[0].At)
	x := newScripted(script, p)
	for {
		x.advance()
		more, err := p.Step(x)
		if err != nil {
			return p, x, err
		}
		if !more {
			return p, x, p.Leftover()
		}
	}
}

var scripts = rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"call", "sleep", "child", "await", "emit", "drop", "nap"}), 0, 6), 1, 4)

// TestReplayOfEachPrefix cuts the log of a random run at each record: a replay hears what
// the run heard, hands over to Live what the log does not have yet, and starts what was open.
func TestReplayOfEachPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := scripts.Draw(t, "script")
		w, x := lived(t, script)
		for cut := 1; cut <= len(w.log); cut++ {
			next := cut // first record behind the cut that the flow did not write
			for _, known := w.states[next]; !known; _, known = w.states[next] {
				next++
			}
			var emits []string
			for _, rec := range w.log[cut:next] {
				emits = append(emits, "emit "+rec.Kind)
			}
			p, y, err := replayed(t, script, w.log[:cut])
			require.NoError(t, err, "cut at %d", cut)
			require.Equal(t, slices.Concat(x.heard[:w.states[next].heard]), slices.Concat(y.heard), "cut at %d", cut)
			live := &heard{}
			p.Live = live
			p.GoLive()
			require.Equal(t, slices.Concat(emits, w.states[next].open), slices.Concat(live.log), "cut at %d", cut)
		}
	})
}

// TestReplayOfAnotherFlow changes one step of a flow whose whole run is on record: the
// replay never takes it for the flow that wrote the log.
func TestReplayOfAnotherFlow(t *testing.T) {
	words := []string{"call", "sleep", "child", "emit"}
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(words), 1, 6), 1, 4).Draw(t, "script")
		w, _ := lived(t, script)
		b := rapid.IntRange(0, len(script)-1).Draw(t, "branch")
		i := rapid.IntRange(0, len(script[b])-1).Draw(t, "step")
		script[b] = slices.Clone(script[b])
		script[b][i] = rapid.SampledFrom(slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == script[b][i] })).Draw(t, "word")
		_, _, err := replayed(t, script, w.log)
		require.ErrorIs(t, err, ErrDiverged)
	})
}
