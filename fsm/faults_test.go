package fsm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
)

func TestNewNamesTheFault(t *testing.T) {
	add := func(r rule) func(*definition) {
		return func(d *definition) { d.Rules = append(d.Rules, r) }
	}
	tests := []struct {
		name   string
		change func(*definition)
		want   string // one of the lines of the error
	}{
		{"empty state", func(d *definition) { d.States[3] = "" }, `states[3] is empty`},
		{"state twice", func(d *definition) { d.States[3] = "new" }, `states[3] "new" is listed twice`},
		{"unknown initial", func(d *definition) { d.Initial = "x" }, `initial state "x" is not in States`},
		{"unknown terminal", func(d *definition) { d.Terminal[0] = "x" }, `terminal state "x" is not in States`},
		{"terminal twice", func(d *definition) { d.Terminal[0] = "failed" }, `terminal state "failed" is listed twice`},
		{"empty event", add(rule{From: []state{"new"}, To: "done"}), `rules[9] "": event is empty`},
		{"unknown source", add(rule{On: "e", From: []state{"x"}, To: "done"}), `rules[9] "e": source state "x" is not in States`},
		{"unknown target", add(rule{On: "e", From: []state{"new"}, To: "x"}), `rules[9] "e": target state "x" is not in States`},
		{"no target", add(rule{On: "e", From: []state{"new"}}), `rules[9] "e": target state "" is not in States`},
		{"empty role", add(rule{On: "e", To: "done", Roles: []role{""}}), `rules[9] "e": roles[0] is empty`},
		{"role twice", add(rule{On: "e", To: "done", Roles: []role{"a", "a"}}), `rules[9] "e": role "a" is listed twice`},
		{"unknown guard", add(rule{On: "e", To: "done", Guard: "g"}), `rules[9] "e": guard "g" is not in Guards`},
		{
			"edge out of a terminal state", add(rule{On: "e", From: []state{"done"}, To: "new"}),
			`rules[9] "e": leaves the terminal state "done"`,
		},
		{
			"two targets", add(rule{On: "plan", From: []state{"new"}, To: "done"}),
			`rules[9] "plan": state "new" has a rule for this event already, leading to "planning"`,
		},
		{
			"same rule twice", add(rule{On: "plan", From: []state{"new"}, To: "planning"}),
			`rules[9] "plan": state "new" has a rule for this event already, leading to "planning"`,
		},
		{
			"source twice", add(rule{On: "e", From: []state{"new", "new"}, To: "done"}),
			`rules[9] "e": state "new" has a rule for this event already, leading to "done"`,
		},
		{
			"explicit rule beside an any-rule", add(rule{On: "fail", From: []state{"new"}, To: "done"}),
			`rules[9] "fail": state "new" has a rule for this event already, leading to "failed"`,
		},
		{
			"any-rule beside an explicit rule", add(rule{On: "retry", To: "done"}),
			`rules[9] "retry": state "coding" has a rule for this event already, leading to "coding"`,
		},
		{"guard without use", func(d *definition) { d.Guards["g"] = reasoned }, `guard "g" is used by no rule`},
		{"nil guard", func(d *definition) { d.Guards["reasoned"] = nil }, `guard "reasoned" is nil`},
		{
			"unreachable state",
			func(d *definition) { d.States, d.Terminal = append(d.States, "x"), append(d.Terminal, "x") },
			`state "x" cannot be reached from "new"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := taskRules()
			tt.change(&def)
			tab, err := fsm.New(def)
			require.Error(t, err)
			assert.Nil(t, tab)
			lines := strings.Split(strings.TrimPrefix(err.Error(), "fsm: new table: "), "\n")
			assert.Contains(t, lines, tt.want)
		})
	}
}

func TestAnAnyRuleThatCoversNoStateIsAFault(t *testing.T) {
	_, err := fsm.New(definition{
		Initial: "a", States: []state{"a", "b"}, Terminal: []state{"b"},
		Rules: []rule{{On: "go", From: []state{"a"}, To: "b"}, {On: "stay", To: "a"}},
	})
	assert.EqualError(t, err, `fsm: new table: rules[1] "stay": covers no state`)
}

func TestAStateWithoutAWayOutMustBeTerminal(t *testing.T) {
	_, err := fsm.New(definition{
		Initial: "a", States: []state{"a", "b"},
		Rules: []rule{{On: "go", From: []state{"a"}, To: "b"}},
	})
	assert.EqualError(t, err, `fsm: new table: state "b" is not terminal, but no rule leaves it`)
}

func TestNewReportsAllFaultsInOneError(t *testing.T) {
	_, err := fsm.New(definition{
		Initial:  "start",
		States:   []state{"start", "", "start", "island"},
		Terminal: []state{"end"},
		Rules: []rule{
			{On: "", From: []state{"start"}, To: "start"},
			{On: "go", From: []state{"start"}, To: "away", Roles: []role{""}, Guard: "missing"},
			{On: "go", From: []state{"start", "elsewhere"}, To: "start"},
		},
		Guards: map[string]guard{"b": reasoned, "a": nil},
	})
	require.Error(t, err)
	golden(t, "faults.txt", err.Error()+"\n")
}

func TestAnAnyRuleAndItsExplicitSelfTransitionAreCompatible(t *testing.T) {
	def := taskRules()
	def.Rules = append(def.Rules, rule{On: "pause", From: []state{"paused"}, To: "paused"})
	to, ok := newTable(t, def).Next("paused", "pause")
	assert.True(t, ok)
	assert.Equal(t, state("paused"), to)
}
