package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// carriedChecks are about what a run carries to its agents and children.
var carriedChecks = []check{
	{name: "values and labels reach the agents of a run", run: valuesReachAgents},
	{name: "values and labels reach the agents of children of children", run: valuesReachGrandchildren},
	{name: "values and labels are there after a resume", run: valuesAfterResume, resumes: true},
	{name: "values and labels of a child are there after a resume", run: childValuesAfterResume, resumes: true},
	{name: "failed attempts are on record, and counted once", run: attemptsOnRecord},
	{name: "a call that succeeds at once has no attempts on record", run: noAttemptsOnRecord},
	{name: "agents learn the operation and the task of a call", run: opAndTask},
	{name: "lists and Info do not show secret labels", run: secretLabels},
	{name: "Info does not show the data of a secret question, nor an answer that does not fit", run: secretQuestion},
	{name: "values that cannot be kept are refused, and nothing is recorded", run: badValues},
}

// carrying returns options with a plain and a secret value, and a plain and a secret label.
func carrying(h *host) orchestrator.StartOptions {
	return orchestrator.StartOptions{
		ID:     h.id("x"),
		Values: map[string]string{"trace": "t-1", "token": "hush-1"},
		Labels: map[string]string{"for": "ann", "card": "hush-2"},
		Secret: []string{"token", "card"},
	}
}

// carried is what an agent of a run with these options says of its call.
const carried = "t-1 hush-1 ann hush-2"

// teller is an agent that answers with what its call carries.
var teller = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	return agent.Response{Text: told(ctx)}, nil
})

// told is what the call of ctx carries, and the run that the host started.
func told(ctx context.Context) string {
	i := agent.InfoFrom(ctx)
	return strings.Join([]string{i.Values.Get("trace"), i.Values.Get("token"), i.Labels.Get("for"), i.Labels.Get("card"), i.Root()}, " ")
}

func valuesReachAgents(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "teller", "") })
	got, err := f.Run(h.ctx, h.engine(agent.Roster{"teller": teller}), none{}, carrying(h))
	require.NoError(t, err)
	assert.Equal(t, carried+" "+h.id("x"), got)
}

func valuesReachGrandchildren(t *testing.T, h *host) {
	inner := child(h, func(c *orchestrator.Context) (string, error) { return ask(c, "teller", "") })
	outer := child(h, func(c *orchestrator.Context) (string, error) { return inner.Child(c, none{}) })
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return outer.Child(c, none{}) })
	e := h.engine(agent.Roster{"teller": teller})
	got, err := f.Run(h.ctx, e, none{}, carrying(h))
	require.NoError(t, err)
	assert.Equal(t, carried+" "+h.id("x"), got)
	kid, err := e.Open(h.ctx, h.id("x")+"/0/0")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"for": "ann", "card": "[secret]"}, info(h, kid).Labels)
}

// toldBehindGate is an agent that waits at a gate before it answers as the teller.
func toldBehindGate(g *gate) agent.Agent {
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		if _, err := g.Call(ctx, req); err != nil {
			return agent.Response{}, err
		}
		return agent.Response{Text: told(ctx)}, nil
	})
}

func valuesAfterResume(t *testing.T, h *host) {
	g := newGate(t, "a")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "teller", "a") })
	resumedWithValues(t, h, g, f)
}

func childValuesAfterResume(t *testing.T, h *host) {
	g := newGate(t, "a")
	kid := child(h, func(c *orchestrator.Context) (string, error) { return ask(c, "teller", "a") })
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return kid.Child(c, none{}) })
	resumedWithValues(t, h, g, f, kid)
}

// resumedWithValues runs f in one process until a call waits at the gate, and to its end
// in the next one.
func resumedWithValues(t *testing.T, h *host, g *gate, f orchestrator.Flow[none, string], kids ...orchestrator.AnyFlow) {
	t.Helper()
	agents, flows := agent.Roster{"teller": toldBehindGate(g)}, append([]orchestrator.AnyFlow{f}, kids...)
	e := h.engine(agents, flows...)
	_, err := f.Start(h.ctx, e, none{}, carrying(h))
	require.NoError(t, err)
	g.wait(h.ctx, "a")
	h.close(e)

	e = h.engine(agents, flows...)
	r, err := f.Start(h.ctx, e, none{}, carrying(h))
	require.NoError(t, err, "the same run")
	g.wait(h.ctx, "a")
	g.pass("a")
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, carried+" "+h.id("x"), got)
}

func opAndTask(t *testing.T, h *host) {
	a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		i := agent.InfoFrom(ctx)
		return agent.Response{Text: fmt.Sprint(i.Op, " ", i.Task, " ", req.Task)}, nil
	})
	got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) {
		resp, err := c.Call("a", agent.Request{Op: "review", Task: "t-7"})
		return resp.Text, err
	})
	require.NoError(t, err)
	assert.Equal(t, "review t-7 t-7", got)
}

