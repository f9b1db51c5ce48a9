package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// act is a part of a random flow.
type act struct {
	Kind  string              `json:"kind"`
	Cost  providers.NanoUSD   `json:"cost,omitempty"`  // cost of a call, which is its Estimate
	Takes time.Duration       `json:"takes,omitempty"` // time until the agent answers
	Obeys time.Duration       `json:"obeys,omitempty"` // time until the agent returns once it was told to stop
	Under orchestrator.Budget `json:"under,omitzero"`  // budget of a part or a child
	Parts []act               `json:"parts,omitempty"`
}

func drawAct(t *rapid.T, depth int) act {
	kinds := []string{"call", "call", "race", "leave", "all", "seq", "part", "child"}
	a := act{Kind: kinds[0]}
	if depth < 4 {
		a.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	}
	ms := func(of ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(of).Draw(t, "ms")) * time.Millisecond
	}
	if a.Kind == "call" {
		a.Cost = providers.NanoUSD(rapid.IntRange(1, 9).Draw(t, "cost"))
		a.Takes = ms(1, 7, 20, 300, 2000, 9000) + ms(0, 1, 2, 3)
		a.Obeys = ms(0, 0, 400, 2500)
		return a
	}
	if a.Kind == "part" || a.Kind == "child" {
		a.Under.Cost = providers.NanoUSD(rapid.SampledFrom([]int64{0, 5, 20, 60}).Draw(t, "money"))
		a.Under.Calls = rapid.SampledFrom([]int64{0, 0, 2, 5}).Draw(t, "calls")
		a.Under.Wall = ms(0, 0, 50, 1000)
	}
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		a.Parts = append(a.Parts, drawAct(t, depth+1))
	}
	return a
}

// acting is the flow of an act. Whatever fails, it goes on.
func acting() orchestrator.Flow[act, spent] {
	var f orchestrator.Flow[act, spent]
	f.Name = "acting"
	f.Do = func(c *orchestrator.Context, a act) (spent, error) {
		do(c, f, a)
		return spent{orchestrator.Outcome{Spent: c.Spent()}}, nil
	}
	return f
}

type spent struct{ orchestrator.Outcome }

func do(c *orchestrator.Context, f orchestrator.Flow[act, spent], a act) {
	switch a.Kind {
	case "call":
		_, _ = c.Call("a", agent.Request{Input: agent.JSON(a), Limits: agent.Limits{Estimate: a.Cost}})
	case "child":
		_, _ = f.Child(c.WithBudget(a.Under), act{Kind: "seq", Parts: a.Parts})
	case "race", "leave":
		q := orchestrator.NewQueue[none](c)
		for _, p := range a.Parts {
			q.Go("", func(c *orchestrator.Context) (none, error) { do(c, f, p); return none{}, nil })
		}
		q.Next()
		if a.Kind == "race" {
			q.CancelAll()
			for _, ok := q.Next(); ok; _, ok = q.Next() {
			}
		}
	case "all":
		orchestrator.Map(c, a.Parts, 0, func(c *orchestrator.Context, p act) (none, error) { do(c, f, p); return none{}, nil })
	case "part":
		c = c.WithBudget(a.Under)
		fallthrough
	default:
		for _, p := range a.Parts {
			do(c, f, p)
		}
	}
}

// ledger is what agents were paid: each call at once, whatever becomes of it.
type ledger struct {
	mu    sync.Mutex
	cost  providers.NanoUSD
	calls int64
}

func (l *ledger) add(cost providers.NanoUSD) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cost += cost
	l.calls++
}

// paying is the agent of one process. What it does after the process is dead is not paid.
func paying(l *ledger, dead <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		select {
		case <-dead:
			return agent.Response{}, nil
		default:
		}
		var a act
		if err := json.Unmarshal(req.Input, &a); err != nil {
			return agent.Response{}, err
		}
		l.add(a.Cost)
		resp := agent.Response{Usage: providers.Usage{Calls: 1, Cost: a.Cost}}
		select {
		case <-time.After(a.Takes):
			return resp, nil
		case <-ctx.Done():
			if a.Obeys > 0 { // timers of no time that fire side by side in a bubble break the race detector
				<-time.After(a.Obeys)
			}
			return resp, ctx.Err()
		}
	})
}

