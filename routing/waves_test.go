package routing_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

func TestWaves(t *testing.T) {
	tests := []struct {
		name string
		ids  []string
		deps map[string][]string
		want [][]string
	}{
		{"H18 visual needs character and story", []string{"visual", "story", "character"}, filmDeps(), [][]string{{"story", "character"}, {"visual"}}},
		{"H80 a chain", []string{"a", "b", "c"}, map[string][]string{"a": {"b"}, "b": {"c"}}, [][]string{{"c"}, {"b"}, {"a"}}},
		{"H81 those without needs start together", []string{"c", "a", "b"}, map[string][]string{"b": {"c"}}, [][]string{{"c", "a"}, {"b"}}},
		{"H81 as early as possible", []string{"a", "b", "c", "d"}, map[string][]string{"b": {"a"}, "c": {"b"}, "d": {"a"}}, [][]string{{"a"}, {"b", "d"}, {"c"}}},
		{"HC14 the example", []string{"story", "character", "visual", "audio"}, filmDeps(), [][]string{{"story", "character", "audio"}, {"visual"}}},
		{"HC14 image quality comes last", []string{"image_quality", "visual", "story"}, filmDeps(), [][]string{{"story"}, {"visual"}, {"image_quality"}}},
		{"HC15 only chosen needs count", []string{"visual", "image_quality"}, filmDeps(), [][]string{{"visual"}, {"image_quality"}}},
		{"HC15 a chosen one behind an unchosen one is not waited for", []string{"image_quality", "story"}, filmDeps(), [][]string{{"image_quality", "story"}}},
		{"HC15 a need named twice counts once", []string{"b", "a"}, map[string][]string{"b": {"a", "a"}}, [][]string{{"a"}, {"b"}}},
		{"HC15 no IDs", nil, filmDeps(), [][]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := routing.Waves(tt.ids, tt.deps)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestWavesRefuses(t *testing.T) {
	tests := []struct {
		name  string
		ids   []string
		deps  map[string][]string
		want  string
		cycle bool
	}{
		{"HA25 three in a circle", []string{"c", "b", "a"}, map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, "routing: dependency cycle: a, b, c", true},
		{"HX5 one needs itself", []string{"a"}, map[string][]string{"a": {"a"}}, "routing: dependency cycle: a", true},
		{"HX5 from its smallest ID", []string{"z", "m", "b"}, map[string][]string{"z": {"b"}, "b": {"m"}, "m": {"z"}}, "routing: dependency cycle: b, m, z", true},
		{"HX5 without those that only wait for it", []string{"a", "b", "c"}, map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, "routing: dependency cycle: b, c", true},
		{"HX5 the smallest of two cycles", []string{"d", "c", "b", "a"}, map[string][]string{"c": {"d"}, "d": {"c"}, "a": {"b"}, "b": {"a"}}, "routing: dependency cycle: a, b", true},
		{"HX5 the shortest through it", []string{"a", "b", "c"}, map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {"a"}}, "routing: dependency cycle: a, c", true},
		{"HX5 the smaller of two that are as short", []string{"a", "b", "c"}, map[string][]string{"a": {"c", "b"}, "b": {"a"}, "c": {"a"}}, "routing: dependency cycle: a, b", true},
		{"HX5 not by way of an unchosen one", []string{"a", "b", "c"}, map[string][]string{"a": {"b", "x"}, "b": {"c"}, "c": {"a"}, "x": {"a"}}, "routing: dependency cycle: a, b, c", true},
		{"HX4 the same ID twice", []string{"a", "b", "a"}, nil, `routing: ID "a" is listed twice`, false},
		{"HX4 an empty ID", []string{"a", ""}, nil, "routing: ID 1 is empty", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := routing.Waves(tt.ids, tt.deps)
			require.EqualError(t, err, tt.want)
			if tt.cycle {
				require.ErrorIs(t, err, routing.ErrCycle)
			} else {
				require.NotErrorIs(t, err, routing.ErrCycle)
			}
		})
	}
	t.Run("HC15 a cycle through an unchosen one does not count", func(t *testing.T) {
		got, err := routing.Waves([]string{"a", "b"}, map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}})
		require.NoError(t, err)
		assert.Equal(t, [][]string{{"b"}, {"a"}}, got)
	})
}

func TestWavesLaws(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	t.Run("H80 each ID once, after all that it needs, as early as possible", rapid.MakeCheck(func(t *rapid.T) {
		deps := map[string][]string{}
		for i, id := range ids { // needs point to earlier IDs, so there is no cycle
			for _, n := range ids[:i] {
				if rapid.Bool().Draw(t, id+" needs "+n) {
					deps[id] = append(deps[id], n)
				}
			}
		}
		order := rapid.Permutation(ids).Draw(t, "order")
		waves, err := routing.Waves(order, deps)
		require.NoError(t, err)
		assert.ElementsMatch(t, ids, slices.Concat(waves...))
		at := map[string]int{}
		for i, wave := range waves {
			for _, id := range wave {
				at[id] = i
			}
			assert.True(t, slices.IsSortedFunc(wave, func(x, y string) int { return slices.Index(order, x) - slices.Index(order, y) }))
		}
		for _, id := range ids {
			earliest := 0
			for _, n := range deps[id] {
				earliest = max(earliest, at[n]+1)
			}
			assert.Equal(t, earliest, at[id], id)
		}
	}))
}
