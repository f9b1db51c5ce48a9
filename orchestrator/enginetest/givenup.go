package enginetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// givenUpChecks are about calls that a flow gives up: what they used is counted before
// the run ends.
var givenUpChecks = []check{
	{name: "N9 a canceled run ends when its calls have returned", run: givenUpByCancel},
	{name: "N9 calls that the end of a time limit gives up are counted", run: givenUpByTime},
	{name: "N9 calls of canceled branches are counted", run: givenUpByQueue},
	{name: "N9 calls that an early return gives up are counted", run: givenUpByReturn},
	{name: "N9 a call of an agent that does not return is lost", run: givenUpDeaf},
	{name: "N9 children that hedge keep to the budget around them", run: givenUpByChildren},
	{name: "N9 a call that is given up while its run is resumed holds up nothing", run: givenUpResumed, resumes: true},
}

// till is an agent whose calls return when their ctx is done, a moment later, and report
// what they used. It adds up what was paid. The agent of prompt "answer" answers once
// all of others have begun.
type till struct {
	cost   providers.NanoUSD
	others int

	mu    sync.Mutex
	begun int
	all   chan struct{} // closed when all others have begun
	paid  providers.Usage
}

func newTill(cost providers.NanoUSD, others int) *till {
	return &till{cost: cost, others: others, all: make(chan struct{})}
}

// Call implements agent.Agent.
func (a *till) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	resp := agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Cost: a.cost}}
	var err error
	if req.Prompt == "answer" {
		select {
		case <-a.all:
		case <-ctx.Done():
			err = ctx.Err()
		}
	} else {
		a.arrive()
		<-ctx.Done()
		<-time.After(time.Millisecond)
		err = ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paid = a.paid.Add(resp.Usage)
	return resp, err
}

func (a *till) arrive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun++; a.begun == a.others {
		close(a.all)
	}
}

func (a *till) total() providers.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.paid
}

// spending is the output of a flow that gives up calls.
type spending struct {
	orchestrator.Outcome
}

// pays runs do in a new process, has the host do what it does once all calls that wait are
// under way, and compares what ten agents of 0.05 USD were paid with what the run tells.
func pays(h *host, b orchestrator.Budget, wait int, do func(c *orchestrator.Context) error, then func(r *orchestrator.Run)) {
	h.t.Helper()
	t := h.t
	a := newTill(cents(5), wait)
	f := flow(h, func(c *orchestrator.Context, _ none) (spending, error) {
		err := do(c)
		return spending{orchestrator.Outcome{Spent: c.Spent()}}, err
	})
	e := h.engine(agent.Roster{"a": a}, f)
	r, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{Budget: b})
	require.NoError(t, err)
	select {
	case <-a.all:
	case <-h.ctx.Done():
	}
	if then != nil {
		then(r)
	}
	out, err := f.Result(h.ctx, r)
	_ = err // it is that of the cancel, or of the budget
	paid, got := a.total(), info(h, r)
	assert.Equal(t, cents(50), paid.Cost, "ten agents were paid")
	assert.Equal(t, paid, got.Spent, "Info.Spent")
	assert.Zero(t, got.Lost, "Info.Lost")
	assert.Equal(t, paid, out.Spent, "Outcome.Spent")
	if assert.NotNil(t, got.Outcome) {
		assert.Equal(t, paid, got.Outcome.Spent, "Info.Outcome.Spent")
	}
}

// ten calls the agent a ten times side by side, with prompts "wait" and, last, one of
// its own.
func ten(c *orchestrator.Context, last string) *orchestrator.Queue[string] {
	q := orchestrator.NewQueue[string](c)
	for i := range 10 {
		prompt := "wait"
		if i == 9 {
			prompt = last
		}
		q.Go(prompt, func(c *orchestrator.Context) (string, error) { return ask(c, "a", prompt) })
	}
	return q
}

// all takes all results and returns the first error.
func all(q *orchestrator.Queue[string]) (first error) {
	for r, ok := q.Next(); ok; r, ok = q.Next() {
		if first == nil {
			first = r.Err
		}
	}
	return first
}

func givenUpByCancel(t *testing.T, h *host) {
	pays(h, orchestrator.Budget{}, 10, func(c *orchestrator.Context) error { return all(ten(c, "wait")) },
		func(r *orchestrator.Run) { require.NoError(t, r.Cancel(h.ctx, "enough")) })
}

func givenUpByTime(_ *testing.T, h *host) {
	pays(h, orchestrator.Budget{Wall: 300 * time.Millisecond}, 10, func(c *orchestrator.Context) error { return all(ten(c, "wait")) }, nil)
}

