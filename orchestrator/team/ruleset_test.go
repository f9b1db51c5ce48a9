package team_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team"
)

type judge interface{ judge() }

type strict struct {
	Margin int           `json:"margin"`
	Wait   time.Duration `json:"wait,omitzero"`
	Names  []string      `json:"names,omitzero"`
}

func (strict) judge() {}

func (s strict) Validate() error {
	if s.Margin < 0 {
		return errors.New("Margin is negative")
	}
	return nil
}

type weights map[string]int

func (weights) judge()           {}
func (weights) Agents() []string { return []string{"ann", "bob"} }

type own struct{ At *int }

func (own) judge() {}

type gates struct {
	Work  judge `json:"work"`
	Plans judge `json:"plans"`
}

type Steps struct{ Brief func() string }

type ruleset struct {
	Router judge `json:"router"`
	Permit judge `json:"-"`
	Gates  gates `json:"gates"`
	Steps  `json:"-"`
}

func defaults() ruleset {
	return ruleset{Router: weights{"a": 1}, Gates: gates{Work: strict{Margin: 20, Names: []string{"x"}}, Plans: strict{Margin: 1}}}
}

func TestFillRules(t *testing.T) {
	host := strict{Names: []string{"n"}}
	mine := own{At: new(1)}
	got := team.FillRules(ruleset{Gates: gates{Work: host, Plans: mine}, Steps: Steps{Brief: func() string { return "b" }}}, defaults())
	assert.Equal(t, weights{"a": 1}, got.Router)
	assert.Nil(t, got.Permit)
	assert.Equal(t, "b", got.Brief())
	host.Names[0], *mine.At = "changed", 2
	assert.Equal(t, strict{Names: []string{"n"}}, got.Gates.Work, "a zero is a zero, and it is a copy")
	assert.Equal(t, own{At: new(2)}, got.Gates.Plans, "the host's own is used as it is")
	assert.Equal(t, []string{"ann", "bob"}, team.RuleAgents(got))
	byDefault := defaults()
	team.FillRules(ruleset{}, byDefault).Router.(weights)["a"] = 2
	assert.Equal(t, defaults(), byDefault, "a default is a copy, too")
	f := &team.Faults{}
	got.Gates.Work = strict{Margin: -1}
	f.Rules("Rules", got)
	require.EqualError(t, f.Err(), "Rules.Gates.Work: Margin is negative")
}

func TestRulesJSON(t *testing.T) {
	read := func(text string) (ruleset, error) {
		var r ruleset
		err := team.DecodeRules([]byte(text), &r, defaults())
		return r, err
	}
	got, err := read(`{"router": {"b": 2}, "gates": {"work": {"margin": 0, "wait": "3s"}}}`)
	require.NoError(t, err)
	assert.Equal(t, ruleset{Router: weights{"a": 1, "b": 2}, Gates: gates{Work: strict{Wait: 3 * time.Second, Names: []string{"x"}}}}, got)
	data, err := team.EncodeRules(got, defaults())
	require.NoError(t, err)
	assert.JSONEq(t, `{"router": {"a": 1, "b": 2}, "gates": {"work": {"margin": 0, "wait": "3s", "names": ["x"]}}}`, string(data))
	again, err := read(string(data))
	require.NoError(t, err)
	assert.Equal(t, got, again)

	for text, want := range map[string]string{
		`{"rooter": {}, "permit": {}, "gates": {"work": {"margn": 1}, "plan": {}}}`: "gates.work.margn is unknown\ngates.plan is unknown\npermit is unknown\nrooter is unknown",
		`{"gates": {"work": {"wait": "soon"}, "plans": 3}}`:                         "gates.work.wait is \"soon\", want a duration such as \"5m\", or a number of seconds\ngates.plans is a JSON number, want an object",
		`[]`: "is a JSON array, want an object",
	} {
		got, err := read(text)
		require.EqualError(t, err, want)
		assert.Zero(t, got)
	}
	_, err = team.EncodeRules(ruleset{Router: own{}, Gates: gates{Plans: own{}, Work: strict{}}, Permit: own{}}, defaults())
	require.EqualError(t, err, "Rules.Router is the program's own and has no JSON\nRules.Gates.Plans is the program's own and has no JSON")
}
