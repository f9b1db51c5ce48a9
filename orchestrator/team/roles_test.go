package team_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// circle points to itself.
type circle struct {
	Last string
	Next *circle
}

func TestRoles(t *testing.T) {
	type head struct {
		ID, Head string
		Staff    []string
	}
	cfg := struct {
		Name   string
		Agents struct{ Planner, Critic string }
		Heads  []head
		ByTask map[string]string
		Rules  struct{ Retrier any }
		Round  *circle
		head
		hidden string
	}{
		Name: "critic", Heads: []head{{ID: "ann", Head: "h", Staff: []string{"ann", "bob"}}}, ByTask: map[string]string{"b": "coder", "a": "coder"},
		head: head{Head: "chief"}, hidden: "eve",
	}
	cfg.Agents.Planner, cfg.Agents.Critic = "planner", "critic"
	cfg.Rules.Retrier = "spare"
	cfg.Round = &circle{Last: "last"}
	cfg.Round.Next = cfg.Round
	assert.Equal(t, map[string]string{
		"planner": "Agents.Planner", "critic": "Agents.Critic", "h": "Heads[0].Head", "ann": "Heads[0].Staff[0]", "bob": "Heads[0].Staff[1]",
		"coder": "ByTask[a]", "last": "Round.Last",
	}, team.Roles(cfg, []string{"planner", "critic", "h", "ann", "bob", "coder", "spare", "last", "eve", "nobody"}))
	assert.Empty(t, team.Roles("critic", []string{"critic"}), "a Config is a struct")
}

// The error of a missing agent says where the Config wants it, and what is like it.
func TestMissingAgentHasARole(t *testing.T) {
	flow, err := poetry(Config{Poet: "poett"})
	require.NoError(t, err)
	_, err = flow.Run(t.Context(), orchestrator.Local(agent.Roster{"poet": agent.Func(nil)}), Input{Topic: "tea"})
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	assert.ErrorContains(t, err, `"poett", which Poet of the team wants: did you mean "poet"?`)
}
