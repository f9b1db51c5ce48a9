package director

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestRetrier(t *testing.T) {
	const phoenix, askHuman, giveUp = "phoenix", "human", "abandon"
	route := func(n next) string {
		switch {
		case n.Retry:
			return phoenix
		case n.giveUp:
			return giveUp
		}
		return askHuman
	}
	failed := map[string]blackboard.QA{roleTask: {Kind: blackboard.FailedReview}, roleMerge: {Kind: blackboard.MergeConflict}}
	// after is what follows the n-th failure of a role, by the Retrier of teams without one.
	after := func(t *testing.T, retry Retry, role string, n int) string {
		r := &run{Config: Config{Policy: Policy{Retry: retry, GiveUp: retry.Outages < 0}}.withDefaults(), Run: &team.Run{}, tasks: map[string]*job{}}
		return route(r.after(nil, &blackboard.Task{Definition: blackboard.Definition{ID: "a"}}, failed[role], n, nil))
	}
	t.Run("BA23 B76 B77 BC18 four attempts, the fourth failure goes to a person", func(t *testing.T) {
		for failures, want := range map[int]string{1: phoenix, 2: phoenix, 3: phoenix, 4: askHuman} {
			assert.Equal(t, want, after(t, Retry{}, roleTask, failures), failures)
		}
	})
	t.Run("BA24 BC19 no retries", func(t *testing.T) {
		assert.Equal(t, askHuman, after(t, Retry{Attempts: 1}, roleTask, 1))
		assert.Equal(t, giveUp, after(t, Retry{Attempts: 1, Outages: orchestrator.None}, roleTask, 1))
		assert.Equal(t, phoenix, after(t, Retry{Attempts: 2, Outages: orchestrator.None}, roleTask, 1))
	})
	t.Run("BA27 BC21 the fourth conflict goes to a person", func(t *testing.T) {
		for conflicts, want := range map[int]string{1: phoenix, 2: phoenix, 3: phoenix, 4: askHuman} {
			assert.Equal(t, want, after(t, Retry{}, roleMerge, conflicts), conflicts)
		}
		assert.Equal(t, askHuman, after(t, Retry{Conflicts: orchestrator.None}, roleMerge, 1))
	})
	t.Run("BC18 a task is tried a hundred times, whatever a Retrier says", func(t *testing.T) {
		r := &run{Config: Config{Rules: Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: true}
		})}}.withDefaults(), Run: &team.Run{}, tasks: map[string]*job{}}
		task := &blackboard.Task{Definition: blackboard.Definition{ID: "a"}}
		assert.Equal(t, phoenix, route(r.after(nil, task, failed[roleTask], orchestrator.MaxTries-1, nil)))
		assert.Equal(t, askHuman, route(r.after(nil, task, failed[roleTask], orchestrator.MaxTries, nil)))
	})
	t.Run("BC1 what a Retrier is told", func(t *testing.T) {
		var of orchestrator.Working
		var tries []orchestrator.Try
		r := &run{Config: Config{Profiles: []Profile{{ID: "coder"}}, Rules: Rules{Retrier: orchestrator.RetrierFunc(func(w orchestrator.Working, all []orchestrator.Try) orchestrator.Again {
			of, tries = w, all
			return orchestrator.Again{}
		})}}.withDefaults(), Run: &team.Run{}, tasks: map[string]*job{}}
		task, down := blackboard.Task{Definition: blackboard.Definition{ID: "a", Component: "db", Profile: "coder"}}, errors.New("down")
		r.after(nil, &task, blackboard.QA{Kind: blackboard.Crashed, Outcome: "FAIL", Feedback: "broke off"}, 1, down)
		task.Agent = "other" // the Retrier chose it
		r.after(nil, &task, blackboard.QA{Kind: blackboard.FailedReview, Feedback: "no dates"}, 2, nil)
		assert.Equal(t, orchestrator.Working{Role: "task", ID: "a", Group: "coder", Max: 4}, of)
		assert.Equal(t, []orchestrator.Try{{Agent: "coder", Err: down, Decision: "crash", Feedback: "broke off"}, {Agent: "other", Decision: "qa", Feedback: "no dates"}}, tries)
	})
	t.Run("BC18 tries are kept by role, and those of an earlier run are empty", func(t *testing.T) {
		j := new(job)
		assert.Len(t, j.note(roleTask, 3, orchestrator.Try{Feedback: "c"}), 3)
		assert.Equal(t, []orchestrator.Try{{Feedback: "m"}}, j.note(roleMerge, 1, orchestrator.Try{Feedback: "m"}))
		assert.Equal(t, []orchestrator.Try{{}, {}, {Feedback: "c"}, {Feedback: "d"}}, j.note(roleTask, 4, orchestrator.Try{Feedback: "d"}))
		assert.Equal(t, []orchestrator.Try{{Feedback: "e"}}, j.note(roleTask, 1, orchestrator.Try{Feedback: "e"}), "a person has begun to count anew")
	})
}

func TestStagnation(t *testing.T) {
	// after says at which events a run stagnates: F(a) fails task a, P passes, R plans anew.
	after := func(events string) string {
		var s stagnation
		var out []string
		for event := range strings.FieldsSeq(events) {
			switch event {
			case "P":
				s.passed()
			case "R":
				s.replanned()
			default:
				s.failed(event)
			}
			if (Patience{}).Decide(Setbacks{Row: s.row, Worst: s.worst, Limit: 3}) {
				out = append(out, "STAGNATING")
			} else {
				out = append(out, "-")
			}
		}
		return strings.Join(out, " ")
	}
	t.Run("BA99 B104 BC9 three failures of one task", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING", after("a a a"))
		assert.Equal(t, "- - - - STAGNATING", after("a a P P a"), "a pass does not help the task")
	})
	t.Run("BA99 BC9 planned anew, both begin again", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING - - - STAGNATING", after("a a a R a b a"))
	})
	t.Run("BA100 a pass ends the row", func(t *testing.T) {
		assert.Equal(t, "- - - -", after("a b P a"))
	})
	t.Run("BA100 BC9 the task that failed most counts, whichever failed last", func(t *testing.T) {
		assert.Equal(t, "- - - - STAGNATING STAGNATING", after("a P a P a b"))
	})
	t.Run("BA101 three in a row of different tasks", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING", after("a b c"))
	})
}
