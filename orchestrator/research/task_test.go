package research_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A worker's request says for which step of the plan it is.
func TestRequestsNameTheirStep(t *testing.T) {
	p := project{brief: brief(), cast: map[string][]any{"planner": {small()}, "supervisor": {marks(0.9)}}}.play(t)
	require.NoError(t, p.err)
	var steps []string
	for name, reqs := range p.asked {
		for _, req := range reqs {
			if req.Task != "" {
				steps = append(steps, req.Task)
			}
			if name == "planner" {
				assert.Empty(t, req.Task, "there is no step yet")
			}
		}
	}
	slices.Sort(steps)
	var want []string
	for _, e := range p.events(t, agentStarted) {
		if e.Step != "" {
			want = append(want, e.Step)
		}
	}
	slices.Sort(want)
	assert.NotEmpty(t, want)
	assert.Equal(t, want, steps)
}
