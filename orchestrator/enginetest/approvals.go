package enginetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// approvalChecks are about answers that serve only what was asked, and only by those who
// may give them.
var approvalChecks = []check{
	{name: "N12 a question that says something else after a redeploy does not get the answer to what was shown", run: approvalRedeployed, resumes: true},
	{name: "N12 an answered question that says something else after a redeploy is ErrDiverged", run: approvalChangedLater, resumes: true},
	{name: "N12 another question under the same key has an answer of its own", run: approvalSameKey},
	{name: "N12 another question under a key that waits in another branch is ErrMalformed", run: approvalAtOnce},
	{name: "N12 an answer to what was not asked is refused, and kept only if it says that it is early", run: approvalEarly},
	{name: "N12 who answered, and what they saw, is on record", run: approvalBy},
	{name: "N12 a Seen that is not what is asked now is ErrChanged, from another process too", run: approvalSeen, resumes: true},
	{name: "N12 an answer of text is one of the options", run: approvalOptions},
	{name: "N12 an early answer that is none of the options is dropped", run: approvalEarlyOptions},
	{name: "N12 two options stand for true and false", run: approvalWords},
	{name: "N12 OptionsOf binds a field of the answer", run: approvalField},
	{name: "N12 only those named may answer", run: approvalOnly},
	{name: "N12 a question for a person takes no answer of an agent, and none that came early", run: approvalPerson},
	{name: "N19 at most 100 early answers of 64 KiB wait for a run", run: approvalLimits},
	{name: "N12 an answer of more than 4 MiB is ErrTooLarge", run: approvalLarge},
}

// paying returns a flow, under the name of another, that asks what may be paid and returns
// it if that was approved. Then it calls the gate.
func paying(name, what string) orchestrator.Flow[none, string] {
	return orchestrator.Flow[none, string]{Name: name, Do: func(c *orchestrator.Context, _ none) (string, error) {
		yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "pay", Text: what, Options: []string{"pay", "no"}})
		if err != nil || !yes {
			return "", err
		}
		_, err = ask(c, "gate", "x")
		return what, err
	}}
}

// shown returns the question that waits under key.
func shown(h *host, r *orchestrator.Run, key string) orchestrator.Question {
	h.t.Helper()
	for _, q := range info(h, r).Questions {
		if q.Key == key {
			return q
		}
	}
	require.FailNow(h.t, "no such question is open", key)
	return orchestrator.Question{}
}

func approvalRedeployed(t *testing.T, h *host) {
	name, id, g := h.id("pays"), h.id("x"), newGate(t, "x")
	agents := agent.Roster{"gate": g}
	small, large := paying(name, "10 to A"), paying(name, "10,000 to B")
	e := h.engine(agents, small)
	await(h, start(h, e, small, none{}, id), runlog.Asked)
	h.close(e)

	e = h.engine(agents, large)
	r := open(h, e, id)
	_, err := large.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrDiverged)
	says(t, err, "10 to a")
	says(t, err, "10,000 to b")
	q := shown(h, r, "pay")
	assert.Equal(t, "10 to A", q.Text)
	require.NoError(t, r.AnswerWith(h.ctx, "pay", "pay", orchestrator.AnswerOptions{By: "ann", Seen: q.Hash}))
	assert.Equal(t, orchestrator.Stuck, info(h, r).Status)
	h.close(e)

	r = open(h, h.engine(agents, small), id)
	if !h.resumes { // else it has been tried already
		require.NoError(t, r.Retry(h.ctx))
	}
	g.wait(h.ctx, "x")
	g.pass("x")
	got, err := small.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "10 to A", got)
}

func approvalChangedLater(t *testing.T, h *host) {
	name, id, g := h.id("pays"), h.id("x"), newGate(t, "x")
	agents := agent.Roster{"gate": g}
	small, large := paying(name, "10 to A"), paying(name, "10,000 to B")
	e := h.engine(agents, small)
	r := start(h, e, small, none{}, id)
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "pay", true))
	g.wait(h.ctx, "x")
	h.close(e)
	_, err := large.Result(h.ctx, open(h, h.engine(agents, large), id))
	require.ErrorIs(t, err, orchestrator.ErrDiverged)
	says(t, err, "10,000 to b")
}

func approvalSameKey(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (got []bool, err error) {
		for _, what := range []string{"10 to A", "10,000 to B", "10 to A"} {
			yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "pay", Text: what})
			if err != nil {
				return got, err
			}
			got = append(got, yes)
		}
		return got, nil
	})
	r := start(h, h.engine(nil), f, none{}, "")
	await(h, r, runlog.Asked)
	first := shown(h, r, "pay")
	require.NoError(t, r.Answer(h.ctx, "pay", true))
	awaitAsked(h, r, 2)
	second := shown(h, r, "pay")
	assert.Equal(t, "10,000 to B", second.Text)
	assert.NotEqual(t, first.Hash, second.Hash)
	require.ErrorIs(t, r.AnswerWith(h.ctx, "pay", true, orchestrator.AnswerOptions{Seen: first.Hash}), orchestrator.ErrChanged)
	require.NoError(t, r.Answer(h.ctx, "pay", false))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false, true}, got, "what was asked before has the answer that it had")
	assert.Len(t, records(h, r, runlog.Asked), 2)
}

