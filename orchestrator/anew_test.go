package orchestrator_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// A run whose question was answered and acted on in other words does not act on the answer
// again, and says which question it is.
func TestAskedAnewBehindItsAnswer(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		pays := func(text string) orchestrator.Flow[none, none] {
			return flow("pays", func(c *orchestrator.Context) (none, error) {
				ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Text: text})
				if err != nil || !ok {
					return none{}, err
				}
				for _, name := range []string{"bank", "hang"} {
					if _, err := c.Call(name, agent.Request{Prompt: text}); err != nil {
						return none{}, err
					}
				}
				return none{}, nil
			})
		}
		s := newPlain()
		bank := &counted{Agent: echo}
		c := orchestrator.Config{Store: s, Agents: agent.Roster{"bank": bank, "hang": hang}, Requests: orchestrator.Requests{AcceptChanged: true}}
		first := local(t, c)
		r := begin(t, first, pays("pay 10 to A?"), "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		synctest.Wait()
		require.NoError(t, first.Close(t.Context()))
		second := local(t, c)
		r = begin(t, second, pays("pay 10,000 to B?"), "x")
		err := r.Wait(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
		require.ErrorContains(t, err, `the question "ok" differs from the one on record`)
		require.Equal(t, orchestrator.Stuck, infoOf(t, r).Status)
		require.EqualValues(t, 1, bank.calls.Load())
		require.NoError(t, second.Close(t.Context()))
		third := local(t, c)
		r = begin(t, third, pays("pay 10 to A?"), "x") // restored
		synctest.Wait()
		require.Equal(t, orchestrator.Running, infoOf(t, r).Status)
		require.EqualValues(t, 1, bank.calls.Load())
	})
}
