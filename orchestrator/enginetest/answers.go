package enginetest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// answerChecks are about answers that come early, late or twice, and about runs that no
// process executes.
var answerChecks = []check{
	{name: "an early answer of the wrong type is dropped and the question stays", run: answerWrongBefore},
	{name: "the same answer again is no error", run: answerAgain},
	{name: "another answer to a run that ended is ErrAnswered", run: answerLate},
	{name: "an answer to a question that expired says so", run: answerExpired},
	{name: "an answer to a question that was withdrawn says so", run: answerWithdrawn},
	{name: "an answer that was never asked for of a run that ended says so", run: answerEnded},
	{name: "an answer resumes a run that no process works on", run: answerResumes, resumes: true},
	{name: "Result resumes a run that no process works on", run: resultResumes, resumes: true},
}

// early are the options of an answer that comes before its question.
var early = orchestrator.AnswerOptions{Early: true}

func answerWrongBefore(t *testing.T, h *host) {
	g, f := newGate(t, "x"), flow(h, later)
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.AnswerWith(h.ctx, "n", json.RawMessage(`"three"`), early))
	g.pass("x")
	for rec := range follow(h, r) {
		if rec.Kind == runlog.Asked && strings.Contains(string(rec.Data), `"rejected"`) {
			break
		}
	}
	require.NoError(t, r.Answer(h.ctx, "n", number{3}))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, number{3}, got)
}

func answerAgain(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (number, error) {
		n, err := orchestrator.Await[number](c, orchestrator.Question{Key: "n"})
		if err == nil {
			_, err = ask(c, "gate", "x")
		}
		return n, err
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	await(h, r, runlog.Asked)
	for range 2 {
		require.NoError(t, r.Answer(h.ctx, "n", number{1}))
	}
	require.NoError(t, r.Answer(h.ctx, "n", json.RawMessage(`{ "n" : 1 }`)), "equal JSON")
	g.pass("x")
	require.NoError(t, r.Wait(h.ctx))
	require.NoError(t, r.Answer(h.ctx, "n", number{1}), "of a run that ended")
	assert.Len(t, records(h, r, runlog.Answered), 1)
}

func answerLate(t *testing.T, h *host) {
	approval := approvalOf(h)
	r := start(h, h.engine(nil), approval, none{}, "")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "ok", true))
	require.NoError(t, r.Wait(h.ctx))
	require.ErrorIs(t, r.Answer(h.ctx, "ok", false), orchestrator.ErrAnswered)
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
}

// says requires an error whose text contains word, in upper or lower case.
func says(t *testing.T, err error, word string) {
	t.Helper()
	require.Error(t, err)
	assert.Contains(t, strings.ToLower(err.Error()), word)
}

func answerExpired(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, _ = orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: 20 * time.Millisecond})
		return ask(c, "gate", "x")
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	says(t, r.Answer(h.ctx, "ok", true), "expired")
	g.pass("x")
	require.NoError(t, r.Wait(h.ctx))
	assert.Empty(t, records(h, r, runlog.Answered))
}

func answerWithdrawn(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		q := orchestrator.NewQueue[bool](c)
		q.Go("ask", func(c *orchestrator.Context) (bool, error) {
			return orchestrator.Await[bool](c, orchestrator.Question{Key: "ok"})
		})
		_ = c.Sleep(1)
		q.CancelAll()
		q.Next()
		return ask(c, "gate", "x")
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	says(t, r.Answer(h.ctx, "ok", true), "withdrawn")
	g.pass("x")
	require.NoError(t, r.Wait(h.ctx))
}

func answerEnded(t *testing.T, h *host) {
	r := start(h, h.engine(nil), flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil }), none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	says(t, r.Answer(h.ctx, "other", true), "ended")
}

func answerResumes(t *testing.T, h *host) {
	approval, id := approvalOf(h), h.id("x")
	e := h.engine(nil, approval)
	await(h, start(h, e, approval, none{}, id), runlog.Asked)
	h.close(e)
	r := open(h, h.engine(nil, approval), id)
	require.NoError(t, r.Answer(h.ctx, "ok", true))
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
}

func resultResumes(t *testing.T, h *host) {
	i := interrupted(h)
	r := open(h, h.engine(i.agents, i.steps), i.id)
	i.gate.pass("b")
	got, err := i.steps.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
}

// identityChecks are about IDs that are taken, and readers that start after the last record.
var identityChecks = []check{
	{name: "a known ID with another input, budget, label, value or origin is ErrExists and names it", run: otherOptions},
	{name: "IDs that are paths are refused", run: dotIDs},
	{name: "Events from behind the end of a run that ended", run: eventsBehind},
}

func otherOptions(t *testing.T, h *host) {
	f := flow(h, func(_ *orchestrator.Context, in string) (string, error) { return in, nil })
	e := h.engine(nil)
	o := orchestrator.StartOptions{
		ID: h.id("one"), Budget: orchestrator.Budget{Calls: 3}, Labels: map[string]string{"for": "ann"}, ContinuedFrom: h.id("zero"),
		Values: map[string]string{"tenant": "acme"},
	}
	r, err := f.Start(h.ctx, e, "x", o)
	require.NoError(t, err)
	require.NoError(t, r.Wait(h.ctx))
	_, err = f.Start(h.ctx, e, "x", o)
	require.NoError(t, err, "the same run")

	_, err = f.Start(h.ctx, e, "y", o)
	require.ErrorIs(t, err, orchestrator.ErrExists)
	says(t, err, "input")
	for word, change := range map[string]func(*orchestrator.StartOptions){
		"budget":        func(o *orchestrator.StartOptions) { o.Budget.Calls = 4 },
		"labels":        func(o *orchestrator.StartOptions) { o.Labels = map[string]string{"for": "bob"} },
		"values":        func(o *orchestrator.StartOptions) { o.Values = map[string]string{"tenant": "other"} },
		"secret":        func(o *orchestrator.StartOptions) { o.Secret = []string{"tenant"} },
		"continuedfrom": func(o *orchestrator.StartOptions) { o.ContinuedFrom = h.id("other") },
	} {
		other := o
		change(&other)
		_, err := f.Start(h.ctx, e, "x", other)
		require.ErrorIs(t, err, orchestrator.ErrExists, word)
		says(t, err, word)
	}
}

func dotIDs(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	e := h.engine(nil)
	for _, id := range []string{".", ".."} {
		_, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: id})
		require.ErrorIs(t, err, orchestrator.ErrMalformed, "ID %q", id)
	}
}

func eventsBehind(t *testing.T, h *host) {
	r := start(h, h.engine(nil), flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil }), none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	for _, from := range []int64{2, 100, math.MaxInt64} {
		assert.Empty(t, seen(h, r, from), "from %d", from)
		require.NoError(t, h.ctx.Err(), "from %d: they end with the run", from)
	}
}
