package routing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask returns a number that no node has, also after an overflow.
func TestAskAfterOverflow(t *testing.T) {
	for _, after := range [][]Node{
		{{ID: "c", Needs: []string{"b"}}},                       // b was not looked up before
		{{ID: "c"}, {ID: "d"}, {ID: "e", Needs: []string{"a"}}}, // a was looked up before
	} {
		g := NewGraph(Preference{})
		require.NoError(t, g.Add(Node{ID: "a"}, Node{ID: "b", Needs: []string{"a"}}))
		g.asker = math.MaxUint32
		require.NoError(t, g.Add(after...))
		require.ErrorContains(t, g.Add(Node{ID: "f", Needs: []string{"a", "a"}}), `"f" needs "a" twice`)
	}
}

// Nodes that are added at once have exactly the memory that their needs and dependents
// take, and those that are refused none.
func TestLinksAreExact(t *testing.T) {
	g := NewGraph(Preference{})
	require.NoError(t, g.Add(Node{ID: "a"}, Node{ID: "b", Needs: []string{"a"}}, Node{ID: "c", Needs: []string{"a", "b"}}, Node{ID: "d", Needs: []string{"a", "b", "c"}}))
	assert.Len(t, g.links, 6+6)
	for _, refused := range [][]Node{
		{{ID: "e", Needs: []string{"a", "d", "unknown"}}},
		{{ID: "e", Needs: []string{"a", "f"}}, {ID: "f", Needs: []string{"e"}}},
	} {
		require.Error(t, g.Add(refused...))
		assert.Len(t, g.links, 6+6)
	}
	_, err := g.Split("b", Node{ID: "e", Needs: []string{"c"}})
	require.ErrorIs(t, err, ErrCycle)
	assert.Len(t, g.links, 6+6)
}
