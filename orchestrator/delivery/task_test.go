package delivery_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each request to a role says which step or plan it is about.
func TestRequestsNameTheirStep(t *testing.T) {
	p := project{}.play(t)
	require.NoError(t, p.err)
	tasks := func(kind string) (all []string) {
		for _, req := range p.asked[kind] {
			all = append(all, req.Task)
		}
		return all
	}
	steps := p.out.State.Plans[0].Steps
	require.Len(t, steps, 2)
	both := []string{steps[0].ID, steps[1].ID}
	assert.Equal(t, both, tasks("code"))
	assert.Equal(t, both, tasks("check"))
	assert.Equal(t, both, tasks("verify step"))
	assert.Equal(t, []string{"goal"}, tasks("plan"))
	assert.Equal(t, []string{"goal"}, tasks("verify goal"))
	for kind, reqs := range p.asked {
		for _, req := range reqs {
			assert.NotEmpty(t, req.Task, kind)
		}
	}
}