func givenUpByQueue(_ *testing.T, h *host) {
	pays(h, orchestrator.Budget{}, 9, func(c *orchestrator.Context) error {
		q := ten(c, "answer")
		q.Next()
		q.CancelAll()
		return all(q)
	}, nil)
}

func givenUpByReturn(_ *testing.T, h *host) {
	pays(h, orchestrator.Budget{}, 9, func(c *orchestrator.Context) error {
		r, _ := ten(c, "answer").Next()
		return r.Err
	}, nil)
}

// givenUpDeaf gives up a call whose agent ignores its ctx: the run waits for its Grace,
// and its reservation is lost.
func givenUpDeaf(t *testing.T, h *host) {
	d := newDeaf()
	defer close(d.release)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		q := orchestrator.NewQueue[string](c)
		q.Go("deaf", func(c *orchestrator.Context) (string, error) {
			_, err := c.Call("deaf", agent.Request{Limits: agent.Limits{Grace: grace, Estimate: cents(30)}})
			return "", err
		})
		resp, err := c.Call("heard", agent.Request{Prompt: "x", Limits: agent.Limits{Estimate: 1}})
		return resp.Text, err
	})
	heard := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		select {
		case <-d.arrived:
		case <-ctx.Done():
		}
		return agent.Response{Text: req.Prompt}, nil
	})
	r, err := f.Start(h.ctx, h.engine(agent.Roster{"deaf": d, "heard": heard}, f), none{}, orchestrator.StartOptions{Budget: dollar})
	require.NoError(t, err)
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "x", got)
	assert.Equal(t, orchestrator.Lost{Calls: 1, Cost: cents(30)}, info(h, r).Lost)
}

// givenUpByChildren runs, until a budget refuses, children that ask ten, take the first
// answer and cancel the rest.
func givenUpByChildren(t *testing.T, h *host) {
	a := &priced{cost: func(int) int64 { return 5 }}
	pay := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		resp, err := a.Call(ctx, req)
		if req.Prompt != "answer" {
			<-ctx.Done()
			err = ctx.Err()
		}
		return resp, err
	})
	hedge := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		q := orchestrator.NewQueue[string](c)
		for i := range 10 {
			prompt := "wait"
			if i == 0 {
				prompt = "answer"
			}
			q.Go(prompt, func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("a", agent.Request{Prompt: prompt, Limits: agent.Limits{Estimate: cents(5)}})
				return resp.Text, err
			})
		}
		r, _ := q.Next()
		q.CancelAll()
		return r.Value, r.Err
	})
	f := flow(h, func(c *orchestrator.Context, _ none) (int, error) {
		for n := range 100 {
			if _, err := hedge.Child(c, none{}); err != nil {
				return n, err
			}
		}
		return 100, nil
	})
	b := orchestrator.Budget{Cost: providers.USD, Calls: 30}
	r, err := f.Start(h.ctx, h.engine(agent.Roster{"a": pay}, f, hedge), none{}, orchestrator.StartOptions{Budget: b})
	require.NoError(t, err)
	_, err = f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	got := info(h, r)
	assert.Equal(t, 20, a.calls, "20 of 0.05 USD are a dollar")
	assert.Equal(t, int64(20), got.Spent.Calls)
	assert.Equal(t, providers.USD, got.Spent.Cost)
	assert.Zero(t, got.Lost)
}

// givenUpResumed has a call given up because a budget, after a restart, refuses another.
func givenUpResumed(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		q := orchestrator.NewQueue[string](c)
		q.Go("limited", func(c *orchestrator.Context) (string, error) {
			return ask(c.WithBudget(orchestrator.Budget{Calls: 1}), "gate", "x")
		})
		q.Go("other", func(c *orchestrator.Context) (string, error) { return ask(c, "gate", "y") })
		r, _ := q.Next()
		q.CancelAll()
		return r.Key, r.Err
	})
	g, id := newGate(t, "x", "y"), h.id("x")
	paid := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		resp, err := g.Call(ctx, req)
		resp.Usage.Calls = 1 // a call that a process cut as it was closed counts, too
		return resp, err
	})
	e := h.engine(agent.Roster{"gate": paid}, f)
	start(h, e, f, none{}, id)
	g.wait(h.ctx, "x")
	g.wait(h.ctx, "y")
	h.close(e)
	e = h.engine(agent.Roster{"gate": paid}, f)
	h.resume(e, id)
	got, err := f.Result(h.ctx, open(h, e, id))
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, "limited", got, "its call was made once, and its budget has one")
	assert.Zero(t, info(h, open(h, e, id)).Lost)
}
