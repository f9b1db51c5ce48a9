package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// dispatcher is another engine: what is under way is completed in an order that pick
// says, a second apart.
type dispatcher struct {
	pick  func(n int) int
	now   time.Time
	begun time.Time
	under []*engine.Op
	log   []string
}

func (d *dispatcher) Start(op *engine.Op) { d.under = append(d.under, op) }

func (d *dispatcher) Now() (time.Time, time.Duration) { return d.now, d.now.Sub(d.begun) }

func (d *dispatcher) Emit(rec runlog.Record)                        { d.log = append(d.log, "emit "+rec.Kind) }
func (d *dispatcher) Recorded(string, int64) (none engine.Recorded) { return none }
func (d *dispatcher) Expose(func() (json.RawMessage, error))        {}

// Cancel implements engine.Port. Calls end all the same, in their time.
func (d *dispatcher) Cancel(op *engine.Op) {
	if op.Kind != engine.Call {
		d.under = slices.DeleteFunc(d.under, func(o *engine.Op) bool { return o == op })
	}
}

// run executes a program to its end.
func (d *dispatcher) run(t *testing.T, p *engine.Program) engine.End {
	t.Helper()
	x, err := p.Begin(d, engine.Input{Data: json.RawMessage(`{}`)})
	require.NoError(t, err)
	defer x.Leave()
	for {
		done, err := x.Advance()
		require.NoError(t, err)
		if done {
			return x.End()
		}
		require.NotEmpty(t, d.under, "the flow waits for nothing")
		op := d.under[d.pick(len(d.under))]
		d.under = slices.DeleteFunc(d.under, func(o *engine.Op) bool { return o == op })
		d.now = d.now.Add(time.Second)
		d.log = append(d.log, op.Key())
		c := engine.Completion{Op: op}
		if op.Kind == engine.Call {
			c.Response = &agent.Response{Text: op.Request.Prompt, Usage: providers.Usage{Calls: 1, Cost: 5}}
		}
		x.Complete(c)
	}
}

// hedged races agents, in branches of branches, under budgets, and says how it went.
func hedged(c *orchestrator.Context) ([]string, error) {
	var out []string
	q := orchestrator.NewQueue[string](c)
	for i := range 4 {
		q.Go(fmt.Sprint(i), func(c *orchestrator.Context) (string, error) {
			values, err := orchestrator.Values(orchestrator.Map(c, []string{"a", "b", "c"}, 2, func(c *orchestrator.Context, s string) (string, error) {
				return ask(c, "echo", fmt.Sprint(i, s))
			}))
			return fmt.Sprint(values), err
		})
	}
	for range 2 {
		r, _ := q.Next()
		out = append(out, r.Key+r.Value)
		c.Emit("won", r.Key)
	}
	q.Cancel("3")
	limited := c.WithBudget(orchestrator.Budget{Calls: 1, Wall: time.Hour})
	_, first := ask(limited, "echo", "x")
	_, second := ask(limited, "echo", "y")
	out = append(out, fmt.Sprint(first, second))
	for r, ok := q.Next(); ok; r, ok = q.Next() {
		out = append(out, fmt.Sprint(r.Key, r.Value, r.Err))
	}
	return append(out, fmt.Sprint(c.Elapsed(), c.Spent().Calls)), c.Sleep(time.Second)
}

// The same scheduler executes on another engine, and what a flow does
// depends on nothing but the order in which things happen.
func TestProgramOnAnotherEngine(t *testing.T) {
	t.Run("the order decides, and nothing else does", func(t *testing.T) {
		p := flow("hedged", hedged).Program()
		different := map[string]bool{}
		for seed := range uint64(200) {
			var logs [2][]string
			var outs [2]string
			for i := range 2 {
				d := &dispatcher{pick: rand.New(rand.NewPCG(seed, 1)).IntN}
				end := d.run(t, p)
				require.Equal(t, engine.Completed, end.Status)
				logs[i], outs[i] = d.log, string(end.Output)
			}
			require.Equal(t, logs[0], logs[1])
			require.Equal(t, outs[0], outs[1])
			different[outs[0]] = true
		}
		assert.Greater(t, len(different), 50, "the order matters")
	})
	t.Run("a panic in a branch is the error of Advance", func(t *testing.T) {
		p := flow("buggy", func(c *orchestrator.Context) (int, error) {
			orchestrator.Map(c, []int{1, 2, 3}, 0, func(c *orchestrator.Context, i int) (int, error) {
				_, err := ask(c, "echo", "")
				if i == 2 {
					panic("ouch")
				}
				_, _ = ask(c, "echo", "")
				return 0, err
			})
			return 0, nil
		}).Program()
		d := &dispatcher{pick: func(int) int { return 0 }}
		x, err := p.Begin(d, engine.Input{Data: json.RawMessage(`{}`)})
		require.NoError(t, err)
		for err == nil {
			var done bool
			done, err = x.Advance()
			require.False(t, done)
			if len(d.under) > 0 && err == nil {
				op := d.under[0]
				d.under = d.under[1:]
				x.Complete(engine.Completion{Op: op, Response: &agent.Response{}})
			}
		}
		require.ErrorContains(t, err, "ouch")
		require.ErrorIs(t, err, orchestrator.ErrFlow)
		x.Leave()
	})
	t.Run("an input that does not fit is ErrDiverged", func(t *testing.T) {
		_, err := flow("hedged", hedged).Program().Begin(&dispatcher{}, engine.Input{Data: json.RawMessage(`7`)})
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
	})
}
