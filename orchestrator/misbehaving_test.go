package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestAgentsThatMisbehave(t *testing.T) {
	everywhere(t, "a typed nil is an error of the call, now and at every resume", func(t *testing.T, s runlog.Store) {
		bad := &counted{Agent: agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			var failed *agent.Error
			return agent.Response{Text: "fine", Usage: providers.Usage{Calls: 1, Cost: 7}}, failed
		})}
		f := flow("bad", func(c *orchestrator.Context) (string, error) {
			_, err := ask(c, "bad", "")
			if err == nil {
				return "", errors.New("no error")
			}
			text, _ := ask(c, "echo", "on")
			return text, nil
		})
		c := orchestrator.Config{Agents: agent.Roster{"bad": bad, "echo": echo}, Store: s}
		r := begin(t, local(t, c), f, "x")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "on", got)
		assert.Equal(t, providers.NanoUSD(7), infoOf(t, r).Spent.Cost)
		if s != nil {
			got, err := again(t, orchestrator.Config{Agents: c.Agents}, f, logOf(t, s, "x")[:3])
			require.NoError(t, err)
			assert.Equal(t, "on", got)
		}
	})
	everywhere(t, "what an agent says of cancels and budgets is a failure, and the run is Failed", func(t *testing.T, s runlog.Store) {
		for _, word := range []error{context.Canceled, orchestrator.ErrCanceled, orchestrator.ErrBudget, agent.Code("over"), &providers.Error{Kind: providers.Canceled}} {
			own := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				return agent.Response{}, fmt.Errorf("my own: %w", word)
			})
			f := flow("own", func(c *orchestrator.Context) (string, error) {
				text, err := ask(c, "own", "")
				if orchestrator.IsOver(err) || c.IsCanceled(err) || c.Err() != nil {
					return "", errors.New("the run is over for the flow")
				}
				return text, err
			})
			e := local(t, orchestrator.Config{Agents: agent.Roster{"own": own}, Store: s})
			r := begin(t, e, f, fmt.Sprintf("x%d", runsIn(t, e, orchestrator.RunQuery{})))
			_, err := f.Result(t.Context(), r)
			require.ErrorContains(t, err, "my own")
			assert.Equal(t, orchestrator.Failed, infoOf(t, r).Status, "%v", word)
		}
	})
}

// An answer may be on record when the flow, which handles an earlier one, gives its
// call up. A replay drops it as the run did, and counts what it cost.
func TestRecordOfACallThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := providers.Usage{Calls: 1, Cost: 7}
		quick := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "first", Usage: used}, nil
		})
		f := flow("hedge", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.NewQueue[string](c)
			for _, name := range []string{"quick", "slow"} {
				q.Go(name, func(c *orchestrator.Context) (string, error) { return ask(c, name, "") })
			}
			first, _ := q.Next()
			q.CancelAll()
			second, _ := q.Next()
			_ = c.Sleep(time.Second)
			return fmt.Sprint(first.Value, ", ", second.Err, ", ", c.Spent().Cost), nil
		})
		c := orchestrator.Config{Agents: agent.Roster{"quick": quick, "slow": hang}}
		log := whole(t, c, f)
		require.Equal(t, []string{runlog.Started, runlog.Called, runlog.Called, runlog.Slept, runlog.Ended}, kinds(log))
		require.Equal(t, []string{"quick", "slow"}, []string{log[1].Name, log[2].Name})

		log[2].Data = log[1].Data // it came just before the flow gave it up
		got, err := again(t, c, f, log[:4])
		require.NoError(t, err)
		assert.Equal(t, "first, the flow canceled this branch, 14", got)
		log[2], log[3] = log[3], log[2] // or it comes when nobody thinks of it any more
		got, err = again(t, c, f, log[:4])
		require.NoError(t, err)
		assert.Equal(t, "first, the flow canceled this branch, 7", got)
	})
}