// Whatever a flow gives up, and whatever dies: what agents were paid is in Spent or Lost,
// once, Info and Outcome say the same, and a budget is not overspent.
func TestWhatWasPaidIsCounted(t *testing.T) {
	for i := range 5 { // of a hundred flows each
		t.Run(fmt.Sprintf("N9 %d", i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { rapid.Check(struct{ *testing.T }{t}, paidIsCounted) })
		})
	}
}

func paidIsCounted(t *rapid.T) {
	a := act{Kind: "seq"}
	for range rapid.IntRange(1, 4).Draw(t, "acts") {
		a.Parts = append(a.Parts, drawAct(t, 0))
	}
	b := orchestrator.Budget{
		Cost:  providers.NanoUSD(rapid.IntRange(5, 150).Draw(t, "money of the run")),
		Calls: rapid.SampledFrom([]int64{0, 0, 10, 40}).Draw(t, "calls of the run"),
		Wall:  time.Duration(rapid.SampledFrom([]int{0, 0, 700, 20_000}).Draw(t, "time of the run")) * time.Millisecond,
	}
	kills := rapid.SliceOfN(rapid.IntRange(0, 3000), 0, 2).Draw(t, "kills")
	canceled := rapid.SampledFrom([]int{0, 0, 1, 30, 1200}).Draw(t, "canceled")
	parallel := rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "parallel")

	l, f := &ledger{}, acting()
	ctx := context.Background()
	var engines []*orchestrator.Engine
	process := func(s runlog.Store) (*orchestrator.Run, func()) {
		dead := make(chan struct{})
		e, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agent.Roster{"a": paying(l, dead)}, Flows: []orchestrator.AnyFlow{f}, Store: s, Parallel: parallel,
		})
		require.NoError(t, err)
		engines = append(engines, e)
		r, err := f.Start(ctx, e, a, orchestrator.StartOptions{ID: "x", Budget: b})
		require.NoError(t, err)
		return r, func() { close(dead) }
	}
	s := newPlain()
	r, kill := process(s)
	for _, ms := range kills {
		pause(time.Duration(ms) * time.Millisecond)
		synctest.Wait()
		s = copied(t, s)
		kill()
		r, kill = process(s)
	}
	if canceled > 0 {
		pause(time.Duration(canceled) * time.Millisecond)
		require.NoError(t, r.Cancel(ctx, "enough"))
	}
	out, err := f.Result(ctx, r)
	require.NoError(t, err)
	info, err := r.Info(ctx)
	require.NoError(t, err)
	l.check(t, b, &info, len(kills) > 0)
	assert.Equal(t, info.Spent, out.Spent, "Info and Outcome")
	for _, e := range engines {
		_ = e.Close(ctx) // names agents that do not return in time
	}
	pause(time.Minute)
}

// check compares the ledger with what the run tells of.
func (l *ledger) check(t *rapid.T, b orchestrator.Budget, info *orchestrator.Info, killed bool) { //nolint:revive // a killed process may not have reached an agent
	l.mu.Lock() // a killed process may still be in a call
	defer l.mu.Unlock()
	cost, calls := info.Spent.Cost+info.Lost.Cost, info.Spent.Calls+info.Lost.Calls
	assert.LessOrEqual(t, l.cost, b.Cost, "overspent")
	if b.Calls > 0 {
		assert.LessOrEqual(t, l.calls, b.Calls, "more calls than allowed")
	}
	assert.LessOrEqual(t, info.Spent.Cost, l.cost, "spent")
	if killed {
		assert.GreaterOrEqual(t, cost, l.cost, "spent and lost")
		assert.GreaterOrEqual(t, calls, l.calls, "spent and lost")
		return
	}
	assert.Equal(t, l.cost, cost, "spent and lost")
	assert.Equal(t, l.calls, calls, "spent and lost")
}

// copied returns what a process leaves when it is killed now.
func copied(t *rapid.T, s plain) plain {
	to := newPlain()
	for l, err := range s.List(context.Background(), runlog.Query{}) {
		require.NoError(t, err)
		for rec, err := range s.Records(context.Background(), l.Run, 0) {
			require.NoError(t, err)
			require.NoError(t, to.Append(context.Background(), []runlog.Record{rec}))
		}
	}
	return to
}