func secretLabels(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	e := h.engine(nil)
	r, err := f.Start(h.ctx, e, none{}, carrying(h))
	require.NoError(t, err)
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, map[string]string{"for": "ann", "card": "[secret]"}, info(h, r).Labels)
	found := func(q orchestrator.RunQuery) (n int) {
		q.Flow = f.Name
		for i, err := range e.Runs(h.ctx, q) {
			require.NoError(t, err)
			assert.NotContains(t, fmt.Sprintf("%+v", i), "hush")
			n++
		}
		return n
	}
	assert.Equal(t, 1, found(orchestrator.RunQuery{Label: "card"}), "by the name of the label")
	assert.Equal(t, 0, found(orchestrator.RunQuery{Label: "card=hush-2"}), "by its text")
	assert.Equal(t, 0, found(orchestrator.RunQuery{Text: "hush"}), "by a search")
	assert.Equal(t, 1, found(orchestrator.RunQuery{Label: "for=ann"}), "by another label")
}

func badValues(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	e := h.engine(nil)
	o := carrying(h)
	o.Secret = append(o.Secret, "tokn")
	_, err := f.Start(h.ctx, e, none{}, o)
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	says(t, err, `"tokn"`)
	_, err = e.Open(h.ctx, o.ID)
	require.ErrorIs(t, err, orchestrator.ErrNoRun)
}

func secretQuestion(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (number, error) {
		if _, err := ask(c, "gate", "x"); err != nil {
			return number{}, err
		}
		return orchestrator.Await[number](c, orchestrator.Question{Key: "n", Text: "PIN?", Data: agent.JSON("hush-1"), Secret: true})
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.AnswerWith(h.ctx, "n", "hush-2", early), "early, and of the wrong type")
	g.pass("x")
	rec := await(h, r, runlog.Asked)
	assert.Contains(t, string(rec.Data), "hush-1", "the log has it")
	var shown orchestrator.Question
	for rejected := false; !rejected; rejected = shown.Rejected != "" {
		for _, shown = range info(h, r).Questions {
			require.Equal(t, "n", shown.Key)
		}
	}
	assert.NotContains(t, shown.Rejected, "hush")
	assert.Equal(t, orchestrator.Question{Key: "n", Text: "PIN?", Secret: true, Rejected: shown.Rejected, Hash: shown.Hash}, shown)
	err := r.Answer(h.ctx, "n", "hush-3")
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	assert.NotContains(t, err.Error(), "hush")
	require.NoError(t, r.Answer(h.ctx, "n", number{4711}))
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, number{4711}, got)
}

// attempts are what a Called record says of attempts that failed.
func attempts(t *testing.T, rec runlog.Record) string {
	t.Helper()
	var d struct {
		Attempts []struct {
			N       int
			Elapsed time.Duration
			Message string
			Codes   []agent.Code
			Usage   providers.Usage
		}
	}
	require.NoError(t, json.Unmarshal(rec.Data, &d))
	var lines []string
	for _, a := range d.Attempts {
		lines = append(lines, fmt.Sprintf("%d %s %v %d", a.N, a.Message, a.Codes, a.Usage.Cost))
		assert.GreaterOrEqual(t, a.Elapsed, time.Duration(0))
	}
	return strings.Join(lines, ", ")
}

func attemptsOnRecord(t *testing.T, h *host) {
	costs := []providers.NanoUSD{3, 5, 7}
	a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		n := agent.InfoFrom(ctx).Attempt
		used := providers.Usage{Calls: 1, Cost: costs[n-1]}
		if n < 3 || req.Prompt == "fail" {
			return agent.Response{}, agent.Transient(&agent.Error{Message: fmt.Sprint("busy-", n), Codes: []agent.Code{"acme/busy"}, Usage: used}, 0)
		}
		return agent.Response{Usage: used}, nil
	})
	f := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		_, _ = c.Call("a", agent.Request{Limits: agent.Limits{Attempts: 3}})
		_, _ = c.Call("a", agent.Request{Prompt: "fail", Limits: agent.Limits{Attempts: 3}})
		return none{}, nil
	})
	r := start(h, h.engine(agent.Roster{"a": a}), f, none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	called := records(h, r, runlog.Called)
	require.Len(t, called, 2)
	assert.Equal(t, "1 busy-1 [acme/busy] 3, 2 busy-2 [acme/busy] 5", attempts(t, called[0]))
	assert.Equal(t, "1 busy-1 [acme/busy] 3, 2 busy-2 [acme/busy] 5, 3 busy-3 [acme/busy] 7", attempts(t, called[1]))
	assert.Equal(t, providers.Usage{Calls: 6, Cost: 30}, info(h, r).Spent)
}

func noAttemptsOnRecord(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "echo", "x") })
	r := start(h, h.engine(agent.Roster{"echo": echo}), f, none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	called := records(h, r, runlog.Called)
	require.Len(t, called, 1)
	assert.NotContains(t, string(called[0].Data), "attempts")
}
