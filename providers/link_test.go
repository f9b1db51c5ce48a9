package providers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Between the pass and the place in the line a model may have been found limited.
func TestLineOfAModelThatClosedMeanwhile(t *testing.T) {
	c := new(coolDown)
	p, _ := c.enter()
	require.NotNil(t, p)
	other, _ := c.enter()
	other.end(&Error{Kind: RateLimited})

	ctx, end := c.line(t.Context(), p)
	defer end()
	require.Error(t, ctx.Err())
	assert.Empty(t, c.waiting)

	l := &link{cool: c, gate: newGate(Limit{Parallel: 1})}
	assert.False(t, l.queue(t.Context(), p))
	require.NoError(t, l.gate.enter(t.Context()), "the place is free")
}

func TestLineIsLeft(t *testing.T) {
	c := new(coolDown)
	p, _ := c.enter()
	ctx, end := c.line(t.Context(), p)
	require.NoError(t, ctx.Err())
	require.Len(t, c.waiting, 1)
	end()
	assert.Empty(t, c.waiting)
}
