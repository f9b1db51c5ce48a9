package sched_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

// tester is what a run of a test needs of it; a *rapid.T is one too.
type tester interface {
	require.TestingT
	Helper()
}

// world is an engine.Port whose completions the test hands out as it likes.
type world struct {
	now     time.Time
	worked  time.Duration
	under   []*engine.Op // what the engine holds, in the order in which it was begun
	told    []string     // what the scheduler told the engine
	emitted []runlog.Record
	state   func() (json.RawMessage, error)

	recorded  map[string]engine.Recorded // what the log knows of calls, by their keys
	gaveUp    map[*engine.Op]bool        // canceled, and not begun again
	killed    bool                       // what is canceled does not complete
	moves     int                        // of the engine in a random program
	emittedAt []int                      // the moves before each emission
}

func (w *world) Start(op *engine.Op) {
	delete(w.gaveUp, op)
	w.under = append(w.under, op)
	w.tell("start", op)
}

func (w *world) Cancel(op *engine.Op) {
	if w.gaveUp == nil {
		w.gaveUp = map[*engine.Op]bool{}
	}
	w.gaveUp[op] = true
	w.tell("cancel", op)
	if w.killed {
		w.under = slices.DeleteFunc(w.under, func(o *engine.Op) bool { return o == op })
	}
}

func (w *world) tell(what string, op *engine.Op) {
	kind := map[engine.Kind]string{engine.Call: "call", engine.Sleep: "sleep", engine.Limit: "limit", engine.Await: "await", engine.Child: "child"}[op.Kind]
	w.told = append(w.told, fmt.Sprintf("%s %s %s", what, kind, op.Key()))
}

func (w *world) Now() (time.Time, time.Duration) { return w.now, w.worked }
func (w *world) Emit(rec runlog.Record) {
	w.emitted = append(w.emitted, rec)
	w.emittedAt = append(w.emittedAt, w.moves)
}

func (w *world) Recorded(branch string, n int64) engine.Recorded {
	return w.recorded[engine.Key(branch, n)]
}
func (w *world) Expose(state func() (json.RawMessage, error)) { w.state = state }

// find finds the effect of that key in what is under way.
func (w *world) find(key string) *engine.Op {
	i := slices.IndexFunc(w.under, func(op *engine.Op) bool { return op.Key() == key })
	if i < 0 {
		return nil
	}
	return w.under[i]
}

// take takes the effect of that key out of what is under way.
func (w *world) take(key string) *engine.Op {
	i := slices.IndexFunc(w.under, func(op *engine.Op) bool { return op.Key() == key })
	if i < 0 {
		return nil
	}
	op := w.under[i]
	w.under = slices.Delete(w.under, i, i+1)
	return op
}

// bubble is a test in a bubble of package synctest, which fails if a coroutine is left
// behind.
type bubble struct{ *testing.T }

func inBubble(test func(t bubble)) func(t *testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(bubble{t}) })
	}
}

// run is a run of a body over a world.
type run struct {
	*world
	s     *sched.Sched
	t     tester
	notes []string // what the body says
	left  bool
}

// begin makes a run without limits. It is left at the end of the test at the latest.
func (t bubble) begin(body func(r *run, b *sched.Branch)) *run {
	t.Helper()
	return t.within(engine.Budget{}, func(r *run, b *sched.Branch, _ *sched.Scope) { body(r, b) })
}

// within makes a run under a budget.
func (t bubble) within(limit engine.Budget, body func(r *run, b *sched.Branch, sc *sched.Scope)) *run {
	t.Helper()
	r := newRun(t, limit, body)
	t.Cleanup(r.leave)
	return r
}

func newRun(t tester, limit engine.Budget, body func(r *run, b *sched.Branch, sc *sched.Scope)) *run {
	t.Helper()
	r := &run{t: t, world: &world{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}}
	r.s = sched.New(r.world, engine.Input{Budget: limit, Edition: engine.Edition}, func(b *sched.Branch, sc *sched.Scope) { body(r, b, sc) })
	return r
}

