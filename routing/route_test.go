package routing_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

// scores lists relevances as "id .85" in their order.
func scores(relevances []routing.Relevance) []string {
	var lines []string
	for _, r := range relevances {
		lines = append(lines, fmt.Sprintf("%s %.2f", r.ID, r.Relevance))
	}
	return lines
}

func TestReferenceRoutes(t *testing.T) {
	one := []string{"story 0.10", "visual 0.10", "audio 0.10", "production 0.10"}
	tests := []struct {
		name, prompt string
		scores       []string
		supporting   []string
		mode         routing.Mode
		waves        [][]string
		low          bool
	}{
		{
			"HA19 character only", "Create character Aladdin", // 10+40+35
			slices.Concat([]string{"character 0.85", "image_quality 0.15"}, one),
			[]string{},
			routing.Single,
			[][]string{{"character"}},
			false,
		},
		{
			"HA20 story and character", "Design story episode 1", // 10+40+30; 10+15+10
			[]string{"story 0.80", "character 0.35", "image_quality 0.15", "visual 0.10", "audio 0.10", "production 0.10"},
			[]string{"character"},
			routing.Parallel,
			[][]string{{"story", "character"}},
			false,
		},
		{
			"HA21 scene with dialogue", "Generate scene with dialogue", // 10+30+35; 10+30; 10+30; 10+25
			[]string{"story 0.75", "character 0.40", "audio 0.40", "visual 0.35", "image_quality 0.15", "production 0.10"},
			[]string{"character", "audio", "visual"},
			routing.Sequential,
			[][]string{{"story", "character", "audio"}, {"visual"}},
			false,
		},
		{
			"HA22 bread theft", breadTheft, // 10+20+25+30; 10+35+20; 10+15+25; 10+25
			[]string{"story 0.85", "character 0.65", "visual 0.50", "audio 0.35", "image_quality 0.15", "production 0.10"},
			[]string{"character", "visual", "audio"},
			routing.Sequential,
			[][]string{{"story", "character", "audio"}, {"visual"}},
			false,
		},
		{
			"HA24 nothing matches", "hello there",
			[]string{"story 0.10", "character 0.10", "visual 0.10", "image_quality 0.15", "audio 0.10", "production 0.10"},
			[]string{},
			routing.Single,
			[][]string{{"story"}},
			true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			route, err := routing.Decide(routing.Keyword(tt.prompt, filmTargets()), filmDeps(), routing.DefaultCut)
			require.NoError(t, err)
			assert.Equal(t, tt.scores, scores(route.Relevances))
			assert.Equal(t, route.Relevances[0].ID, route.Primary)
			assert.Equal(t, tt.supporting, route.Supporting)
			assert.Equal(t, tt.mode, route.Mode)
			assert.Equal(t, tt.waves, route.Waves)
			assert.Equal(t, tt.low, route.LowConfidence)
		})
	}
	examples := []struct{ name, prompt, chosen string }{
		{"H19 create a character", "Create character Aladdin", "character []"},
		{"H20 design a story", "Design story episode 1", "story [character]"},
		{"H21 generate a scene", "Generate scene with dialogue", "story [character audio visual]"},
		{"H22 bread theft", breadTheft, "story [character visual audio]"},
	}
	for _, tt := range examples {
		t.Run(tt.name, func(t *testing.T) {
			route, err := routing.Decide(routing.Keyword(tt.prompt, filmTargets()), filmDeps(), routing.DefaultCut)
			require.NoError(t, err)
			assert.Equal(t, tt.chosen, fmt.Sprint(route.Primary, " ", route.Supporting))
		})
	}
	t.Run("H23 the six reference departments", func(t *testing.T) {
		var ids []string
		for _, r := range routing.Keyword("", filmTargets()) {
			ids = append(ids, r.ID)
		}
		assert.ElementsMatch(t, []string{"story", "character", "visual", "audio", "image_quality", "production"}, ids)
	})
}

// rel is a record for which something in the request speaks.
func rel(id string, relevance float64, priority int) routing.Relevance {
	return routing.Relevance{ID: id, Relevance: relevance, Priority: priority}
}

