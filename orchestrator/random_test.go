package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// wild does what r says: branches in branches, budgets, cancels, sleeps, questions,
// children, and agents that misbehave.
func wild(c *orchestrator.Context, r *rand.Rand, depth int, out *[]string) {
	say := func(format string, args ...any) { *out = append(*out, fmt.Sprintf(format, args...)) }
	for range 1 + r.IntN(4) {
		switch k := r.IntN(13); {
		case k < 4:
			name := []string{"quick", "slow", "late", "fails", "exits"}[r.IntN(5)]
			resp, err := c.Call(name, agent.Request{Prompt: fmt.Sprint(r.IntN(100)), Limits: agent.Limits{Timeout: time.Duration(r.IntN(4)) * 700 * time.Millisecond, Attempts: 1}})
			say("call %s %v", resp.Text, err)
		case k == 4:
			say("sleep %v", c.Sleep(time.Duration(r.IntN(5))*time.Second))
		case k == 5:
			c.Emit("said", len(*out))
		case k == 6:
			_, err := orchestrator.Await[string](c, orchestrator.Question{Key: fmt.Sprint(r.IntN(3)), Timeout: 2 * time.Second})
			say("await %v", err)
		case k == 7:
			sub := c.WithBudget(orchestrator.Budget{Calls: int64(r.IntN(3)), Wall: time.Duration(r.IntN(6)) * time.Second, Cost: providers.NanoUSD(r.IntN(3) * 10)})
			if depth > 0 {
				wild(sub, rand.New(rand.NewPCG(r.Uint64(), 1)), depth-1, out)
			}
			say("left %v spent %v", sub.Left().Calls, sub.Spent().Cost)
		case k == 8 && depth > 0:
			wild(c.WithoutCancel(), rand.New(rand.NewPCG(r.Uint64(), 1)), depth-1, out)
		case k == 9 && depth > 0:
			seeds := []uint64{r.Uint64(), r.Uint64(), r.Uint64()}
			orchestrator.Map(c, seeds, r.IntN(3), func(c *orchestrator.Context, seed uint64) (int, error) {
				wild(c, rand.New(rand.NewPCG(seed, 1)), depth-1, out)
				return 0, nil
			})
		case k == 10 && depth > 0:
			got, err := wildChild.Child(c, wildIn{r.Uint64(), depth - 1})
			say("child %v %v", got, err)
		case depth > 0:
			wildQueue(c, r, depth, say, out)
		}
	}
}

// wildQueue does it in a queue, and may leave branches behind.
func wildQueue(c *orchestrator.Context, r *rand.Rand, depth int, say func(string, ...any), out *[]string) {
	q := orchestrator.NewQueue[int](c)
	for i := range 1 + r.IntN(4) {
		seed := r.Uint64()
		q.Go(fmt.Sprint(i), func(c *orchestrator.Context) (int, error) {
			wild(c, rand.New(rand.NewPCG(seed, 1)), depth-1, out)
			return i, c.Err()
		})
	}
	if res, ok := q.Next(); ok {
		say("first %v %v", res.Value, res.Err)
	}
	q.Cancel(fmt.Sprint(r.IntN(4)))
	if r.IntN(2) == 0 {
		return
	}
	for res, ok := q.Next(); ok; res, ok = q.Next() {
		say("next %v %v", res.Value, res.Err)
	}
}

type wildIn struct {
	Seed  uint64
	Depth int
}

var wildChild orchestrator.Flow[wildIn, []string]

func init() { //nolint:gochecknoinits // wild and its child call each other
	wildChild = orchestrator.Flow[wildIn, []string]{Name: "wild child", Do: func(c *orchestrator.Context, in wildIn) ([]string, error) {
		out := []string{}
		wild(c, rand.New(rand.NewPCG(in.Seed, 3)), in.Depth, &out)
		return out, nil
	}}
}

// wildAgents take between 0 and 4 s, by the call's key.
func wildAgents() agent.Roster {
	does := func(heeds bool, fault error) agent.Func {
		return func(ctx context.Context, req agent.Request) (agent.Response, error) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(agent.InfoFrom(ctx).Key))
			d := time.Duration(h.Sum64()%4000) * time.Millisecond
			if heeds {
				if _, err := after(d)(ctx, req); err != nil {
					return agent.Response{}, err
				}
			} else {
				pause(d)
			}
			return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Cost: 7}}, fault
		}
	}
	return agent.Roster{
		"quick": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Cost: 3}}, nil
		}),
		"slow": does(true, nil), "late": does(false, nil), "fails": does(true, errors.New("no")), "exits": exits,
	}
}

// What a run did is done again from its log, to the letter, whatever the flow does,
// with agents among them that ignore their context; and from every part of its log a
// run continues and ends.
func TestWildFlows(t *testing.T) {
	for seed := range uint64(roundtest.Of(20, 100)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				c := orchestrator.Config{Agents: wildAgents()}
				f := flow("wild", func(c *orchestrator.Context) ([]string, error) {
					out := []string{}
					wild(c, rand.New(rand.NewPCG(seed, 7)), 3, &out)
					return append(out, c.Elapsed().String(), fmt.Sprint(c.Spent().Cost)), nil
				})
				full := newPlain()
				c.Store = full
				want, err := f.Result(t.Context(), begin(t, local(t, c), f, "x"))
				require.NoError(t, err)
				pause(time.Hour) // those that were left behind come back
				log := logOf(t, full, "x")
				if log[len(log)-1].Kind == runlog.Ended {
					log = log[:len(log)-1]
				}
				got, err := again(t, orchestrator.Config{Agents: c.Agents}, f, log)
				require.NoError(t, err)
				require.Equal(t, want, got)
				for n := 1; n < len(log); n += 1 + len(log)/8 {
					c.Store = stored(t, log[:n]...)
					require.NoError(t, begin(t, local(t, c), f, "x").Wait(t.Context()), "%d records", n)
				}
				pause(time.Hour)
			})
		})
	}
}
