package routing_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/routing"
)

func TestRoundSteps(t *testing.T) {
	const r, i, c, m, l = routing.Researcher, routing.Ideation, routing.Critic, routing.Implementer, routing.TeamLeader
	steps := func(turn int, roles ...string) []routing.RoundStep {
		var all []routing.RoundStep
		for _, role := range roles {
			all = append(all, routing.RoundStep{Role: role, Turn: turn})
		}
		return all
	}
	for _, tt := range []struct {
		name      string
		roles     []string
		ideas     bool
		exchanges int
		want      []routing.RoundStep
	}{
		{"D12 all in order", []string{m, c, i, r}, true, 0, steps(1, r, i, c, m, l)},
		{"D18 D19 no ideas", []string{r, i, c, m}, false, 1, steps(1, r, i, l)},
		{"D4 the leader alone", nil, true, 1, steps(1, l)},
		{"DC4 exchanges before the synthesis", []string{i, c}, true, 2, slices.Concat(steps(1, i, c), steps(2, i, c), steps(3, i, c), steps(1, l))},
		{"DC4 no exchange without a critic", []string{i, m}, true, 1, steps(1, i, m, l)},
		{"DC4 no exchange without ideation", []string{c}, true, 1, steps(1, c, l)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			has := func(role string) bool { return slices.Contains(tt.roles, role) }
			got := slices.Collect(routing.RoundSteps(has, func() bool { return tt.ideas }, tt.exchanges))
			assert.Equal(t, tt.want, got)
		})
	}
	t.Run("D18 whether there are ideas is asked when it is a step's turn", func(t *testing.T) {
		ideas := false
		var got []string
		for step := range routing.RoundSteps(func(string) bool { return true }, func() bool { return ideas }, 0) {
			got = append(got, step.Role)
			ideas = ideas || step.Role == i
		}
		assert.Equal(t, []string{r, i, c, m, l}, got)
	})
	t.Run("a caller may stop", func(t *testing.T) {
		for n := range 7 {
			var got []string
			for step := range routing.RoundSteps(func(string) bool { return true }, func() bool { return true }, 1) {
				if len(got) == n {
					break
				}
				got = append(got, step.Role)
			}
			assert.Len(t, got, n)
		}
	})
}

// proves runs a test once under each name: one for every requirement that it proves.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
