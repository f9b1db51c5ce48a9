package cli_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
)

// quiz is a flow that asks a person for two numbers; the second question ends by itself if
// the input says so.
var quiz = orchestrator.Flow[bool, orchestrator.Outcome]{
	Name: "quiz",
	Do: func(c *orchestrator.Context, hurried bool) (orchestrator.Outcome, error) {
		out := orchestrator.Outcome{Status: orchestrator.Completed}
		for _, key := range []string{"first", "second"} {
			q := orchestrator.Question{Key: key, Text: "The " + key + "?"}
			if hurried && key == "second" {
				q.Timeout = 1
			}
			n, err := orchestrator.Await[int](c, q)
			if err != nil && !errors.Is(err, orchestrator.ErrTimeout) {
				return out, err
			}
			c.Emit("got", n)
		}
		return out, nil
	},
}

// asker is a program that performs quiz with an -answer.
func asker(given string, hurried bool) cli.Program {
	return func(ctx context.Context, args []string, c cli.Console) error {
		return cli.Perform(ctx, c, cli.Job[bool, orchestrator.Outcome]{
			Settings: &cli.Settings{Program: "quiz", DB: args[0]}, Request: "quiz", Family: "quiz-1", Flow: quiz, Input: hurried,
			Lines: func(rec runlog.Record) []string {
				if rec.Kind != "got" {
					return nil
				}
				return []string{"got " + string(rec.Data)}
			},
			Answer: given,
			Reply: func(q orchestrator.Question, said string) (any, error) {
				if n := map[string]int{"one": 1, "two": 2}[said]; n > 0 {
					return n, nil
				}
				return nil, errors.New("want one or two")
			},
			Outcome: func(out orchestrator.Outcome) orchestrator.Outcome { return out },
			Report:  func(context.Context, *orchestrator.Run, orchestrator.Outcome) error { return nil },
			Lack:    func(_ orchestrator.Outcome, err error) error { return err },
		})
	}
}

func TestQuestions(t *testing.T) {
	start := func(given, typed string) clitest.Ran {
		return clitest.Program{Name: "quiz", Run: asker(given, false), In: typed}.Start(t.Context(), filepath.Join(t.TempDir(), "q.db"))
	}
	t.Run("the first is given, the second typed", func(t *testing.T) {
		got := start("one", "three\n\n two \n")
		assert.Equal(t, 0, got.Code, got.Err)
		assert.Contains(t, got.Out, "The first?")
		assert.Contains(t, got.Out, "answered: one\n")
		assert.Contains(t, got.Out, "want one or two\n", "what does not fit is asked for again")
		assert.Contains(t, got.Out, "answered: two\n")
		assert.Contains(t, got.Out, "  got 1\n")
	})
	t.Run("what is given does not fit", func(t *testing.T) {
		got := start("three", "one\ntwo\n")
		assert.Equal(t, cli.Failed, got.Code)
		assert.Regexp(t, `^quiz: a person is asked: The first\?: -answer "three": want one or two: suspended run quiz-1 with 0 recorded answers in .*\n$`, got.Err)
	})
	t.Run("no answer for the second", func(t *testing.T) {
		got := start("one", "")
		assert.Equal(t, cli.Failed, got.Code)
		assert.Regexp(t, `^quiz: a person is asked: The second\?: no answer is given: use -answer, or a terminal: suspended run`, got.Err)
	})
}

// An open prompt does not delay a run that continues without an answer.
func TestQuestionThatEndsByItself(t *testing.T) {
	silent, in := io.Pipe()
	defer func() { assert.NoError(t, in.Close()) }()
	out, w := io.Pipe()
	var said []byte
	read := make(chan struct{})
	context.AfterFunc(t.Context(), func() { _ = w.Close() })
	go func() {
		defer close(read)
		said, _ = io.ReadAll(out)
	}()
	code := cli.Run(t.Context(), "quiz", asker("one", true), []string{filepath.Join(t.TempDir(), "q.db")}, cli.Console{In: silent, Out: w, Err: w})
	assert.NoError(t, w.Close())
	<-read
	assert.Equal(t, 0, code, "%s", said)
	assert.Contains(t, string(said), "got 0")
}
