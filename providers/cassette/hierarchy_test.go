package cassette_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

// studio is a department whose agents are models by role.
func studio(t *testing.T, open func(t testing.TB) func(providers.Spec) (providers.Model, error)) *flowtest.Case[hierarchy.Input, hierarchy.Outcome] {
	t.Helper()
	flow, err := hierarchy.New(hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("character", "head",
			hierarchy.Agent{ID: "looks", Name: "Looks", PassingThreshold: new(65.0)},
			hierarchy.Agent{ID: "mind", Name: "Mind", PassingThreshold: new(60.0)},
		)},
	})
	require.NoError(t, err)
	config := providers.RoleConfig{
		"head":       {{Provider: "corp", Model: "big", Temperature: new(0.2), Price: &providers.Price{Input: 3 * providers.USD}}},
		"specialist": {{Provider: "corp", Model: "small", Price: &providers.Price{Input: providers.USD}}},
	}
	return flowtest.New(flow, hierarchy.Input{Prompt: "A detailed character of a bread thief"}, func(t testing.TB) agent.Roster {
		roles, err := providers.NewRoles(config, open(t))
		require.NoError(t, err)
		llm := func(role, instructions string) agent.Agent {
			m, err := roles.Model(role)
			require.NoError(t, err)
			return agent.LLM{Model: m, Instructions: instructions}
		}
		return agent.Roster{
			"head": llm("head", "You are the head."), "looks": llm("specialist", "You know looks."), "mind": llm("specialist", "You know minds."),
		}
	})
}

// cast are the models of a studio. One specialist needs a second try, and the
// vendor of the other is down for a moment.
func cast(t testing.TB) func(providers.Spec) (providers.Model, error) {
	said := func(text string) fake.Answer {
		return fake.Answer{Text: text, Usage: providers.Usage{Input: 100, Output: 10}}
	}
	grade := func(x string) fake.Answer {
		return said("Here it is:\n```json\n{\"quality\":" + x + ",\"relevance\":" + x + ",\"consistency\":" + x + "}\n```")
	}
	head := fake.New(t)
	head.When(fake.Rule{Text: "Write one new result", Times: 1, Answer: said("A lean boy in a torn vest, cheeky and kind.")})
	head.When(fake.Rule{Text: "torn vest", Times: 1, Answer: grade("0.72")})
	head.When(fake.Rule{Text: "cheeky", Times: 1, Answer: grade("0.87")})
	head.When(fake.Rule{Text: "lean", Times: 1, Answer: grade("0.58")})
	specialists := fake.New(t)
	specialists.When(fake.Rule{System: "minds", Answers: []fake.Answer{fake.Fail(providers.Transient, 0), said("cheeky and kind")}})
	specialists.When(fake.Rule{System: "looks", Answers: []fake.Answer{said("lean"), said("lean, in a torn vest")}})
	models := map[string]providers.Model{"big": head, "small": specialists}
	return func(s providers.Spec) (providers.Model, error) { return models[s.Model], nil }
}

// clocks are the fields of an outcome that hold milliseconds: waits between attempts are
// random.
var clocks = []string{"elapsed", "analysisTime", "totalExecutionTime", "executionTime", "duration"}

// A whole team is recorded once, and played offline: with the same outcome, and
// also when the process is killed at any place and resumed.
func TestHierarchy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "studio.jsonl")
	rec, err := cassette.Record(path, cassette.Options{})
	require.NoError(t, err)
	live, _, err := studio(t, func(t testing.TB) func(providers.Spec) (providers.Model, error) { return rec.Open(cast(t)) }).Run(t)
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	require.Equal(t, "A lean boy in a torn vest, cheeky and kind.", hierarchy.Text(live.Reports[0].Output))

	replay := studio(t, func(t testing.TB) func(providers.Spec) (providers.Model, error) {
		fake.BlockNetwork(t)
		player, err := cassette.Play(path, cassette.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, player.Check()) })
		return player.Open
	})
	played, _, err := replay.Run(t)
	require.NoError(t, err)
	assert.Equal(t, flowtest.Clockless(live, clocks...), flowtest.Clockless(played, clocks...))
	assert.Equal(t, int64(7), played.Spent.Calls, "3 by specialists, 3 grades, 1 synthesis")
	assert.Equal(t, 7*100*providers.USD/1_000_000+2*4*100*providers.USD/1_000_000, played.Spent.Cost, "100 tokens each; those of the head, 4 of 7, cost 2 USD a million more")

	replay.Clocks = clocks
	replay.Sweep(t)
	replay.Determinism(t)
}