func (r *run) say(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// leave unwinds what is left.
func (r *run) leave() {
	if !r.left {
		r.left = true
		r.s.Leave()
	}
}

// waits lets the flow go on and wants it to wait then.
func (r *run) waits() {
	r.t.Helper()
	done, err := r.s.Advance()
	require.NoError(r.t, err)
	require.False(r.t, done, "the flow has ended; it said %q", r.notes)
}

// ends lets the flow go on and wants it to end, at the latest when all agents have obeyed
// that were told to end.
func (r *run) ends() {
	r.t.Helper()
	done, err := r.s.Advance()
	for i := 0; i < len(r.under) && !done && err == nil; {
		op := r.under[i]
		if op.Kind != engine.Call || !r.gaveUp[op] {
			i++
			continue
		}
		r.take(op.Key())
		r.s.Complete(engine.Completion{Op: op, Err: unwanted})
		done, err = r.s.Advance()
	}
	require.NoError(r.t, err)
	require.True(r.t, done, "the flow waits; it said %q", r.notes)
}

// breaks lets the flow go on and wants a fault.
func (r *run) breaks() *agent.Error {
	r.t.Helper()
	done, err := r.s.Advance()
	require.Error(r.t, err)
	require.False(r.t, done)
	require.ErrorIs(r.t, err, engine.ErrFlow)
	var fault *agent.Error
	require.ErrorAs(r.t, err, &fault)
	return fault
}

// hand hands over the completion of an effect.
func (r *run) hand(key string, c engine.Completion) {
	r.t.Helper()
	c.Op = r.take(key)
	require.NotNil(r.t, c.Op, "effect %s is not under way: %q", key, r.told)
	r.now, r.worked = r.now.Add(time.Second), r.worked+time.Second
	r.s.Complete(c)
}

// answer hands over a text, and wants the flow to wait again.
func (r *run) answer(key, text string) {
	r.t.Helper()
	r.hand(key, engine.Completion{Response: &agent.Response{Text: text}})
	r.waits()
}

// last hands over a text, and wants the flow to end.
func (r *run) last(key, text string) {
	r.t.Helper()
	r.hand(key, engine.Completion{Response: &agent.Response{Text: text}})
	r.ends()
}

// cancel cancels the run, and wants the flow to wait.
func (r *run) cancel() {
	r.t.Helper()
	r.s.Complete(engine.Completion{Err: enough})
	r.waits()
}

var (
	enough    = &agent.Error{Message: "enough", Codes: []agent.Code{engine.ErrCanceled, engine.ErrOver}}
	unwanted  = &agent.Error{Message: "not wanted any more", Codes: []agent.Code{engine.ErrCanceled, engine.ErrOver}}
	unlimited = sched.Options{}
	shielded  = sched.Options{Shielded: true}
)

// call calls an agent and says what came of it: a text, or the error's message.
func call(b *sched.Branch, u sched.Options) string {
	return result(do(b, u, engine.Op{Kind: engine.Call, Name: "a"}))
}

// do makes an effect.
func do(b *sched.Branch, o sched.Options, op engine.Op) engine.Completion {
	own := b.Op(op.Kind, op.Name)
	op.Owner, op.Private = own.Owner, own.Private
	if op.Kind == engine.Call && op.Request == nil {
		op.Request = &agent.Request{}
	}
	*own = op
	if op.Kind == engine.Child && op.Input == nil {
		own.Input = &engine.Input{}
	}
	if o.Scope == nil {
		o.Scope = b.Scope(nil, engine.Budget{})
	}
	return b.Do(o, own)
}

func result(c engine.Completion) string {
	if c.Err != nil {
		return "(" + c.Err.Message + ")"
	}
	if c.Response == nil {
		return ""
	}
	return c.Response.Text
}

// join waits for all branches of g and returns their indexes.
func join(g *sched.Group) []int {
	var order []int
	for i, ok := g.Next(); ok; i, ok = g.Next() {
		order = append(order, i)
	}
	return order
}
