package blackboard_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/routing"
)

// work completes so many tasks with up to three dependencies each, with
// ten changes a task, and returns how long a change took.
func work(b *testing.B, n int) time.Duration {
	b.Helper()
	definitions := make([]blackboard.Definition, n)
	for i := range definitions {
		definitions[i] = task(fmt.Sprint("t", i))
		for _, back := range []int{1, 7, 100} {
			if i%3 > 0 && i >= back {
				definitions[i].DependsOn = append(definitions[i].DependsOn, fmt.Sprint("t", i-back))
			}
		}
	}
	begun := time.Now()
	r, changes := newRun(b), 0
	do := func(by blackboard.Role, id string, a blackboard.Action) {
		require.NoError(b, r.Apply(blackboard.Change{By: by, At: start, Task: id, Do: a}))
		changes++
	}
	do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: definitions})
	evaluate := func() {
		for _, c := range r.Evaluate(start) {
			require.NoError(b, r.Apply(c))
			changes++
		}
	}
	evaluate()
	for {
		id, ok := r.Next(routing.Limits{Global: 3})
		if !ok {
			break
		}
		do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventDispatch, Branch: id})
		do(blackboard.RoleWorker, id, blackboard.Remember{Messages: user("x")})
		do(blackboard.RoleWorker, id, blackboard.Spend{})
		do(blackboard.RoleGuardian, id, blackboard.SetWatch{})
		do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: id}})
		do(blackboard.RoleWorker, id, blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen(id)})
		do(blackboard.RoleStrategist, id, fail())
		do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventPhoenix, Messages: system("again")})
		do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventDispatch, Branch: id})
		do(blackboard.RoleWorker, id, blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen(id)})
		do(blackboard.RoleStrategist, id, pass())
		evaluate()
	}
	require.Len(b, r.In(blackboard.Complete), n)
	return time.Since(begun) / time.Duration(changes)
}

// BenchmarkBoard reports the time for each of the more than 100,000 changes of a board
// of 10,000 tasks, and how many times the time of 1,000 tasks they take (at most 12).
// It takes the best of all rounds, so that other work of the machine does not count.
func BenchmarkBoard(b *testing.B) {
	few, many := time.Hour, time.Hour
	for b.Loop() {
		for range 10 {
			few = min(few, work(b, 1000))
		}
		many = min(many, work(b, 10_000))
	}
	b.ReportMetric(float64(many.Nanoseconds()), "ns/change")
	b.ReportMetric(10*float64(many)/float64(few), "times")
}

// BenchmarkSnapshot takes and restores a snapshot of a board of 10,000 tasks.
func BenchmarkSnapshot(b *testing.B) {
	definitions := make([]blackboard.Definition, 10_000)
	for i := range definitions {
		definitions[i] = task(fmt.Sprint("t", i))
	}
	r := newRun(b, definitions...)
	for b.Loop() {
		data, err := r.Snapshot()
		require.NoError(b, err)
		require.True(b, json.Valid(data))
		_, err = blackboard.Restore(data, preference)
		require.NoError(b, err)
	}
}
