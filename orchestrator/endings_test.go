package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// sore panics when it is encoded, at the line that it notes.
type sore struct{ at *int }

func (s sore) MarshalJSON() ([]byte, error) {
	*s.at = line() + 1
	panic("ouch")
}

// line is the line that calls it.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// TestLineOfAPanic has panics below Go's packages and those of the engine.
func TestLineOfAPanic(t *testing.T) {
	at := 0
	for name, test := range map[string]struct {
		do   func(c *orchestrator.Context) error
		want string
	}{
		"in MarshalJSON": {func(*orchestrator.Context) error {
			_, err := json.Marshal(sore{&at})
			return err
		}, "ouch"},
		"in MarshalJSON of a value that the engine gets": {func(c *orchestrator.Context) error {
			c.Emit("sore", sore{&at})
			return nil
		}, "ouch"},
		"in a Refinement without Try": {func(c *orchestrator.Context) error {
			at = line() + 1
			_, err := orchestrator.Refine(c, orchestrator.Refinement[string]{})
			return err
		}, "nil pointer dereference"},
		"in Go's own code": {func(*orchestrator.Context) error {
			at = line() + 1
			return errors.New(strings.Repeat("x", at-2*at))
		}, "strings: negative Repeat count"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := flow("sore", func(c *orchestrator.Context) (none, error) { return none{}, test.do(c) })
				_, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
				require.ErrorIs(t, err, orchestrator.ErrFlow)
				require.ErrorContains(t, err, fmt.Sprintf("%s (endings_test.go:%d)", test.want, at))
			})
		})
	}
}

// TestBudgetOfAChildEndsItsParent has children that meet the limit of their parent.
func TestBudgetOfAChildEndsItsParent(t *testing.T) {
	spends := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Usage: providers.Usage{Calls: 1, Cost: 400_000_000}}, nil
	})
	kid := flow("kid", func(c *orchestrator.Context) (none, error) {
		for {
			if _, err := c.Call("a", agent.Request{}); err != nil {
				return none{}, err
			}
		}
	})
	for name, children := range map[string]int{"one child": 1, "ten children": 10} {
		t.Run("N3 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var over []bool
				f := flow("parent", func(c *orchestrator.Context) (none, error) {
					var err error
					for range children {
						_, err = kid.Child(c, none{})
						over = append(over, orchestrator.IsOver(err))
					}
					return none{}, err
				})
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": spends}})
				r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Cost: 1_000_000_000}})
				require.NoError(t, err)
				require.NoError(t, r.Wait(t.Context()))
				i := infoOf(t, r)
				assert.Equal(t, orchestrator.OutOfBudget, i.Status)
				assert.Contains(t, i.Err, "budget: ")
				assert.False(t, over[0], "the run itself has 0.20 USD left")
			})
		})
	}
}

// TestDeleteOfARunThatBegan has a Delete that looked before the run was resumed.
func TestDeleteOfARunThatBegan(t *testing.T) {
	parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
	for _, f := range []orchestrator.Flow[none, string]{pair, parent} {
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, a := runlog.NewMemory(), newValve()
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
				r := begin(t, e, f, "x")
				synctest.Wait()
				require.NoError(t, s.Delete(t.Context(), "x", "x/0"))
				close(a.open)
				err := r.Wait(t.Context())
				require.ErrorIs(t, err, orchestrator.ErrNoRun)
				require.NotErrorIs(t, err, runlog.ErrConflict)
				assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{}), "nothing begins anew")
			})
		})
	}
}