func TestDecide(t *testing.T) {
	base := func(id string, relevance float64, priority int) routing.Relevance {
		return routing.Relevance{ID: id, Relevance: relevance, Priority: priority, BaseOnly: true}
	}
	tests := []struct {
		name       string
		relevances []routing.Relevance
		deps       map[string][]string
		cut        float64
		chosen     []string // the primary first
		mode       routing.Mode
		waves      [][]string
	}{
		{"HA23 exactly the cut is out", []routing.Relevance{rel("a", .8, 1), rel("b", .3, 2)}, nil, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HA23 above the cut is in", []routing.Relevance{rel("a", .8, 1), rel("b", .31, 2)}, nil, .3, []string{"a", "b"}, routing.Parallel, [][]string{{"a", "b"}}},
		{"H13 one primary, whatever the order given", []routing.Relevance{rel("a", .4, 1), rel("b", .9, 2)}, nil, .5, []string{"b"}, routing.Single, [][]string{{"b"}}},
		{"H14 another cut", []routing.Relevance{rel("a", .8, 1), rel("b", .31, 2)}, nil, .31, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HC21 relevance rounded to the cut", []routing.Relevance{rel("a", .8, 1), rel("b", .30000000000000004, 2)}, nil, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HC21 cut rounded to the relevance", []routing.Relevance{rel("a", .8, 1), rel("b", .3, 2)}, nil, .29999999, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"H15 the primary alone, below the cut", []routing.Relevance{rel("a", .2, 1), rel("b", .1, 2)}, nil, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"H16 a dependency between chosen ones", []routing.Relevance{rel("a", .8, 1), rel("b", .5, 2)}, map[string][]string{"a": {"b"}}, .3, []string{"a", "b"}, routing.Sequential, [][]string{{"b"}, {"a"}}},
		{"H17 none between chosen ones", []routing.Relevance{rel("a", .8, 1), rel("b", .5, 2), rel("c", .1, 3)}, map[string][]string{"a": {"c"}, "c": {"b"}}, .3, []string{"a", "b"}, routing.Parallel, [][]string{{"a", "b"}}},
		{"HC15 an unchosen one is not pulled in", []routing.Relevance{rel("a", .8, 1), rel("b", .1, 2)}, map[string][]string{"a": {"b"}}, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HC15 routing order within a wave", []routing.Relevance{rel("a", .5, 1), rel("b", .9, 1), rel("c", .7, 1)}, map[string][]string{"b": {"c"}}, .3, []string{"b", "c", "a"}, routing.Sequential, [][]string{{"c", "a"}, {"b"}}},
		{"HC16 the primary does not support itself", []routing.Relevance{rel("a", .8, 1)}, nil, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HC17 no minimum for the primary", []routing.Relevance{rel("a", 0, 1)}, nil, .3, []string{"a"}, routing.Single, [][]string{{"a"}}},
		{"HC17 one match is enough", []routing.Relevance{base("a", .1, 1), rel("b", .15, 2)}, nil, .3, []string{"b"}, routing.Single, [][]string{{"b"}}},
		{"HC17 a high base supports once something matches", []routing.Relevance{base("a", .4, 1), rel("b", .5, 2)}, nil, .3, []string{"b", "a"}, routing.Parallel, [][]string{{"b", "a"}}},
		{"HC18 relevance, priority, ID", []routing.Relevance{rel("d", .5, 2), rel("c", .5, 1), rel("b", .5, 1), rel("a", .9, 9)}, nil, .3, []string{"a", "b", "c", "d"}, routing.Parallel, [][]string{{"a", "b", "c", "d"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			route, err := routing.Decide(tt.relevances, tt.deps, tt.cut)
			require.NoError(t, err)
			assert.Equal(t, tt.chosen, append([]string{route.Primary}, route.Supporting...))
			assert.Equal(t, tt.mode, route.Mode)
			assert.Equal(t, tt.waves, route.Waves)
			assert.False(t, route.LowConfidence)
		})
	}
	t.Run("HC17 no match: priority, then ID, no supporting target", func(t *testing.T) {
		given := []routing.Relevance{base("c", .9, 2), base("b", .4, 1), base("a", .35, 1)}
		route, err := routing.Decide(given, nil, .3)
		require.NoError(t, err)
		assert.Equal(t, []string{"a 0.35", "b 0.40", "c 0.90"}, scores(route.Relevances))
		assert.Equal(t, "a", route.Primary)
		assert.Empty(t, route.Supporting)
		assert.Equal(t, routing.Single, route.Mode)
		assert.True(t, route.LowConfidence)
		assert.Equal(t, "c", given[0].ID, "the caller's slice is left alone")
	})
	t.Run("H14 the usual cut", func(t *testing.T) { assert.Equal(t, 0.30, routing.DefaultCut) })
	t.Run("H10 the route as JSON", func(t *testing.T) {
		route, err := routing.Decide([]routing.Relevance{{ID: "a", Relevance: .1, Priority: 1, Reason: "r", BaseOnly: true}}, nil, .3)
		require.NoError(t, err)
		got, err := json.Marshal(route)
		require.NoError(t, err)
		assert.JSONEq(t, `{"primary":"a","supporting":[],"mode":"single","waves":[["a"]],
			"relevances":[{"id":"a","relevance":0.1,"priority":1,"reason":"r","baseOnly":true}],"lowConfidence":true}`, string(got))
	})
}

func TestDecideRefuses(t *testing.T) {
	a := rel("a", .8, 1)
	tests := []struct {
		name       string
		relevances []routing.Relevance
		deps       map[string][]string
		cut        float64
		want       string
	}{
		{"H13 no targets", nil, nil, .3, "routing: relevances are empty"},
		{"H10 relevance above 1", []routing.Relevance{a, rel("b", 1.01, 1)}, nil, .3, `routing: relevance of "b" is 1.01, want 0 to 1`},
		{"H10 relevance below 0", []routing.Relevance{rel("b", -.01, 1)}, nil, .3, `routing: relevance of "b" is -0.01, want 0 to 1`},
		{"H10 relevance not a number", []routing.Relevance{rel("b", math.NaN(), 1)}, nil, .3, `routing: relevance of "b" is NaN, want 0 to 1`},
		{"H10 two records for one ID", []routing.Relevance{a, a}, nil, .3, `routing: ID "a" is listed twice`},
		{"H10 a record without ID", []routing.Relevance{a, rel("", .5, 1)}, nil, .3, "routing: ID 1 is empty"},
		{"H14 cut above 1", []routing.Relevance{a}, nil, 30, "routing: cut is 30, want 0 to 1"},
		{"H14 cut not a number", []routing.Relevance{a}, nil, math.NaN(), "routing: cut is NaN, want 0 to 1"},
		{"H14 all faults in one", []routing.Relevance{rel("", 2, 1)}, nil, -1, "routing: cut is -1, want 0 to 1\nrelevance of \"\" is 2, want 0 to 1\nID 0 is empty"},
		{"HX5 a cycle of chosen ones", []routing.Relevance{a, rel("b", .7, 1)}, map[string][]string{"a": {"b"}, "b": {"a"}}, .3, "routing: dependency cycle: a, b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := routing.Decide(tt.relevances, tt.deps, tt.cut)
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestDecideLaws(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e"}
	record := func(t *rapid.T) []routing.Relevance {
		var rels []routing.Relevance
		for _, id := range ids {
			rels = append(rels, routing.Relevance{
				ID: id, Relevance: float64(rapid.IntRange(0, 10).Draw(t, id)) / 10,
				Priority: rapid.IntRange(1, 2).Draw(t, id+" priority"), BaseOnly: rapid.Bool().Draw(t, id+" base"),
			})
		}
		return rels
	}
	deps := map[string][]string{"a": {"b", "c"}, "b": {"e"}}
	t.Run("HC18 the order given does not matter", rapid.MakeCheck(func(t *rapid.T) {
		rels := record(t)
		want, err := routing.Decide(rels, deps, .3)
		require.NoError(t, err)
		got, err := routing.Decide(rapid.Permutation(rels).Draw(t, "shuffled"), deps, .3)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}))
	t.Run("H14 a higher cut chooses no more", rapid.MakeCheck(func(t *rapid.T) {
		rels := record(t)
		low, err := routing.Decide(rels, deps, .3)
		require.NoError(t, err)
		high, err := routing.Decide(rels, deps, .6)
		require.NoError(t, err)
		assert.Subset(t, append(low.Supporting, ""), append(high.Supporting, ""))
		assert.Equal(t, low.Primary, high.Primary)
	}))
	t.Run("HC15 the waves hold the chosen ones, each once", rapid.MakeCheck(func(t *rapid.T) {
		route, err := routing.Decide(record(t), deps, .3)
		require.NoError(t, err)
		assert.ElementsMatch(t, append(route.Supporting, route.Primary), slices.Concat(route.Waves...))
	}))
}
