package team_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

type phase string

var lights = fsm.MustNew(fsm.Definition[phase, string, string]{
	Initial: "red", States: []phase{"red", "green", "off"}, Terminal: []phase{"off"},
	Rules: []fsm.Rule[phase, string, string]{
		{On: "go", From: []phase{"red"}, To: "green"},
		{On: "stop", From: []phase{"green"}, To: "red"},
		{On: "wait", From: []phase{"red"}, To: "red"},
		{On: "break", To: "off"},
	},
})

func TestFaults(t *testing.T) {
	var f team.Faults
	require.NoError(t, f.Err())
	f.Within("Cut", 0.5, 0, 1)
	f.Within("Cut", 1, 0, 1)
	require.NoError(t, f.Err())
	f.Within("Cut", math.NaN(), 0, 1)
	f.Within("Score", 10.1, 0, 10)
	require.EqualError(t, f.Err(), "Cut is NaN, want 0 to 1\nScore is 10.1, want 0 to 10")
}

func TestClone(t *testing.T) {
	type nested struct {
		Group group
		Map   map[string]*[]int
		Any   any
	}
	n := nested{group{Score: new(1.0), Names: []string{"a"}, Parts: []part{{ID: "p"}}}, map[string]*[]int{"k": {1, 2}}, &group{}}
	c := team.Clone(n)
	assert.Equal(t, n, c)
	assert.Same(t, n.Any, c.Any, "an interface is the same")
	*c.Group.Score, c.Group.Names[0], c.Group.Parts[0].ID, (*c.Map["k"])[0], c.Map["l"] = 2, "b", "q", 3, nil
	assert.Equal(t, nested{group{Score: new(1.0), Names: []string{"a"}, Parts: []part{{ID: "p"}}}, map[string]*[]int{"k": {1, 2}}, &group{}}, n)
	assert.Equal(t, group{}, team.Clone(group{}), "nil stays nil")
	assert.NotNil(t, team.Clone(group{Names: []string{}}).Names, "empty stays empty")
}

func TestGuard(t *testing.T) {
	v, err := team.Guard("Hooks.Route", func() (int, error) { return 3, nil })
	require.NoError(t, err)
	assert.Equal(t, 3, v)
	_, err = team.Guard("Hooks.Route", func() (int, error) { return 0, errors.New("no") })
	require.EqualError(t, err, "Hooks.Route: no")
	_, err = team.Guard("Hooks.Route", func() (int, error) { panic("oh") })
	require.ErrorContains(t, err, "Hooks.Route panicked: oh")
	e, ok := errors.AsType[*agent.Error](err)
	require.True(t, ok)
	assert.Contains(t, e.Stack, "team_test.go")
}

func TestFail(t *testing.T) {
	boom := &agent.Error{Message: "boom", Codes: []agent.Code{"x/boom"}, Usage: providers.Usage{Calls: 1}}
	err := team.Fail("x/kickoff", "kickoff: %w", boom)
	require.EqualError(t, err, "kickoff: boom")
	require.ErrorIs(t, err, agent.Code("x/kickoff"))
	require.ErrorIs(t, err, agent.Code("x/boom"))
	assert.Equal(t, []agent.Code{"x/boom"}, boom.Codes)
}

func TestBest(t *testing.T) {
	scores := []*float64{nil, new(math.NaN()), new(3.0), new(7.0), new(7.0000001), new(-1.0)}
	at := func(i int) *float64 { return scores[i] }
	assert.Equal(t, 3, team.Best(len(scores), team.First, at))
	assert.Equal(t, 4, team.Best(len(scores), team.Last, at))
	assert.Equal(t, -1, team.Best(2, team.Last, at), "what has no score is not the best")
	assert.Equal(t, 2, team.Best(3, team.First, at))
}

type group struct {
	Wait  time.Duration     `json:"wait,omitzero"`
	Money providers.NanoUSD `json:"money,omitzero"`
	Calls int64             `json:"calls,omitzero"`
	Score *float64          `json:"score,omitempty"`
	Names []string          `json:"names,omitempty"`
	Parts []part            `json:"parts,omitempty"`
	Plain plain             `json:"plain,omitzero"`
	Hook  func()            `json:"-"`
}

// plain has no methods.
type plain struct {
	Wait  time.Duration `json:"wait"`
	Inner struct {
		N int `json:"n"`
	} `json:"inner"`
}

type part struct {
	ID   string        `json:"id"`
	Wait time.Duration `json:"wait,omitzero"`
}