// awaitAsked waits for the nth Asked record of a run.
func awaitAsked(h *host, r *orchestrator.Run, n int) runlog.Record {
	h.t.Helper()
	for rec := range follow(h, r) {
		if rec.Kind == runlog.Asked {
			n--
		}
		if n == 0 {
			return rec
		}
	}
	require.FailNow(h.t, "it is not asked so often")
	return runlog.Record{}
}

func approvalAtOnce(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (int, error) {
		both := orchestrator.Map(c, []string{"A", "B"}, 0, func(c *orchestrator.Context, to string) (bool, error) {
			return orchestrator.Await[bool](c, orchestrator.Question{Key: "pay", Text: "10 to " + to})
		})
		if both[0].Err != nil {
			return 0, both[0].Err
		}
		return 1, both[1].Err
	})
	r := start(h, h.engine(nil), f, none{}, "")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "pay", true))
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	says(t, err, `another key`)
	assert.Equal(t, 1, got)
}

func approvalEarly(t *testing.T, h *host) {
	g, f := newGate(t, "x"), flow(h, later)
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	err := r.Answer(h.ctx, "n", number{1})
	require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
	says(t, err, "answeroptions.early")
	err = r.AnswerWith(h.ctx, "n", number{1}, orchestrator.AnswerOptions{Early: true, Seen: "what nobody was shown"})
	require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
	require.NoError(t, r.AnswerWith(h.ctx, "n", number{2}, early))
	require.ErrorIs(t, r.AnswerWith(h.ctx, "n", number{3}, early), orchestrator.ErrAnswered)
	g.pass("x")
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, number{2}, got)
	answered := records(h, r, runlog.Answered)
	require.Len(t, answered, 1)
	assert.True(t, engine.AnswerOf(answered[0].Data).Early)
	assert.Len(t, records(h, r, runlog.Asked), 1, "the log has what it was an answer to")
}

func approvalBy(t *testing.T, h *host) {
	approval := approvalOf(h)
	r := start(h, h.engine(nil), approval, none{}, "")
	await(h, r, runlog.Asked)
	q := shown(h, r, "ok")
	by := orchestrator.AnswerOptions{By: "Ann", Seen: q.Hash}
	require.NoError(t, r.AnswerWith(h.ctx, "ok", true, by))
	require.NoError(t, r.AnswerWith(h.ctx, "ok", "yes", by), "the same again")
	err := r.AnswerWith(h.ctx, "ok", true, orchestrator.AnswerOptions{By: "Bob"})
	require.ErrorIs(t, err, orchestrator.ErrAnswered)
	says(t, err, "ann")
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
	answered := records(h, r, runlog.Answered)
	require.Len(t, answered, 1)
	assert.Equal(t, engine.AnsweredData{Answer: json.RawMessage("true"), By: "Ann", Seen: q.Hash}, engine.AnswerOf(answered[0].Data))
	assert.Equal(t, q.Hash, answered[0].Hash)
	assert.Equal(t, q.Hash, records(h, r, runlog.Asked)[0].Hash)
}

func approvalSeen(t *testing.T, h *host) {
	approval, id := approvalOf(h), h.id("x")
	r := start(h, h.engine(nil, approval), approval, none{}, id)
	await(h, r, runlog.Asked)
	there := open(h, h.engine(nil, approval), id)
	q := shown(h, there, "ok")
	another := orchestrator.AnswerOptions{By: "ann", Seen: strings.Repeat("0", len(q.Hash))}
	for _, from := range []*orchestrator.Run{r, there} {
		require.ErrorIs(t, from.AnswerWith(h.ctx, "ok", true, another), orchestrator.ErrChanged)
		require.ErrorIs(t, from.AnswerWith(h.ctx, "ok", "an answer to another one", another), orchestrator.ErrChanged)
	}
	by := orchestrator.AnswerOptions{By: "ann", Seen: q.Hash}
	require.NoError(t, there.AnswerWith(h.ctx, "ok", "no", by))
	got, err := approval.Result(h.ctx, there)
	require.NoError(t, err)
	assert.False(t, got)
	answered := records(h, r, runlog.Answered)
	require.Len(t, answered, 1)
	assert.Equal(t, engine.AnsweredData{Answer: json.RawMessage("false"), By: "ann", Seen: q.Hash}, engine.AnswerOf(answered[0].Data))
	require.NoError(t, r.AnswerWith(h.ctx, "ok", "no", by), "the same again, after the end")
	require.ErrorIs(t, r.AnswerWith(h.ctx, "ok", "no", another), orchestrator.ErrChanged)
}
