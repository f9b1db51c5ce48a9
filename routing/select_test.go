package routing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

func ids(candidates []routing.Candidate) []string {
	list := []string{}
	for _, c := range candidates {
		list = append(list, c.ID)
	}
	return list
}

func TestSelect(t *testing.T) {
	rated := func(id string, rate float64, skills ...string) routing.Candidate {
		return routing.Candidate{ID: id, SuccessRate: &rate, Skills: skills}
	}
	idle := rated("w", 99)
	idle.Inactive = true
	tests := []struct {
		name       string
		candidates []routing.Candidate
		skills     []string
		n          int
		want       []string
	}{
		{"HA28 best rates, ties by ID, inactive left out", []routing.Candidate{rated("x", 90), rated("z", 95), idle, rated("y", 95)}, nil, 2, []string{"y", "z"}},
		{"HA29 required skill", []routing.Candidate{rated("x", 50, "plot"), rated("y", 99, "theme")}, []string{"plot"}, 2, []string{"x"}},
		{"H35 no active candidate", []routing.Candidate{idle}, nil, 2, []string{}},
		{"H36 no required skills, no filter", []routing.Candidate{rated("x", 50), rated("y", 99, "theme")}, nil, 2, []string{"y", "x"}},
		{"H36 one of the skills is enough", []routing.Candidate{rated("x", 50, "a", "plot"), rated("y", 99, "b"), rated("z", 1)}, []string{"plot", "b"}, 3, []string{"y", "x"}},
		{"H36 skills as words in any case", []routing.Candidate{rated("x", 50, "Voice-Acting")}, []string{"voice acting"}, 1, []string{"x"}},
		{"H36 no part of a skill", []routing.Candidate{rated("x", 50, "voice acting"), rated("y", 1, "voice")}, []string{"voice"}, 2, []string{"y"}},
		{"H36 a skill without words matches no candidate", []routing.Candidate{rated("x", 50, "", "?"), rated("y", 1, "plot")}, []string{"!", "plot"}, 2, []string{"y"}},
		{"HC44 a skill that no candidate has does not filter", []routing.Candidate{rated("x", 50, "theme"), rated("y", 99)}, []string{"plot"}, 2, []string{"y", "x"}},
		{"HC44 a skill that only an inactive one has does not filter", []routing.Candidate{rated("x", 50, "theme"), {ID: "w", Skills: []string{"plot"}, Inactive: true}}, []string{"plot"}, 2, []string{"x"}},
		{"HC44 nor does it beside one that counts", []routing.Candidate{rated("x", 50, "theme"), rated("y", 99), {ID: "w", Skills: []string{"plot"}, Inactive: true}}, []string{"plot", "theme"}, 2, []string{"x"}},
		{"H37 highest rate first", []routing.Candidate{rated("a", 1), rated("b", 3), rated("c", 2)}, nil, 3, []string{"b", "c", "a"}},
		{"H38 at most n", []routing.Candidate{rated("a", 3), rated("b", 2), rated("c", 1)}, nil, 2, []string{"a", "b"}},
		{"H38 fewer than n", []routing.Candidate{rated("a", 3)}, nil, 9, []string{"a"}},
		{"H38 none wanted", []routing.Candidate{rated("a", 3)}, nil, 0, []string{}},
		{"H38 a negative number is none", []routing.Candidate{rated("a", 3)}, nil, -1, []string{}},
		{"HC18 an unknown rate counts as 0", []routing.Candidate{rated("c", 0), {ID: "b"}, rated("d", .1), rated("a", 0)}, nil, 4, []string{"d", "a", "b", "c"}},
		{"HC18 a rate that is not a number comes last", []routing.Candidate{rated("a", math.NaN()), rated("b", 0)}, nil, 2, []string{"b", "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, ids(routing.BySkill{}.Select(tt.candidates, routing.Need{Skills: tt.skills, Count: tt.n})))
		})
	}
	t.Run("HC18 the order given does not matter, and stays", rapid.MakeCheck(func(t *rapid.T) {
		given := []routing.Candidate{rated("a", 5), rated("b", 7), {ID: "c"}, rated("d", 7), idle}
		shuffled := rapid.Permutation(given).Draw(t, "shuffled")
		before := ids(shuffled)
		assert.Equal(t, []string{"b", "d", "a", "c"}, ids(routing.BySkill{}.Select(shuffled, routing.Need{Count: 4})))
		assert.Equal(t, before, ids(shuffled))
	}))
}
