package discussion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/discussion"
)

// A member's request says which message is wanted.
func TestRequestsNameTheirMessage(t *testing.T) {
	p := debate{cfg: discussion.Standard(nil)}.play(t)
	require.NoError(t, p.err)
	var tasks []string
	for _, c := range p.asked {
		tasks = append(tasks, c.req.Task)
	}
	assert.Equal(t, p.types(), tasks)
}
