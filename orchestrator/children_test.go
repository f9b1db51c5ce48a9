package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
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

func TestFiguresOfChildren(t *testing.T) {
	everywhere(t, "N3 what a child learned of an agent, its parent knows", func(t *testing.T, s runlog.Store) {
		cent := providers.NanoUSD(1e7)
		spends := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			resp, err := after(time.Second)(ctx, req)
			resp.Usage.Cost = cent
			return resp, err
		})
		child := flow("child", func(c *orchestrator.Context) (none, error) {
			for range 3 {
				if _, err := ask(c, "a", ""); err != nil {
					return none{}, err
				}
			}
			return none{}, nil
		})
		f := flow("parent", func(c *orchestrator.Context) (time.Duration, error) {
			if _, err := child.Child(c, none{}); err != nil {
				return 0, err
			}
			_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }))
			return c.Elapsed(), err
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": spends}, Store: s}), none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Cost: 100 * cent}})
		require.NoError(t, err)
		assert.Equal(t, 4*time.Second, got, "three calls of the child, then three at once: as many were settled")
	})
}

// unreadable is a store that fails once to read the log of a run whose ID has a slash:
// a child.
type unreadable struct {
	*runlog.Memory
	failed *bool
}

func (s unreadable) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if strings.Contains(run, "/") && !*s.failed {
		*s.failed = true
		return func(yield func(runlog.Record, error) bool) {
			yield(runlog.Record{}, errors.New("the network is down"))
		}
	}
	return s.Memory.Records(ctx, run, from)
}

func TestChildThatCannotBeRead(t *testing.T) {
	t.Run("a parent whose child cannot be read for a while continues", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			failed := false
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: unreadable{s, &failed}, Flows: []orchestrator.AnyFlow{parent, kid}, Fleet: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			got, err := parent.Result(t.Context(), open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x"))
			require.NoError(t, err)
			assert.Equal(t, "one", got)
			assert.True(t, failed)
		})
	})
}

// A child that calls itself is stopped by the depth, a cancel reaches all of it.
func TestDepthOfChildren(t *testing.T) {
	var down orchestrator.Flow[none, int]
	down = flow("down", func(c *orchestrator.Context) (int, error) {
		n, err := down.Child(c, none{})
		return n + 1, err
	})
	everywhere(t, "it ends at 64", func(t *testing.T, s runlog.Store) {
		t.Helper()
		e := local(t, orchestrator.Config{Store: s})
		n, err := down.Run(t.Context(), e, none{})
		require.ErrorIs(t, err, orchestrator.ErrFlow)
		assert.Equal(t, 65, n)
		assert.Equal(t, 65, runsIn(t, e, orchestrator.RunQuery{}))
	})
	everywhere(t, "Cancel reaches the deepest one", func(t *testing.T, s runlog.Store) {
		t.Helper()
		var deep orchestrator.Flow[none, int]
		deep = flow("deep", func(c *orchestrator.Context) (int, error) {
			n, err := deep.Child(c, none{})
			if errors.Is(err, orchestrator.ErrFlow) && n == 0 {
				_, err = ask(c, "a", "")
			}
			return n + 1, err
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
		r := begin(t, e, deep, "x")
		synctest.Wait()
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		n, err := deep.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.Equal(t, 65, n)
		assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{Open: true}))
	})
}
