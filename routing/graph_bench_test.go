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

// schedule adds nodes and completes them, and returns the time per node.
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

// lookups does what no scheduler with these methods can do without: it enters each ID
// into a map, looks up the needs of each node and marks them, looks up each node three
// times as it is moved, and counts for each of its neighbours. It returns how long that
// took for each node.
func lookups(nodes []routing.Node) time.Duration {
	begun := time.Now()
	index := make(map[string]int32, len(nodes))
	for i := range nodes {
		index[nodes[i].ID] = int32(i)
	}
	dependents := make([]int32, 0, 3*len(nodes))
	unmet := make([]int32, len(nodes))
	for i := range nodes {
		for _, need := range nodes[i].Needs {
			n := index[need]
			unmet[n]++
			dependents = append(dependents, n)
		}
	}
	for i := range nodes {
		for range 3 {
			unmet[index[nodes[i].ID]]++
		}
	}
	for _, d := range dependents {
		unmet[d]--
	}
	return time.Since(begun) / time.Duration(len(nodes))
}

// BenchmarkGraph reports the time for each node of 100,000 with three needs each (at
// most 3 µs), how many times the time of 10,000 the 100,000 take, and the same of the
// limit: of looking up IDs in a map, and no more. It takes the best of all rounds, so
// that other work of the machine does not count.
func BenchmarkGraph(b *testing.B) {
	few, many := wide(10_000), wide(100_000)
	ofFew, ofMany, limitOfFew, limitOfMany := time.Hour, time.Hour, time.Hour, time.Hour
	for b.Loop() {
		for range 10 { // as much chance of a quiet moment
			ofFew, limitOfFew = min(ofFew, schedule(b, few)), min(limitOfFew, lookups(few))
		}
		ofMany, limitOfMany = min(ofMany, schedule(b, many)), min(limitOfMany, lookups(many))
	}
	b.ReportMetric(float64(ofMany.Nanoseconds()), "ns/node")
	b.ReportMetric(10*float64(ofMany)/float64(ofFew), "times")
	b.ReportMetric(float64(limitOfMany.Nanoseconds()), "limit-ns/node")
	b.ReportMetric(10*float64(limitOfMany)/float64(limitOfFew), "limit-times")
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
