package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// readings counts how often it was read.
type readings struct{ N int }

func (r *readings) UnmarshalJSON([]byte) error {
	r.N++
	return nil
}

func (r readings) MarshalJSON() ([]byte, error) { return json.Marshal(r.N) }

// An answer is read once: a model's with its large text, and a person's.
func TestAnswersAreReadOnce(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		type report struct {
			Parts []readings `json:"parts"`
		}
		parts := make([]int, 1000)
		a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "Here:\n```json\n" + string(agent.JSON(map[string]any{"parts": parts})) + "\n```"}, nil
		})
		f := flow("reads", func(c *orchestrator.Context) ([]int, error) {
			r, _, err := orchestrator.Ask[report](c, "a", agent.Request{})
			if err != nil {
				return nil, err
			}
			most := 0
			for _, p := range r.Parts {
				most = max(most, p.N)
			}
			one, err := orchestrator.Await[readings](c, orchestrator.Question{Key: "k"})
			return []int{len(r.Parts), most, one.N}, err
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}})
		r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "k", "anything"))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, []int{1000, 1, 1}, got)
	})
}

// asking counts which questions are read, by their keys; "" is all of a run.
type asking struct {
	*runlog.Memory

	mu   sync.Mutex
	keys []string
}

func (s *asking) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	s.mu.Lock()
	s.keys = append(s.keys, key)
	s.mu.Unlock()
	return s.Memory.Asks(ctx, run, key)
}

// read returns the keys that were asked for since the last call.
func (s *asking) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.keys
	s.keys = nil
	return keys
}

// many asks twenty questions at once, with the keys q0 to q19.
var many = flow("many", func(c *orchestrator.Context) ([]int, error) {
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprintf("q%d", i)
	}
	return orchestrator.Values(orchestrator.Map(c, keys, 0, func(c *orchestrator.Context, key string) (int, error) {
		return orchestrator.Await[int](c, orchestrator.Question{Key: key})
	}))
})

// An answer from another process reads the question that it is for, and no other.
func TestAnswerLooksAtOneQuestion(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		store := &asking{Memory: runlog.NewMemory()}
		worker := local(t, orchestrator.Config{Store: store, Flows: []orchestrator.AnyFlow{many}})
		r, err := many.Start(t.Context(), worker, none{}, orchestrator.StartOptions{ID: "r"})
		require.NoError(t, err)
		synctest.Wait()
		desk := local(t, orchestrator.Config{Store: store, Fleet: orchestrator.Fleet{Observe: true}})
		seen, err := desk.Open(t.Context(), "r")
		require.NoError(t, err)
		store.read()
		require.ErrorIs(t, seen.Answer(t.Context(), "q7", "no number"), orchestrator.ErrMalformed)
		assert.Equal(t, []string{"q7"}, store.read())
		require.NoError(t, seen.Answer(t.Context(), "q7", 7))
		assert.NotContains(t, store.read(), "", "all questions of the run")
		require.NoError(t, r.Cancel(t.Context(), ""))
		require.NoError(t, r.Wait(t.Context()))
	})
}

// without is an engine.Driver that can only show a run with all its questions.
type without struct{ engine.Driver }

// What one question says is the same, however a driver finds it.
func TestAnswerOfADriverWithoutAsker(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		e := local(t, orchestrator.Config{})
		hidden := orchestrator.NewEngine(without{orchestrator.DriverOf(e)})
		r, err := many.Start(t.Context(), hidden, none{}, orchestrator.StartOptions{})
		require.NoError(t, err)
		synctest.Wait()
		for _, run := range []*orchestrator.Run{r, orchestrator.RunOf(e, r.ID()), orchestrator.RunOf(hidden, "no such run"), orchestrator.RunOf(e, "no such run")} {
			err := run.Answer(t.Context(), "q1", "no number")
			if run.ID() != r.ID() {
				require.ErrorIs(t, err, orchestrator.ErrNoRun)
				continue
			}
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
			require.EqualError(t, err, `answer to the question "q1": malformed: the answer: want {"type":"integer"}, got "no number"`)
		}
		require.NoError(t, r.Answer(t.Context(), "q1", 1))
		require.NoError(t, r.AnswerWith(t.Context(), "later", 1, early), "an answer may come before its question")
		require.NoError(t, r.Cancel(t.Context(), ""))
		require.NoError(t, r.Wait(t.Context()))
		require.ErrorIs(t, r.Answer(t.Context(), "q2", "no number"), orchestrator.ErrNoQuestion)
	})
}
