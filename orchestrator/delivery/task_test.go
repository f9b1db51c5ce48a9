package delivery_test

import (
	"strings"
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

	// All are told of the host's texts, and who makes something of the time.
	all := endings()["SC65 partial, revised and watched"]
	all.in.Context = map[string]string{"style": "plain"}
	for kind, reqs := range all.play(t).asked {
		said := string(reqs[0].Input)
		assert.Contains(t, said, `"context":{"style":"plain"}`, kind)
		verifies := strings.HasPrefix(kind, "verify") || kind == "check" || kind == "integrate"
		assert.Equal(t, !verifies, strings.Contains(said, `"timeLeft"`), kind)
	}
}
