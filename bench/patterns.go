package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// refine is W3: a run of three rounds of a try and its grade, the third of which
// passes. The limit is the same calls without an engine.
func refine(t *table) error {
	e, err := engineOf(nop, nil)
	if err != nil {
		return err
	}
	const rounds, some = 3, 1000
	f := orchestrator.Flow[int, int]{Name: "refine", Do: func(c *orchestrator.Context, rounds int) (int, error) {
		grades := 0
		best, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
			Attempts: rounds, Gate: 80,
			Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
				r, err := c.Call("a", agent.Request{Prompt: last.Feedback})
				return r.Text, err
			},
			Grade: func(c *orchestrator.Context, v string) (orchestrator.Verdict, error) {
				r, err := c.Call("a", agent.Request{Prompt: v})
				if grades++; grades == rounds {
					return orchestrator.Verdict{Score: 90}, err
				}
				return orchestrator.Verdict{Score: 50, Feedback: r.Text}, err
			},
		})
		return best.Tries, err
	}}
	p, err := compare(t.pairs, rounds*some, runs(e, f, rounds, some), bare(2*rounds*some))
	if err != nil {
		return err
	}
	t.within("W3 a round of try and grade, run of 3", p, 6*time.Microsecond)
	return e.Close(context.Background())
}

// layer is how many tasks of W4 depend on those of the layer before.
const layer = 100

// deps are the dependencies of n tasks in layers: 3 for each, drawn from the layer
// before.
func deps(n int) [][]int {
	r := rand.New(rand.NewPCG(1, 1))
	needs := make([][]int, n)
	for i := layer; i < n; i++ {
		for range 3 {
			needs[i] = append(needs[i], i/layer*layer-layer+r.IntN(layer))
		}
	}
	return needs
}

// dag is W4: tasks that wait for others, at most 8 at once. The limit is an
// errgroup that does the same in layers.
func dag(t *table) error {
	e, err := engineOf(nop, nil)
	if err != nil {
		return err
	}
	var took []pair
	for _, n := range []int{1000, 10_000} {
		p, err := compare(t.pairs, n, runs(e, dagFlow(deps(n)), n, 1), layers(n))
		if err != nil {
			return err
		}
		t.within("W4 a task of a DAG of "+strconv.Itoa(n), p, 5*time.Microsecond)
		took = append(took, p)
	}
	t.atMost("W4 a task of 10,000: one of 1,000", float64(took[1].ours)/float64(took[0].ours), 1.2, " x")
	return e.Close(context.Background())
}

func dagFlow(needs [][]int) orchestrator.Flow[int, int] {
	users := make([][]int, len(needs))
	for i, deps := range needs {
		for _, d := range deps {
			users[d] = append(users[d], i)
		}
	}
	return orchestrator.Flow[int, int]{Name: "dag", Do: func(c *orchestrator.Context, n int) (int, error) {
		missing := make([]int, n)
		var ready []int
		for i, deps := range needs {
			if missing[i] = len(deps); missing[i] == 0 {
				ready = append(ready, i)
			}
		}
		q := orchestrator.NewQueue[int](c)
		done := 0
		for ; done < n; done++ {
			for q.Len() < 8 && len(ready) > 0 {
				task := ready[0]
				ready = ready[1:]
				q.Go("", func(c *orchestrator.Context) (int, error) {
					_, err := c.Call("a", agent.Request{Prompt: "x"})
					return task, err
				})
			}
			r, ok := q.Next()
			if !ok || r.Err != nil {
				return done, r.Err
			}
			for _, user := range users[r.Value] {
				if missing[user]--; missing[user] == 0 {
					ready = append(ready, user)
				}
			}
		}
		return done, nil
	}}
}

func layers(n int) sample {
	return timed(func() error {
		for begin := 0; begin < n; begin += layer {
			g, ctx := errgroup.WithContext(context.Background())
			g.SetLimit(8)
			for range min(layer, n-begin) {
				g.Go(func() error { _, err := nop.Call(ctx, agent.Request{Prompt: "x"}); return err })
			}
			if err := g.Wait(); err != nil {
				return err
			}
		}
		return nil
	})
}

// emptyRun is a run that does nothing.
func emptyRun(t *table) error {
	e, err := engineOf(nop, nil)
	if err != nil {
		return err
	}
	const some = 10_000
	f := orchestrator.Flow[int, int]{Name: "empty", Do: func(*orchestrator.Context, int) (int, error) { return 1, nil }}
	once := runs(e, f, 1, some)
	p, err := alone(t.pairs, some, once)
	if err != nil {
		return err
	}
	t.within("an empty run", p, 8*time.Microsecond)
	before := mallocs()
	if _, err := once(); err != nil {
		return err
	}
	t.atMost("allocations of an empty run", float64(mallocs()-before)/some, 25, "")
	return e.Close(context.Background())
}
