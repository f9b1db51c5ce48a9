package team_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

type seat struct {
	Role  string            `oneof:"lead critic" required:"true"`
	Agent string            `required:"true"`
	Heat  *float64          `max:"2" min:"0"`
	Cost  providers.NanoUSD `default:"0.25" max:"1" min:"0"`
}

type settings struct {
	Name   string `default:"talk"`
	Seats  []seat `required:"true"`
	ByName map[string]seat
	Policy struct {
		Score  float64 `max:"10"   min:"0"`
		Rounds int     `default:"3" min:"1"`
		Tries  int     `default:"2" min:"-1"`
		Quiet  bool
	}
	Wait   time.Duration `default:"5m" min:"-1"`
	Assume *float64      `default:"5"`
	Next   *settings
	Most   int64 `max:"9"`
	team.Limits
	own int
}

func TestDefaults(t *testing.T) {
	s := settings{
		Seats: []seat{{Role: "lead"}, {Cost: providers.USD}}, ByName: map[string]seat{"a": {}}, Next: &settings{Name: "other"},
		Limits: team.Limits{Calls: orchestrator.None},
	}
	s.Policy.Tries = orchestrator.None
	team.Defaults(&s)
	assert.Equal(t, "talk", s.Name)
	assert.Equal(t, []providers.NanoUSD{providers.Dollars(0.25), providers.USD}, []providers.NanoUSD{s.Seats[0].Cost, s.Seats[1].Cost})
	assert.Equal(t, providers.Dollars(0.25), s.ByName["a"].Cost, "in maps, too")
	assert.Equal(t, 3, s.Policy.Rounds)
	assert.Zero(t, s.Policy.Tries, "None is none, in place of the default")
	assert.Zero(t, s.Calls, "of embedded structs, too")
	assert.Equal(t, 5*time.Minute, s.Wait)
	assert.InDelta(t, 5, *s.Assume, 0)
	assert.Equal(t, "other", s.Next.Name)
	assert.Equal(t, 5*time.Minute, s.Next.Wait)
	assert.Zero(t, s.own)
	type typo struct {
		Wait time.Duration `default:"soon"`
	}
	assert.PanicsWithError(t, `team: a tag of the field Wait: is "soon", want a duration such as "5m", or a number of seconds`, func() { team.Defaults(&typo{}) })
}

func TestCheck(t *testing.T) {
	good := settings{Seats: []seat{{Role: "critic", Agent: "a", Heat: new(2.0)}}, Wait: orchestrator.None}
	require.NoError(t, team.Check(good), "zero is the default")
	bad := settings{
		Name: "x", Seats: []seat{{Role: "boss", Agent: "a", Heat: new(2.1), Cost: providers.Dollars(1.5)}, {Agent: " "}},
		ByName: map[string]seat{"b": {Role: "lead", Agent: "a", Heat: new(math.NaN())}, "a": {Role: "lead"}}, Wait: -time.Second, Next: &settings{}, Most: 10,
		Limits: team.Limits{Cost: -2},
	}
	bad.Policy.Score, bad.Policy.Rounds, bad.Policy.Tries = math.NaN(), -1, -2
	require.EqualError(t, team.Check(bad), `Seats[0].Role is "boss", want one of ["lead" "critic"]
Seats[0].Heat is 2.1, want 0 to 2
Seats[0].Cost is 1.5, want 0 to 1
Seats[1].Role is empty
Seats[1].Agent is empty
ByName[a].Agent is empty
ByName[b].Heat is NaN, want 0 to 2
Policy.Score is NaN, want 0 to 10
Policy.Rounds is -1, want 1 or more
Policy.Tries is -2, want 0 or more
Wait is -1s, want 0s or more
Next.Seats is empty
Most is 10, want at most 9
Cost is -0.000000002, want 0 or more`)
	var f team.Faults
	f.CheckAt("Input", struct {
		Topic string `required:"true"`
	}{})
	require.EqualError(t, f.Err(), "Input.Topic is empty")
	assert.InDelta(t, 2.1, *bad.Seats[0].Heat, 0, "nothing is changed")
}
