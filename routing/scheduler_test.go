package routing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/routing"
)

// A Graph with its heap is the fast path of Preference: both give the same order, whatever
// order the nodes are given in, and Next is the first of it whose profile has room.
func TestOrderIsQueue(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := routing.Preference{Phases: []string{"a", "b", "a"}, AgeEvery: time.Duration(r.IntN(3)) * time.Minute}
		g := routing.NewGraph(p)
		var nodes []routing.Node
		for i := range r.IntN(30) {
			nodes = append(nodes, routing.Node{
				ID: fmt.Sprint("n", i), Number: i, State: routing.Ready, Profile: []string{"x", "y"}[r.IntN(2)],
				Phase: []string{"a", "b", "c"}[r.IntN(3)], Priority: r.IntN(3),
				Created: t0.Add(time.Duration(r.IntN(3)) * time.Second), Since: t0.Add(time.Duration(r.IntN(600)) * time.Second),
			})
		}
		require.NoError(t, g.Add(nodes...))
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		given := slices.Clone(nodes)
		ordered := order(p, nodes, t0.Add(time.Hour))
		require.Equal(t, g.Queue(), ordered, "seed %d", seed)
		require.Equal(t, given, nodes, "the nodes have changed")

		next, ok := g.Next(routing.Limits{Global: 1, Profiles: map[string]int{"x": 0}})
		first := slices.IndexFunc(ordered, func(id string) bool {
			return slices.ContainsFunc(nodes, func(n routing.Node) bool { return n.ID == id && n.Profile == "y" })
		})
		require.Equal(t, first >= 0, ok)
		if ok {
			require.Equal(t, ordered[first], next)
		}
	}
}

// order returns the IDs of nodes in the order of a scheduler.
func order(s routing.Scheduler, nodes []routing.Node, now time.Time) []string {
	ids := []string{}
	for _, n := range s.Order(nodes, routing.Moment{Now: now}) {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestOrderAges(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 30, 0, time.UTC) }
	nodes := []routing.Node{{ID: "new", Priority: 5, Since: at(9)}, {ID: "old", Priority: 1, Since: at(0), Number: 1}}
	for want, p := range map[string]routing.Preference{
		"[new old]": {},
		"[old new]": {AgeEvery: time.Minute}, // 1 + 9 minutes against 5
	} {
		require.Equal(t, want, fmt.Sprint(order(p, nodes, at(9))))
	}
	require.Equal(t, []string{"new", "old"}, order(routing.Preference{AgeEvery: 3 * time.Minute}, nodes, at(9)), "1 + 3 against 5")
}
