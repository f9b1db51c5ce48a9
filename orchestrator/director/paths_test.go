package director_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

// at is a worker's answer with a path.
func at(path, text string) director.WorkerResult {
	return director.WorkerResult{Status: director.StatusComplete, ResultPath: path, Artifact: text, Summary: "s"}
}

// inputs are the texts that a worker gets, by the task that made them.
func inputs(a asked) map[string]string {
	texts := map[string]string{}
	for _, d := range workInput(a).Inputs {
		texts[d.Task] = d.Text
	}
	return texts
}

// shared is a case in which a, then b, write one path. b keeps what it sees of a's text.
func shared() script {
	s := one(roles{"work": func(a asked) any {
		switch a.task {
		case "b_build":
			text := "b"
			if seen := inputs(a)["a_build"]; seen != "" {
				text = seen + "+b"
			}
			return slow{time.Minute, at("notes.md", text)}
		case "a_build":
			return at("notes.md", "a")
		}
		return nil
	}})
	s.in.Tasks = []blackboard.Definition{define("a_build"), define("b_build"), define("c_test", "a_build", "b_build")}
	return s
}

func TestSharedPaths(t *testing.T) {
	t.Parallel()
	t.Run("BC70 the later one works again, and sees the first one's text", func(t *testing.T) {
		p := shared().with(roles{"conflict": always("rubbish")}).play(t)
		require.NoError(t, p.err)
		assert.True(t, p.warned("conflict"), "BC63 an answer that cannot be used changes nothing")
		var in director.ConflictInput
		decode(p.of("conflict")[0].req.Input, &in)
		assert.Equal(t, []string{"notes.md"}, in.Files)
		assert.Contains(t, in.Text, "another task has delivered this path meanwhile")
		assert.Equal(t, in.Files, in.Graph.Tasks[1].Failure.Files)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, "a+b", p.out.Files["notes.md"])
		b := p.task(t, "b_build")
		assert.Equal(t, 2, b.Attempt)
		assert.Equal(t, 1, b.ConflictCount)
		assert.Zero(t, b.RetryCount, "BC21")
		assert.Zero(t, p.task(t, "a_build").ConflictCount)
		failed := p.events(t, director.EventMergeFailed)
		require.Len(t, failed, 1)
		assert.Equal(t, director.Event{Event: failed[0].Event, Task: "b_build", Attempt: 1, On: "merge_conflict", Files: []string{"notes.md"}}, failed[0])
		assert.Equal(t, "s", workInput(p.last(t, "b_build")).Inputs[0].Summary)
		memory := p.last(t, "b_build").req.History
		require.Len(t, memory, 1)
		assert.Contains(t, memory[0].Text, "another task has delivered this path meanwhile")
		assert.Equal(t, map[string]string{"a_build": "a+b", "b_build": "a+b"}, inputs(p.last(t, "c_test")))
	})
	t.Run("BC70 one that needs the first has seen its text", func(t *testing.T) {
		s := shared()
		s.in.Tasks[1].DependsOn = []string{"a_build"}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "a+b", p.out.Files["notes.md"])
		assert.Empty(t, p.events(t, director.EventMergeFailed))
	})
	t.Run("BC70 a text that was replaced while it was worked on is a conflict, too", func(t *testing.T) {
		s := shared()
		s.in.Tasks = append(s.in.Tasks, define("d_build", "a_build"))
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.task != "d_build" {
				return work(a)
			}
			return slow{time.Hour / 6, at("notes.md", strings.Join([]string{inputs(a)["a_build"], inputs(a)["b_build"], "d"}, "/"))}
		}
		s.in.Tasks[1].DependsOn = []string{"a_build"}
		s.cfg.Bounds.TaskTime, s.cfg.Bounds.Watch = orchestrator.None, director.Watch{Every: orchestrator.None}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.task(t, "d_build").ConflictCount)
		assert.Equal(t, "a+b//d", p.out.Files["notes.md"], "under the path is what b has made of it")
	})
	t.Run("BC70 the same text is no conflict", func(t *testing.T) {
		s := shared()
		s.roles["work"] = always(at("notes.md", "all"))
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.events(t, director.EventMergeFailed))
	})
	t.Run("BC70 one that does not mind what it sees is merged: it knew", func(t *testing.T) {
		s := shared()
		s.roles["work"] = func(a asked) any { return at("notes.md", a.task) }
		s.cfg.Bounds.Parallel = 1
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "c_test", p.out.Files["notes.md"])
		assert.Equal(t, 1, p.task(t, "b_build").ConflictCount, "a was there before it began, and it was not told")
		assert.Zero(t, p.task(t, "c_test").ConflictCount)
	})
	t.Run("BC70 BC21 conflicts without end are for a person, whose accept replaces the text", func(t *testing.T) {
		s := shared()
		s.cfg.Policy.Retry.Conflicts = orchestrator.None
		s = s.replied(map[string]any{"ask/b_build/1": director.Answer{Action: director.ActionAccept}})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "b", p.out.Files["notes.md"])
	})
	t.Run("BC70 BC53 in another run of the board", func(t *testing.T) {
		s := shared()
		s.in.Tasks = s.in.Tasks[:2]
		s.roles["qa"] = func(a asked) any {
			if a.task == "b_build" && a.attempt == 1 {
				return slow{time.Hour, nil}
			}
			return nil
		}
		s.budget.Wall = 3 * time.Minute
		p := s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p.is(t, "a_build COMPLETE, b_build AWAITING_QA")
		again := p.from(shared())
		p = again.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "a+b", p.out.Files["notes.md"])
		assert.Equal(t, 1, p.task(t, "b_build").ConflictCount)

		s.in.Tasks[1].DependsOn = []string{"a_build"}
		p = s.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		p = p.from(shared()).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "a+b", p.out.Files["notes.md"])
		assert.Zero(t, p.task(t, "b_build").ConflictCount, "it had seen the text")
	})
	t.Run("BC70 BC53 a need that came while it was worked on has not shown it the text", func(t *testing.T) {
		s := shared()
		s.in.Tasks = s.in.Tasks[:2]
		work := s.roles["work"]
		s.roles["work"] = func(a asked) any {
			if a.task == "a_build" {
				return slow{time.Second, at("notes.md", "a")}
			}
			return work(a)
		}
		s.roles["qa"] = func(a asked) any {
			if a.task == "b_build" {
				return slow{time.Hour, nil}
			}
			return nil
		}
		s.budget.Wall = 3 * time.Minute
		p := s.play(t)
		p.is(t, "a_build COMPLETE, b_build AWAITING_QA")
		again := p.from(shared())
		again.in.Board.Tasks[1].DependsOn = []string{"a_build"}
		p = again.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.task(t, "b_build").ConflictCount)
		assert.Equal(t, "a+b", p.out.Files["notes.md"])
	})
	t.Run("BC70 one that paused has seen the texts of its subtasks", func(t *testing.T) {
		s := one(roles{"work": func(a asked) any {
			if a.task == "sub" {
				return at("notes.md", "sub")
			}
			if done := workInput(a).Subtasks; len(done) > 0 {
				return at("notes.md", done[0].Text+"+rest")
			}
			return director.WorkerResult{Status: director.StatusWaiting, Spawn: []director.Suggestion{{TaskPlan: plan("sub", "build")}}}
		}})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.events(t, director.EventMergeFailed))
		assert.Equal(t, "sub+rest", p.out.Files["notes.md"])
	})
}
