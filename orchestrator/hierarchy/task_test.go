package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A head's request says whose work it is about: that of a specialist, which it grades, or
// its own.
func TestRequestsNameWhoseWorkTheyAreAbout(t *testing.T) {
	cfg := one(specialist("a", 60))
	cfg.Rules.Grader = nil
	p := theater{cfg: cfg, in: request(), cast: cast{"a": {"a hat"}, "head": {marks(90), "a whole hat"}}}.play(t)
	require.NoError(t, p.err)
	require.Len(t, p.asked["a"], 1)
	assert.Equal(t, "a", p.asked["a"][0].Task)
	var ofHead []string
	for _, req := range p.asked["head"] {
		ofHead = append(ofHead, req.Task)
	}
	assert.ElementsMatch(t, []string{"a", "head"}, ofHead, "it grades a, and joins the results")
}
