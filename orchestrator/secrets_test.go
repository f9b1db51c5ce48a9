package orchestrator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// secretive starts runs with a secret value, and asks a secret question.
func secretive(t *testing.T, s runlog.Store, log *slog.Logger) (*orchestrator.Engine, orchestrator.Flow[none, string]) {
	t.Helper()
	f := flow("secretive", func(c *orchestrator.Context) (string, error) {
		pin, err := orchestrator.Await[int](c, orchestrator.Question{Key: "pin", Text: "PIN?", Data: agent.JSON("hush-2"), Secret: true})
		if err != nil || pin != 4711 {
			return "", fmt.Errorf("the PIN is wrong: %w", err)
		}
		return ask(c, "a", "x")
	})
	return local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Flows: []orchestrator.AnyFlow{f}, Store: s, Log: log}), f
}

var secretOptions = orchestrator.StartOptions{ID: "x", Values: map[string]string{"token": "hush-1"}, Secret: []string{"token"}}

// A copy of a run shows it, and does not continue without its secrets.
func TestCopyWithoutSecretsIsNotResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		e, f := secretive(t, s, nil)
		_, err := f.Start(t.Context(), e, none{}, secretOptions)
		require.NoError(t, err)
		synctest.Wait()
		for _, with := range []bool{false, true} {
			var out strings.Builder
			require.NoError(t, runlog.Export(t.Context(), s, "x", &out, runlog.ExportOptions{Secrets: with}))
			assert.Equal(t, with, strings.Contains(out.String(), "hush"))
			there := runlog.NewMemory()
			_, err = runlog.Import(t.Context(), there, strings.NewReader(out.String()))
			require.NoError(t, err)
			e, f := secretive(t, there, nil)
			r, err := e.Open(t.Context(), "x")
			require.NoError(t, err)
			info, err := r.Info(t.Context())
			require.NoError(t, err)
			require.Len(t, info.Questions, 1, "it is shown")
			_, err = e.Resume(t.Context())
			if !with {
				require.ErrorContains(t, err, "copy without its secrets")
				require.ErrorContains(t, err, "ExportOptions.Secrets")
				continue
			}
			require.NoError(t, err)
			require.NoError(t, r.Answer(t.Context(), "pin", 4711))
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "x", got)
		}
	})
}

// Lists of questions have the secret ones without their Data.
func TestListsShowNoSecrets(t *testing.T) {
	everywhere(t, "the data of a secret question is in no list", func(t *testing.T, s runlog.Store) {
		e, f := secretive(t, s, nil)
		r, err := f.Start(t.Context(), e, none{}, secretOptions)
		require.NoError(t, err)
		synctest.Wait()
		lists := [][]orchestrator.Question{infoOf(t, r).Questions, nil}
		for open, err := range e.Questions(t.Context(), orchestrator.QuestionQuery{}) {
			require.NoError(t, err)
			lists[1] = append(lists[1], open.Question)
		}
		for _, list := range lists {
			require.Len(t, list, 1)
			assert.Equal(t, orchestrator.Question{Key: "pin", Text: "PIN?", Secret: true, Hash: list[0].Hash}, list[0])
		}
	})
}

// A log of the engine has no secret, whatever becomes of the run.
func TestEngineLogsNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		e, f := secretive(t, newPlain(), log)
		r, err := f.Start(t.Context(), e, none{}, secretOptions)
		require.NoError(t, err)
		synctest.Wait()
		log.Info("asked", "questions", infoOf(t, r).Questions)
		for q, err := range e.Questions(t.Context(), orchestrator.QuestionQuery{}) {
			require.NoError(t, err)
			assert.Nil(t, q.Question.Data)
			log.Info("open", "question", q)
		}
		err = r.Answer(t.Context(), "pin", "hush-3")
		require.ErrorIs(t, err, orchestrator.ErrMalformed)
		log.Info("refused", "err", err)
		require.NoError(t, r.Answer(t.Context(), "pin", 4711))
		require.NoError(t, r.Wait(t.Context()))
		log.Info("ended", "info", infoOf(t, r))
		assert.Equal(t, 2, strings.Count(logged.String(), "PIN?"), "in Info, and over all runs")
		assert.NotContains(t, logged.String(), "hush")
		assert.NotContains(t, logged.String(), "4711")
	})
}
