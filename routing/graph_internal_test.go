package routing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever asks for needs has a number that no node knows, also when all were used.
func TestAskersAreTold(t *testing.T) {
	g := NewGraph(Preference{})
	require.NoError(t, g.Add(Node{ID: "a"}, Node{ID: "b", Needs: []string{"a"}})) // by the second one
	g.asker = math.MaxUint32
	require.NoError(t, g.Add(Node{ID: "c"}, Node{ID: "d", Needs: []string{"a"}}, Node{ID: "e", Needs: []string{"a", "d"}}))
	require.ErrorContains(t, g.Add(Node{ID: "f", Needs: []string{"a", "a"}}), `"f" needs "a" twice`)
}
