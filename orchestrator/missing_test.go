package orchestrator_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// An agent that is missing is told by the name that is most like its own: at NewLocal, at
// Start and at a call.
func TestMissingAgentNamesTheNearest(t *testing.T) {
	agents := agent.Roster{"critic": echo, "critics": echo, "leader": echo}
	declares := orchestrator.Flow[none, string]{Name: "declares", Agents: []string{"critc"}, Do: func(*orchestrator.Context, none) (string, error) { return "", nil }}
	_, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Flows: []orchestrator.AnyFlow{declares}})
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	require.ErrorContains(t, err, `flow "declares": no-agent: "critc": did you mean "critic"?`)
	synctest.Test(t, func(t *testing.T) {
		e := local(t, orchestrator.Config{Agents: agents})
		_, err := declares.Run(t.Context(), e, none{})
		require.ErrorContains(t, err, `"critc": did you mean "critic"?`)
		calls := flow("calls", func(c *orchestrator.Context) (string, error) { return ask(c, "Leader", "hi") })
		_, err = calls.Run(t.Context(), e, none{})
		require.ErrorIs(t, err, orchestrator.ErrNoAgent)
		require.ErrorContains(t, err, `"Leader": did you mean "leader"?`)
		_, err = flow("other", func(c *orchestrator.Context) (string, error) { return ask(c, "nobody", "hi") }).Run(t.Context(), e, none{})
		require.ErrorContains(t, err, `no-agent: "nobody"`)
		require.NotContains(t, err.Error(), "mean")
	})
}

// The engine of a roster: its faults are those of each run that is started.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it leaves nothing behind
		says := flow("echo", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "hi") })
		says.Agents, says.Roles = []string{"a"}, map[string]string{"a": "Agents.Echo"}
		out, err := says.Run(t.Context(), orchestrator.Local(agent.Roster{"a": echo}), none{})
		require.NoError(t, err)
		require.Equal(t, "hi", out)
		_, err = says.Run(t.Context(), orchestrator.Local(agent.Roster{"A": echo}), none{})
		require.ErrorIs(t, err, orchestrator.ErrNoAgent)
		require.ErrorContains(t, err, `no-agent: "a", which Agents.Echo of the team wants`)
		bad := orchestrator.Local(agent.Roster{"a": nil})
		_, err = says.Run(t.Context(), bad, none{})
		require.EqualError(t, err, `orchestrator: Config.Agents: the agent "a" has no name or is nil`)
		_, err = bad.Open(t.Context(), "x")
		require.ErrorIs(t, err, orchestrator.ErrNoRun)
	})
}
