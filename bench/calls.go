package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// nop answers at once.
var nop = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Text: "y"}, nil
})

// slow answers after 20 ms.
var slow = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	select {
	case <-time.After(20 * time.Millisecond):
		return agent.Response{Text: "y"}, nil
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
})

// shape is the work of a run: branches side by side, each with calls in turn.
type shape struct{ Branches, Calls int }

// chain makes that many calls of an agent.
func chain() orchestrator.Flow[shape, int] {
	return orchestrator.Flow[shape, int]{Name: "bench", Do: func(c *orchestrator.Context, in shape) (int, error) {
		if in.Branches == 0 {
			return in.Calls, callsInTurn(c, in.Calls)
		}
		_, err := orchestrator.Values(orchestrator.Map(c, make([]struct{}, in.Branches), 0, func(c *orchestrator.Context, _ struct{}) (int, error) {
			return 0, callsInTurn(c, in.Calls)
		}))
		return in.Branches * in.Calls, err
	}}
}

func callsInTurn(c *orchestrator.Context, n int) error {
	for range n {
		if _, err := c.Call("nop", agent.Request{Prompt: "x"}); err != nil {
			return err
		}
	}
	return nil
}

// inMemory is an engine without a store.
func inMemory(a agent.Agent) (*orchestrator.Engine, error) {
	return orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"nop": a}})
}

// calls is W1: a call without a log, beside a goroutine with a channel.
func calls(t *table) error {
	e, err := inMemory(nop)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	f := chain()
	for _, w := range []struct {
		what    string
		n, runs int
		want    float64
	}{
		{"W1 a call, 1,000 in a run: goroutine+channel", 1000, 20, 2.0},
		{"W1 a call, 10 in a run, start and end of the run in it", 10, 1000, 5.0},
	} {
		p, err := compare(t.samples, w.n*w.runs,
			func() (time.Duration, error) {
				return timed(func() error { return runs(e, f, shape{Calls: w.n}, w.runs) })
			},
			func() (time.Duration, error) { return timed(func() error { return bare(w.n * w.runs) }) })
		if err != nil {
			return err
		}
		t.atMost(w.what, p, w.want)
	}
	return nil
}

func runs(e *orchestrator.Engine, f orchestrator.Flow[shape, int], in shape, n int) error {
	for range n {
		if _, err := f.Run(context.Background(), e, in); err != nil {
			return err
		}
	}
	return nil
}

// bare makes n calls, each on a goroutine of its own that answers over a channel.
func bare(n int) error {
	ctx := context.Background()
	for range n {
		done := make(chan error)
		go func() { _, err := nop.Call(ctx, agent.Request{Prompt: "x"}); done <- err }()
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

// fanOut is W2: 1,000 agents of 20 ms side by side, beside an errgroup.
func fanOut(t *table) error {
	e, err := inMemory(slow)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	f := chain()
	const n = 1000
	p, err := compare(t.samples, 1,
		func() (time.Duration, error) {
			return timed(func() error { return runs(e, f, shape{Branches: n, Calls: 1}, 1) })
		},
		func() (time.Duration, error) { return timed(func() error { return group(n) }) })
	if err != nil {
		return err
	}
	t.atMost("W2 1,000 agents of 20 ms side by side: errgroup", p, 1.10)
	return nil
}

func group(n int) error {
	g, ctx := errgroup.WithContext(context.Background())
	for range n {
		g.Go(func() error { _, err := slow.Call(ctx, agent.Request{Prompt: "x"}); return err })
	}
	return g.Wait()
}

// refine is W3: rounds of a try, a grade and feedback, beside two calls each.
func refine(t *table) error {
	grader := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "bad"}, nil
	})
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"nop": nop, "grader": grader}})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	const rounds, n = 300, 20
	f := orchestrator.Flow[int, int]{Name: "refine", Do: func(c *orchestrator.Context, n int) (int, error) {
		best, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
			Attempts: n, Gate: 80,
			Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
				r, err := c.Call("nop", agent.Request{Prompt: last.Feedback})
				return r.Text, err
			},
			Grade: func(c *orchestrator.Context, v string) (orchestrator.Verdict, error) {
				r, err := c.Call("grader", agent.Request{Prompt: v})
				return orchestrator.Verdict{Score: 50, Feedback: r.Text}, err
			},
		})
		return best.Tries, err
	}}
	pairs := chain()
	p, err := compare(t.samples, rounds*n,
		func() (time.Duration, error) {
			return timed(func() error {
				for range n {
					if _, err := f.Run(context.Background(), e, rounds); err != nil {
						return err
					}
				}
				return nil
			})
		},
		func() (time.Duration, error) {
			return timed(func() error { return runs(e, pairs, shape{Calls: 2 * rounds}, n) })
		})
	if err != nil {
		return err
	}
	t.atMost("W3 a round of try and grade: two calls", p, 3.0)
	return nil
}