func (p part) MarshalJSON() ([]byte, error)     { return team.Encode(p) }
func (p *part) UnmarshalJSON(data []byte) error { return team.Decode(data, p) }

func TestConfigJSON(t *testing.T) {
	data, err := team.Encode(group{Wait: 5 * time.Minute, Money: providers.Dollars(1.25), Parts: []part{{"a", time.Second}}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"wait":"5m0s","money":1.25,"parts":[{"id":"a","wait":"1s"}]}`, string(data))

	var g group
	require.NoError(t, team.Decode([]byte(`{"wait":90,"money":0.000000001,"score":0,"parts":[{"id":"b","wait":1.5}]}`), &g))
	assert.Equal(t, group{Wait: 90 * time.Second, Money: 1, Score: new(0.0), Parts: []part{{"b", 1500 * time.Millisecond}}}, g)

	data, err = team.Encode(group{Wait: orchestrator.None, Money: orchestrator.None, Calls: orchestrator.None})
	require.NoError(t, err)
	assert.JSONEq(t, `{"wait":-1,"money":-1,"calls":-1}`, string(data))
	g = group{}
	require.NoError(t, team.Decode(data, &g))
	assert.Equal(t, group{Wait: orchestrator.None, Money: orchestrator.None, Calls: orchestrator.None}, g, "-1 is None")
	data, err = team.Encode(group{Wait: -time.Second, Money: -providers.USD})
	require.NoError(t, err)
	g = group{}
	require.NoError(t, team.Decode(data, &g))
	assert.Equal(t, group{Wait: -time.Second, Money: -providers.USD}, g, "what is not None stays")

	faults := []struct{ data, want string }{
		{`[]`, "is a JSON array, want an object"},
		{`{"wait":"soon"}`, `wait is "soon", want a duration such as "5m", or a number of seconds`},
		{`{"wait":null}`, `wait is null, want a duration such as "5m", or a number of seconds`},
		{`{"money":"1"}`, `money is "1", want USD with at most 9 decimals`},
		{`{"money":0.0000000001}`, `money is 0.0000000001, want USD with at most 9 decimals`},
		{`{"money":1e30}`, `money is 1e30, want USD with at most 9 decimals`},
		{`{"calls":1.5}`, "calls is a JSON number 1.5, want a whole number"},
		{`{"hook":1,"wiat":2}`, "hook is unknown\nwiat is unknown"},
		{`{"parts":[{"id":"a"},{"id":3,"wait":"x"}]}`, "parts[1].id is a JSON number, want a string\nparts[1].wait is \"x\", want a duration such as \"5m\", or a number of seconds"},
		{`{"parts":[{"idd":"a"}]}`, "parts[0].idd is unknown"},
		{`{"plain":{"wait":"x","inner":{"n":"1","m":2}}}`, "plain.wait is \"x\", want a duration such as \"5m\", or a number of seconds\nplain.inner.n is a JSON string, want a whole number\nplain.inner.m is unknown"},
	}
	for _, tt := range faults {
		require.EqualError(t, team.Decode([]byte(tt.data), &group{}), tt.want, tt.data)
	}
}

func TestConfigJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := group{
			Wait: time.Duration(rapid.Int64().Draw(t, "wait")), Money: providers.NanoUSD(rapid.Int64().Draw(t, "money")),
			Calls: rapid.Int64().Draw(t, "calls"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			want.Parts = append(want.Parts, part{ID: rapid.String().Draw(t, "id"), Wait: time.Duration(rapid.Int64().Draw(t, "part"))})
		}
		data, err := team.Encode(want)
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		var got group
		require.NoError(t, team.Decode(data, &got))
		require.Equal(t, want, got)
	})
}

// TestTexts: all teams refuse the same texts and names, with the place.
func TestTexts(t *testing.T) {
	var f team.Faults
	for _, s := range []string{"", " \n", "tea\r\n\tor coffee\r?", "\u200bx"} {
		f.Text("fine", s)
	}
	f.Name("fine", "")
	f.Name("fine", "a b/1")
	require.NoError(t, f.Err(), "N20")
	f.Text("topic", "a\r\nb\x00")
	f.Text("topic", "\u200b")
	f.Text("topic", "a\xff")
	f.Name("id", "a\nb")
	f.Name("id", "\xff")
	require.EqualError(t, f.Err(), "topic: line 2, character 2 is U+0000, a control character\n"+
		"topic: it has 1 characters, and none that can be seen\ntopic: line 1, character 2 is not UTF-8\n"+
		"id: character 2 is U+000A, which no name has\nid: line 1, character 1 is not UTF-8", "N20")
}
