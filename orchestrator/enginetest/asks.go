package enginetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var askChecks = []check{
	{name: "an answer is found in prose", run: askProse},
	{name: "an answer that does not fit is sent back once", run: askRepair},
	{name: "an answer that does not fit twice is ErrMalformed", run: askMalformed},
	{name: "no repair where none is wanted", run: askNoRepair},
}

type number struct {
	N int `json:"n"`
}

// tells is an agent that answers with texts in turn, and keeps the requests.
type tells struct {
	mu    sync.Mutex
	texts []string
	asked []agent.Request
}

// Call implements agent.Agent.
func (a *tells) Call(_ context.Context, req agent.Request) (agent.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, req)
	return agent.Response{Text: a.texts[len(a.asked)-1]}, nil
}

func askNumber(h *host, a agent.Agent, l agent.Limits) (number, error) {
	h.t.Helper()
	return run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (number, error) {
		v, _, err := orchestrator.Ask[number](c, "a", agent.Request{Prompt: "a number", Limits: l})
		return v, err
	})
}

func askProse(t *testing.T, h *host) {
	got, err := askNumber(h, &tells{texts: []string{"Here it is:\n```json\n{\"n\": 7}\n```\nAnything else?"}}, agent.Limits{})
	require.NoError(t, err)
	assert.Equal(t, number{7}, got)
}

func askRepair(t *testing.T, h *host) {
	a := &tells{texts: []string{`{"n": "many"}`, `{"n": 8}`}}
	got, err := askNumber(h, a, agent.Limits{})
	require.NoError(t, err)
	assert.Equal(t, number{8}, got)
	require.Len(t, a.asked, 2)
	require.Len(t, a.asked[1].History, 2, "the question and the answer that did not fit")
	assert.Equal(t, "a number", a.asked[1].History[0].Text)
	assert.JSONEq(t, `{"n": "many"}`, a.asked[1].History[1].Text)
	assert.NotEmpty(t, a.asked[1].Output, "the schema")
}

func askMalformed(t *testing.T, h *host) {
	a := &tells{texts: []string{"no", "still no"}}
	_, err := askNumber(h, a, agent.Limits{})
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	assert.Len(t, a.asked, 2)
}

func askNoRepair(t *testing.T, h *host) {
	a := &tells{texts: []string{"no"}}
	_, err := askNumber(h, a, agent.Limits{Repairs: -1})
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	assert.Len(t, a.asked, 1)
}

var questionChecks = []check{
	{name: "an answer reaches the flow", run: answerAfter},
	{name: "an open question is shown", run: questionShown},
	{name: "an answer before its question is kept", run: answerBefore},
	{name: "an answer of the wrong type is refused and the question stays", run: answerWrong},
	{name: "a question without an answer in time is ErrTimeout", run: questionTimeout},
	{name: "asking a key twice gives the same answer", run: questionTwice},
	{name: "a second answer is ErrAnswered", run: answerTwice},
}

// approvalOf returns a flow that asks a person for approval.
func approvalOf(h *host) orchestrator.Flow[none, bool] {
	return flow(h, func(c *orchestrator.Context, _ none) (bool, error) {
		return orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Text: "Approve?", Options: []string{"yes", "no"}})
	})
}

func answerAfter(t *testing.T, h *host) {
	approval := approvalOf(h)
	r := start(h, h.engine(nil), approval, none{}, "")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "ok", true))
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
	assert.Empty(t, info(h, r).Questions)
}

func questionShown(t *testing.T, h *host) {
	approval := approvalOf(h)
	r := start(h, h.engine(nil), approval, none{}, "")
	await(h, r, runlog.Asked)
	i := info(h, r)
	require.Len(t, i.Questions, 1)
	assert.NotEmpty(t, i.Questions[0].Hash)
	i.Questions[0].Hash = ""
	assert.Equal(t, []orchestrator.Question{{Key: "ok", Text: "Approve?", Options: []string{"yes", "no"}}}, i.Questions)
	assert.Equal(t, orchestrator.Waiting, i.Status)
}

// later is a flow that asks a question after an agent's call.
func later(c *orchestrator.Context, _ none) (number, error) {
	if _, err := ask(c, "gate", "x"); err != nil {
		return number{}, err
	}
	return orchestrator.Await[number](c, orchestrator.Question{Key: "n"})
}

func answerBefore(t *testing.T, h *host) {
	g, f := newGate(t, "x"), flow(h, later)
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.AnswerWith(h.ctx, "n", number{3}, early))
	g.pass("x")
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, number{3}, got)
}

func answerWrong(t *testing.T, h *host) {
	approval := approvalOf(h)
	r := start(h, h.engine(nil), approval, none{}, "")
	await(h, r, runlog.Asked)
	require.ErrorIs(t, r.Answer(h.ctx, "ok", "perhaps"), orchestrator.ErrMalformed)
	require.NoError(t, r.Answer(h.ctx, "ok", false))
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.False(t, got)
}

func questionTimeout(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		_, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: 20 * time.Millisecond})
		return none{}, err
	})
	r := start(h, h.engine(nil), f, none{}, "")
	_, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrTimeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Len(t, records(h, r, runlog.Expired), 1)
	assert.Empty(t, info(h, r).Questions)
}

func questionTwice(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) ([]number, error) {
		q := orchestrator.Question{Key: "n"}
		side, err := orchestrator.Values(orchestrator.Map(c, make([]int, 2), 0, func(c *orchestrator.Context, _ int) (number, error) {
			return orchestrator.Await[number](c, q)
		}))
		if err != nil {
			return side, err
		}
		again, err := orchestrator.Await[number](c, q)
		return append(side, again), err
	})
	r := start(h, h.engine(nil), f, none{}, "")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Answer(h.ctx, "n", number{4}))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []number{{4}, {4}, {4}}, got)
}

func answerTwice(t *testing.T, h *host) {
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
	require.NoError(t, r.Answer(h.ctx, "n", number{1}))
	require.ErrorIs(t, r.Answer(h.ctx, "n", number{2}), orchestrator.ErrAnswered)
	g.pass("x")
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, number{1}, got)
}
