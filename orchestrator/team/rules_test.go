package team_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestRetryable(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("busy"), true},
		{agent.Code("x/other"), true},
		{agent.Code("permanent"), false},
		{agent.Code("invalid"), false},
		{agent.ErrRefused, false},
		{orchestrator.ErrNoAgent, false},
		{orchestrator.ErrBudget, false},
		{orchestrator.ErrFlow, false},
	} {
		assert.Equal(t, tt.want, team.Retryable(tt.err), "%v", tt.err)
		assert.Equal(t, tt.want, team.Retryable(fmt.Errorf("step 2: %w", tt.err)), "%v, wrapped", tt.err)
	}
}

func TestGradedStopsWithTheRun(t *testing.T) {
	asked := 0
	_, err := team.Graded(func() (int, error) {
		asked++
		return 0, fmt.Errorf("grade: %w", orchestrator.ErrFlow)
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	assert.Equal(t, 1, asked, "the run is over: nobody is asked again")
}

func TestWithinIfSet(t *testing.T) {
	var f team.Faults
	f.WithinIfSet("Cut", nil, 0, 1)
	f.WithinIfSet("Cut", new(0.0), 0, 1)
	require.NoError(t, f.Err())
	f.WithinIfSet("Cut", new(-0.5), 0, 1)
	require.EqualError(t, f.Err(), "Cut is -0.5, want 0 to 1")
}

// tried runs Try in a flow, with two failures and then a success, and returns the waits.
func tried(t *testing.T, a team.Attempts) (waits []time.Duration, tries int) {
	t.Helper()
	a.Waits = func(_ int, wait time.Duration, failed error) {
		require.EqualError(t, failed, "busy")
		waits = append(waits, wait)
	}
	flow := orchestrator.Flow[int, int]{Name: "try", Do: func(c *orchestrator.Context, _ int) (int, error) {
		_, n, err := team.Try(c, a, func(try int) (int, error) {
			if try < 3 {
				return 0, errors.New("busy")
			}
			return try, nil
		})
		tries = n
		return n, err
	}}
	_, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
	if tries == 3 {
		require.NoError(t, err)
	}
	return waits, tries
}

func TestTryWaitsNoLongerThanIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		left func() time.Duration
		want []time.Duration
	}{
		{"nobody asks", nil, []time.Duration{2 * time.Second, 6 * time.Second}},
		{"no limit", func() time.Duration { return 0 }, []time.Duration{2 * time.Second, 6 * time.Second}},
		{"little is left", func() time.Duration { return 3 * time.Second }, []time.Duration{2 * time.Second, 3 * time.Second}},
		{"nothing is left", func() time.Duration { return -time.Second }, []time.Duration{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			waits, tries := tried(t, team.Attempts{Most: 3, Base: 2 * time.Second, Factor: 3, Left: tt.left})
			assert.Equal(t, tt.want, waits)
			assert.Equal(t, 3, tries)
		})
	}
}

func TestTryAsksTheTeam(t *testing.T) {
	waits, tries := tried(t, team.Attempts{Most: 3, Retryable: func(error) bool { return false }})
	assert.Empty(t, waits)
	assert.Equal(t, 1, tries, "the team says that the error is final")
}

// Best agrees with a search that sorts nothing and remembers all.
func TestBestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 1.0000001, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1)}), 0, 6).Draw(t, "scores")
		missing := rapid.IntRange(-1, 5).Draw(t, "missing")
		at := func(i int) *float64 {
			if i == missing {
				return nil
			}
			return &scores[i]
		}
		first, last := -1, -1
		for i := range scores {
			beaten := at(i) == nil || math.IsNaN(scores[i])
			for j := range scores {
				beaten = beaten || at(j) != nil && !math.IsNaN(scores[j]) && scores[j] > scores[i]+1e-6
			}
			if beaten {
				continue
			}
			if last = i; first < 0 {
				first = i
			}
		}
		require.Equal(t, first, team.Best(len(scores), team.First, at))
		require.Equal(t, last, team.Best(len(scores), team.Last, at))
	})
}

func TestDecodeKeepsWhatIsNotMentioned(t *testing.T) {
	g := group{Wait: time.Minute, Names: []string{"a"}, Parts: []part{{ID: "p"}}, Plain: plain{Wait: time.Hour}}
	require.NoError(t, team.Decode([]byte(`{"calls":3,"plain":{"inner":{"n":2}}}`), &g))
	assert.Equal(t, time.Minute, g.Wait)
	assert.Equal(t, []string{"a"}, g.Names)
	assert.Equal(t, []part{{ID: "p"}}, g.Parts)
	assert.Equal(t, time.Hour, g.Plain.Wait, "in a group, too")
	assert.Equal(t, 2, g.Plain.Inner.N)
	require.NoError(t, team.Decode([]byte(`{"parts":null}`), &g))
	assert.Len(t, g.Parts, 1, "null mentions nothing")
	require.NoError(t, team.Decode([]byte(`{"parts":[]}`), &g))
	assert.Empty(t, g.Parts)
}

func TestDecodeFaultsChangeOnlyOtherFields(t *testing.T) {
	g := group{Parts: []part{{ID: "old"}}}
	require.Error(t, team.Decode([]byte(`{"parts":[{"id":"new"},{"id":1}]}`), &g))
	assert.Equal(t, []part{{ID: "old"}}, g.Parts, "a list is read as a whole or not at all")
	require.ErrorContains(t, team.Decode([]byte(`{"parts":{}}`), &g), "parts is a JSON object, want a list")
	require.ErrorContains(t, team.Decode([]byte(`{`), &g), "is no JSON")
	require.ErrorContains(t, team.Decode([]byte(`{"names":"x"}`), &g), "names is a JSON string, want a list")
	require.ErrorContains(t, team.Decode([]byte(`{"score":"x"}`), &g), "score is a JSON string, want a number")
}
