package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
	"github.com/convene-go/convene/providers"
)

// costly is a flow that pays 5 for a call, and starts a child that pays 5 and hangs then.
func costly(version int) script[string] {
	f := flow("costly", func(c *orchestrator.Context) (string, error) {
		if _, err := ask(c, "paid"); err != nil {
			return "", err
		}
		return pair.Child(c, none{})
	})
	f.Version = version
	return f
}

// tight is an agent that answers the prompts "paid" and "one", and hangs at all others.
var tight = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
	if req.Prompt == "paid" || req.Prompt == "one" {
		return echo(ctx, req)
	}
	return hang(ctx, req)
})

// A run of a flow or version that no engine has is ended by a cancel.
func TestCancelOfARunWhoseFlowIsMissing(t *testing.T) {
	roster := agent.Roster{"a": tight}
	gone := func(t *testing.T, newer ...orchestrator.AnyFlow) {
		t.Helper()
		s := left(t, driver.Config{Agents: roster}, costly(1))
		e := newEngine(t, driver.Config{Store: s, Programs: programs(newer...)})
		kid := childOf(t, e, "costly")
		status(t, e, "costly", engine.Suspended)
		require.NoError(t, cancel(t, e, "costly"))
		end := ended(t, waitFor(e, "costly"), engine.Canceled)
		assert.EqualValues(t, 10, end.Spent.Cost, "what is on record, its child's too")
		require.ErrorContains(t, end.Err, "enough")
		assert.Equal(t, "started called canceled ended", kinds(t, e, "costly"))
		assert.Equal(t, "started called used canceled ended", kinds(t, e, kid))
		status(t, e, kid, engine.Canceled)
		n, err := e.Prune(t.Context(), runlog.Query{})
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	}
	bubble(t, map[string]func(*testing.T){
		"another version is there": func(t *testing.T) { gone(t, costly(2)) },
		"no version is there":      func(t *testing.T) { gone(t, over) },
		"what it and its child have lost is in its end": func(t *testing.T) {
			s := left(t, driver.Config{Agents: roster}, costly(1))
			e := newEngine(t, driver.Config{Store: s})
			for id, cost := range map[string]providers.NanoUSD{"costly": 3, childOf(t, e, "costly"): 4} {
				last, err := s.Last(t.Context(), id)
				require.NoError(t, err)
				lost := agent.JSON(engine.LostData{Lost: engine.Lost{Calls: 1, Cost: cost}})
				require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: id, Seq: last.Seq + 1, Kind: runlog.Lost, At: last.At, Data: lost}}))
			}
			require.NoError(t, cancel(t, e, "costly"))
			assert.Equal(t, engine.Lost{Calls: 2, Cost: 7}, ended(t, waitFor(e, "costly"), engine.Canceled).Lost)
		},
		"an engine that works on it takes the request": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Agents: roster, Programs: programs(costly(1))})
			wait := begin(t, one, costly(1), "costly")
			pause(time.Second)
			require.NoError(t, cancel(t, newEngine(t, driver.Config{Store: s, Programs: programs(costly(2))}), "costly"))
			ended(t, wait, engine.Canceled)
			assert.Equal(t, "started called canceled called ended", kinds(t, one, "costly"), "its flow has seen the cancel")
		},
		"one that only observes, or does not serve it, leaves it to others": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Agents: roster})
			in := input("costly")
			in.Labels = map[string]string{"host": "one"}
			_, err := one.Start(t.Context(), costly(1).Program(), in)
			require.NoError(t, err)
			pause(time.Second)
			shut(t, one)
			fleet := driver.Fleet{Observe: true}
			observer := newEngine(t, driver.Config{Store: s, Programs: programs(costly(2)), Fleet: fleet})
			require.NoError(t, cancel(t, observer, "costly"))
			fleet = driver.Fleet{Serves: map[string]string{"host": "two"}}
			require.NoError(t, cancel(t, newEngine(t, driver.Config{Store: s, Programs: programs(costly(2)), Fleet: fleet}), "costly"))
			pause(time.Hour)
			status(t, observer, "costly", engine.Suspended)
			two := newEngine(t, driver.Config{Store: s, Agents: roster, Programs: programs(costly(1))})
			resume(t, two)
			ended(t, waitFor(two, "costly"), engine.Canceled)
			assert.Equal(t, "started called resumed canceled called ended", kinds(t, two, "costly"))
		},
		"a child by itself is left to its parent's engine": func(t *testing.T) {
			s := left(t, driver.Config{Agents: roster}, costly(1))
			e := newEngine(t, driver.Config{Store: s})
			kid := childOf(t, e, "costly")
			require.NoError(t, cancel(t, e, kid))
			assert.Equal(t, "started called used", kinds(t, e, kid))
		},
		"a run that this engine has the flow of is resumed for it": func(t *testing.T) {
			s := left(t, driver.Config{Agents: roster}, costly(1))
			e := newEngine(t, driver.Config{Store: s, Agents: roster, Programs: programs(costly(1))})
			require.NoError(t, cancel(t, e, "costly"))
			ended(t, waitFor(e, "costly"), engine.Canceled)
			assert.Equal(t, "started called resumed canceled called ended", kinds(t, e, "costly"))
		},
	})
}

// A cancel that was put on record once is not put there again.
func TestCancelOfARunThatWasCanceledBefore(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"its engine died before the end": func(t *testing.T) {
			s := left(t, driver.Config{Agents: agent.Roster{"a": tight}}, costly(1))
			rec := runlog.Record{Run: "costly", Seq: 2, Kind: runlog.Canceled, At: time.Now(), Data: []byte(`"first"`)}
			require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
			e := newEngine(t, driver.Config{Store: s})
			require.NoError(t, cancel(t, e, "costly"))
			end := ended(t, waitFor(e, "costly"), engine.Canceled)
			require.ErrorContains(t, end.Err, "first")
			assert.Equal(t, "started called canceled ended", kinds(t, e, "costly"))
		},
		"another engine resumes it meanwhile": func(t *testing.T) {
			s := newTap()
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": tight}})
			begin(t, one, pair, "x")
			pause(time.Second)
			shut(t, one)
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[0].Kind == runlog.Canceled {
					s.on(nil)
					steal(t, s.Memory, "x", "other")
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s})
			require.NoError(t, cancel(t, e, "x"))
			assert.Equal(t, "started called used resumed", kinds(t, e, "x"), "the request is a letter")
			letters := 0
			for _, err := range s.Letters(t.Context(), "x") {
				require.NoError(t, err)
				letters++
			}
			assert.Equal(t, 1, letters)
		},
	})
}
