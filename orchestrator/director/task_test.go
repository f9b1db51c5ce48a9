package director_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/director"
)

// Each request about a task says so beside its input, so that agents and scripts need not
// read it.
func TestRequestsNameTheirTask(t *testing.T) {
	p := script{cfg: bare(), in: director.Input{Tasks: []blackboard.Definition{define("a_build"), define("b_build")}}}.play(t)
	require.NoError(t, p.err)
	tasks := map[string]int{}
	for _, a := range p.asked {
		assert.Equal(t, a.task, a.req.Task, "%s of %s", a.op, a.agent)
		tasks[a.req.Task]++
	}
	assert.Positive(t, tasks["a_build"])
	assert.Positive(t, tasks["b_build"])
}
