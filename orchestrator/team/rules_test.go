package team_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/team"
)

func TestWithinIfSet(t *testing.T) {
	var f team.Faults
	f.WithinIfSet("Cut", nil, 0, 1)
	f.WithinIfSet("Cut", new(0.0), 0, 1)
	require.NoError(t, f.Err())
	f.WithinIfSet("Cut", new(-0.5), 0, 1)
	require.EqualError(t, f.Err(), "Cut is -0.5, want 0 to 1")
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
