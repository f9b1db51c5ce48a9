package routing_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

func TestByWords(t *testing.T) {
	about := func(id, text string) routing.Candidate { return routing.Candidate{ID: id, About: text} }
	rated := about("r", "")
	rated.SuccessRate = new(50.0)
	idle := about("idle", "water colours and oil")
	idle.Inactive = true
	tests := []struct {
		name, brief string
		candidates  []routing.Candidate
		count       int
		want        []string
	}{
		{"most shared words first", "paint water with oil colours", []routing.Candidate{about("a", "oil"), about("b", "Colours: water"), about("c", "paint, water, colours")}, 3, []string{"c", "b", "a"}},
		{"words of fewer than four letters do not count", "oil and ink", []routing.Candidate{about("b", "oil and ink"), about("a", "")}, 1, []string{"a"}},
		{"a repeated word counts once", "water", []routing.Candidate{about("b", "water water water"), about("a", "water")}, 2, []string{"a", "b"}},
		{"case and apostrophes do not matter", "Aladdin's CAMERA", []routing.Candidate{about("a", "x"), about("b", "aladdin, camera")}, 1, []string{"b"}},
		{"letters of any script", "пейзаж", []routing.Candidate{about("a", "портрет"), about("b", "Пейзаж")}, 1, []string{"b"}},
		{"equals by success rate, then by ID", "rain", []routing.Candidate{about("b", ""), rated, about("a", "")}, 3, []string{"r", "a", "b"}},
		{"inactive ones are left out", "water", []routing.Candidate{idle, about("a", "")}, 2, []string{"a"}},
		{"none wanted", "water", []routing.Candidate{about("a", "water")}, 0, []string{}},
		{"a negative number is none", "water", []routing.Candidate{about("a", "water")}, -1, []string{}},
		{"no candidates", "water", nil, 3, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := slices.Clone(tt.candidates)
			var selector routing.Selector = routing.ByWords{}
			assert.Equal(t, tt.want, ids(selector.Select(tt.candidates, routing.Need{Brief: tt.brief, Count: tt.count})))
			assert.Equal(t, given, tt.candidates, "the candidates have changed")
		})
	}
}

// A Selector by skills changes nothing, and selects from the active candidates.
func TestBySkillLaws(t *testing.T) {
	skill := rapid.StringMatching(`[a-d]`)
	rapid.Check(t, func(t *rapid.T) {
		var candidates []routing.Candidate
		for _, id := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]`), rapid.ID[string]).Draw(t, "ids") {
			candidates = append(candidates, routing.Candidate{
				ID: id, Skills: rapid.SliceOfN(skill, 0, 3).Draw(t, "skills"), Inactive: rapid.Bool().Draw(t, "inactive"),
				SuccessRate: rapid.SampledFrom([]*float64{nil, new(0.0), new(50.0)}).Draw(t, "rate"),
			})
		}
		need := routing.Need{Skills: rapid.SliceOfN(skill, 0, 3).Draw(t, "wanted"), Count: rapid.IntRange(-1, 5).Draw(t, "count")}
		given := slices.Clone(candidates)
		var selector routing.Selector = routing.BySkill{}
		selected := selector.Select(candidates, need)
		require.Equal(t, given, candidates)
		require.LessOrEqual(t, len(selected), max(need.Count, 0))
		for i, c := range selected {
			require.False(t, c.Inactive)
			require.Contains(t, candidates, c)
			require.NotContains(t, selected[:i], c)
		}
	})
}
