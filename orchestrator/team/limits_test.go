package team_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

func TestLimits(t *testing.T) {
	config := team.Limits{Cost: providers.Dollars(5), Calls: 100, Time: time.Hour, Estimate: 3}
	input := team.Limits{Cost: providers.Dollars(1), Calls: orchestrator.None, Tokens: 9, AllowUnpriced: true}
	got := input.Or(config)
	assert.Equal(t, team.Limits{Cost: providers.Dollars(1), Calls: orchestrator.None, Tokens: 9, Time: time.Hour, AllowUnpriced: true, Estimate: 3}, got)
	assert.Equal(t, orchestrator.Budget{Cost: providers.Dollars(1), Tokens: 9, Wall: time.Hour, AllowUnpriced: true}, got.Budget(), "None is no limit")
	assert.Equal(t, orchestrator.Budget{}, team.Limits{}.Budget())
	assert.True(t, config.Or(input).AllowUnpriced)
	for _, tt := range [][3]time.Duration{{0, 5, 0}, {7, 5, 2}, {5, 5, -1}, {4, 5, -1}, {-1, 0, -1}, {4, 0, 4}} {
		assert.Equal(t, tt[2], team.Rest(tt[0], tt[1]), tt)
	}
	require.EqualError(t, team.Check(struct{ Limits team.Limits }{team.Limits{Cost: -2, Time: -time.Second, Tokens: orchestrator.None}}),
		"Limits.Cost is -0.000000002, want 0 or more\nLimits.Time is -1s, want 0s or more")
}

func TestLimitsJSON(t *testing.T) {
	type config struct {
		Limits team.Limits `json:"limits,omitzero"`
	}
	want := config{team.Limits{Cost: providers.Dollars(0.5), Calls: orchestrator.None, Tokens: 1, Time: 5 * time.Minute, AllowUnpriced: true, Estimate: 1}}
	data, err := team.Encode(want)
	require.NoError(t, err)
	assert.JSONEq(t, `{"limits":{"cost":0.5,"calls":-1,"tokens":1,"time":"5m0s","allowUnpriced":true,"estimate":0.000000001}}`, string(data))
	var got config
	require.NoError(t, team.Decode(data, &got))
	assert.Equal(t, want, got)
	assert.True(t, json.Valid(data))
}
