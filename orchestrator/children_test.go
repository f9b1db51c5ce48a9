package orchestrator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// That a child cannot start is an error of its call.
func TestChildWithoutItsAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kid := flow("kid", func(*orchestrator.Context) (string, error) { return "", nil })
		kid.Agents = []string{"nobody"}
		f := flow("parent", func(c *orchestrator.Context) (string, error) {
			_, err := kid.Child(c, none{})
			return fmt.Sprint(err), nil
		})
		c := orchestrator.Config{Agents: agent.Roster{"a": echo}}
		log := whole(t, c, f)
		got, err := again(t, c, f, log[:len(log)-1])
		require.NoError(t, err)
		assert.Contains(t, got, `no-agent: "nobody"`)
	})
}

// A child that broke a rule stops its parent where it is; both go on when it is mended.
func TestChildThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		kid := flow("kid", func(c *orchestrator.Context) (string, error) {
			text, err := ask(c, "a", "from the child")
			if broken {
				panic("ouch")
			}
			return text, err
		})
		f := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
		calls := 0
		counting := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			calls++
			return agent.Response{Text: "once"}, nil
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": counting}, Store: newPlain()})
		r := begin(t, e, f, "x")
		err := r.Wait(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrFlow)
		require.ErrorContains(t, err, "ouch")
		i, err := r.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Stuck, i.Status)

		broken = false
		require.ErrorIs(t, begin(t, e, f, "x").Wait(t.Context()), orchestrator.ErrFlow, "it is not tried again by itself")
		require.NoError(t, r.Retry(t.Context()))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "once", got)
		assert.Equal(t, 1, calls)
	})
}

func TestInputOfAChildWithoutJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kid := orchestrator.Flow[func(), none]{Name: "kid", Do: func(*orchestrator.Context, func()) (none, error) { return none{}, nil }}
		f := flow("parent", func(c *orchestrator.Context) (none, error) { return kid.Child(c, nil) })
		_, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
		require.ErrorIs(t, err, orchestrator.ErrMalformed)
	})
}
