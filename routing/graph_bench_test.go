package routing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/convene-go/convene/routing"
)

// wide returns so many nodes with three needs each, among those before them.
func wide(n int) []routing.Node {
	dice := rand.New(rand.NewPCG(1, 2))
	nodes := make([]routing.Node, n)
	for i := range nodes {
		nodes[i] = routing.Node{
			ID: fmt.Sprint("task-", i), Profile: []string{"code", "test", "plan"}[i%3],
			Phase: phases[i%3], Priority: i % 5, Created: start.Add(time.Duration(i)),
		}
		for at := i - 1; at >= 0 && len(nodes[i].Needs) < 3; at -= 1 + dice.IntN(max(at/3, 1)) {
			nodes[i].Needs = append(nodes[i].Needs, nodes[at].ID)
		}
	}
	return nodes
}

// schedule adds nodes and carries them through to the end, and returns how long that
// took for each.
func schedule(b *testing.B, nodes []routing.Node) time.Duration {
	b.Helper()
	begun := time.Now()
	g := routing.NewGraph(routing.Preference{Phases: phases})
	if err := g.Add(nodes...); err != nil {
		b.Fatal(err)
	}
	limits := routing.Limits{Global: 8, Profiles: map[string]int{"test": 4}}
	done := 0
	var active []string
	for {
		for _, id := range g.Due() {
			if err := g.Move(id, routing.Ready, start); err != nil {
				b.Fatal(err)
			}
		}
		for id, ok := g.Next(limits); ok; id, ok = g.Next(limits) {
			if err := g.Move(id, routing.Active, start); err != nil {
				b.Fatal(err)
			}
			active = append(active, id)
		}
		if len(active) == 0 {
			break
		}
		if err := g.Move(active[0], routing.Done, start); err != nil {
			b.Fatal(err)
		}
		active = active[1:]
		done++
	}
	if done != len(nodes) {
		b.Fatalf("%d of %d nodes were done", done, len(nodes))
	}
	return time.Since(begun) / time.Duration(len(nodes))
}

// BenchmarkGraph reports the time for each node of 100,000 with three needs each (at
// most 3 µs), and how many times the time of 10,000 the 100,000 take (at most 12): the
// best of all rounds, so that other work of the machine does not count.
func BenchmarkGraph(b *testing.B) {
	few, many := wide(10_000), wide(100_000)
	ofFew, ofMany := time.Hour, time.Hour
	for b.Loop() {
		for range 10 { // as much chance of a quiet moment
			ofFew = min(ofFew, schedule(b, few))
		}
		ofMany = min(ofMany, schedule(b, many))
	}
	b.ReportMetric(float64(ofMany.Nanoseconds()), "ns/node")
	b.ReportMetric(10*float64(ofMany)/float64(ofFew), "times")
}

// BenchmarkGraphRefused is the same for a graph with a circle at its end.
func BenchmarkGraphRefused(b *testing.B) {
	nodes := wide(100_000)
	last := &nodes[len(nodes)-1]
	nodes[len(nodes)-2].Needs = append(nodes[len(nodes)-2].Needs, last.ID)
	last.Needs = []string{nodes[len(nodes)-2].ID}
	for b.Loop() {
		if err := routing.NewGraph(routing.Preference{}).Add(nodes...); err == nil {
			b.Fatal("want a circle")
		}
	}
}
