package orchestrator_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// asks asks for a number of three minutes, then calls a.
var asks = flow("asks", func(c *orchestrator.Context) (int, error) {
	n, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n", Timeout: 3 * time.Minute})
	if err != nil && !strings.Contains(err.Error(), "no answer") {
		return n, err
	}
	_, err = ask(c, "a", "")
	return n, err
})

// countOf counts the records of a kind, of any run.
func countOf(t *testing.T, r *orchestrator.Run, kind string) int {
	t.Helper()
	n := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for rec, err := range r.Events(ctx, 0) {
		require.NoError(t, err)
		if rec.Kind == kind {
			n++
		}
	}
	return n
}

func letters(t *testing.T, s runlog.Inbox) int {
	t.Helper()
	n := 0
	for _, err := range s.Letters(t.Context(), "") {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestAnswersOfQuestions(t *testing.T) {
	everywhere(t, "N6 equal JSON is nil, another value ErrAnswered, also after the end", func(t *testing.T, s runlog.Store) {
		t.Helper()
		v := newValve()
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), asks, "x")
		synctest.Wait()
		require.ErrorIs(t, r.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
		require.NoError(t, r.Answer(t.Context(), "n", 7))
		for range 2 {
			require.NoError(t, r.Answer(t.Context(), "n", 7))
			require.NoError(t, r.Answer(t.Context(), "n", json.RawMessage(" 7 ")))
			require.ErrorIs(t, r.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			if v.open != nil {
				close(v.open)
				require.NoError(t, r.Wait(t.Context()))
				v.open = nil
			}
		}
		n, err := asks.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 7, n)
		assert.Equal(t, 1, countOf(t, r, runlog.Answered))
	})
	everywhere(t, "N6 expired is ErrNoQuestion that says so, also after the end", func(t *testing.T, s runlog.Store) {
		t.Helper()
		v := newValve()
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), asks, "x")
		pause(4 * time.Minute)
		synctest.Wait()
		for range 2 {
			err := r.Answer(t.Context(), "n", 7)
			require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
			require.ErrorContains(t, err, "has expired")
			if v.open != nil {
				close(v.open)
				require.NoError(t, r.Wait(t.Context()))
				v.open = nil
			}
		}
		assert.Equal(t, 0, countOf(t, r, runlog.Answered))
	})
	everywhere(t, "N6 withdrawn is ErrNoQuestion that says so, also after the end", func(t *testing.T, s runlog.Store) {
		t.Helper()
		v := newValve()
		f := flow("withdraws", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.NewQueue[int](c)
			q.Go("n", func(c *orchestrator.Context) (int, error) {
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			})
			if err := c.Sleep(time.Minute); err != nil {
				return "", err
			}
			q.CancelAll()
			return ask(c, "a", "")
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), f, "x")
		pause(2 * time.Minute)
		synctest.Wait()
		for range 2 {
			err := r.Answer(t.Context(), "n", 7)
			require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
			require.ErrorContains(t, err, "was withdrawn")
			if v.open != nil {
				close(v.open)
				require.NoError(t, r.Wait(t.Context()))
				v.open = nil
			}
		}
	})
	everywhere(t, "N6 a run that ended takes none and keeps no letter", func(t *testing.T, s runlog.Store) {
		t.Helper()
		v := newValve()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s})
		r := begin(t, e, pair, "x")
		require.NoError(t, r.AnswerWith(t.Context(), "early", 1, early))
		close(v.open)
		require.NoError(t, r.Wait(t.Context()))
		err := r.Answer(t.Context(), "n", 7)
		require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
		require.ErrorContains(t, err, "has ended")
		require.NoError(t, r.Cancel(t.Context(), ""))
		if s != nil {
			assert.Zero(t, letters(t, s.(runlog.Inbox)))
		}
	})
	everywhere(t, "N6 an early answer of the wrong type is dropped on record, and Info says why", func(t *testing.T, s runlog.Store) {
		t.Helper()
		late := flow("late", func(c *orchestrator.Context) (int, error) {
			if err := c.Sleep(time.Hour); err != nil {
				return 0, err
			}
			return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
		})
		e := local(t, orchestrator.Config{Store: s})
		r := begin(t, e, late, "x")
		require.NoError(t, r.AnswerWith(t.Context(), "n", "seven", early))
		synctest.Wait()
		require.ErrorIs(t, r.AnswerWith(t.Context(), "n", 7, early), orchestrator.ErrAnswered, "until it turns out to be wrong")
		pause(2 * time.Hour)
		synctest.Wait()
		qs := infoOf(t, r).Questions
		require.Len(t, qs, 1)
		assert.Equal(t, "n", qs[0].Key)
		assert.NotEmpty(t, qs[0].Rejected)
		require.ErrorIs(t, r.Answer(t.Context(), "n", "eight"), orchestrator.ErrMalformed)
		require.NoError(t, r.Answer(t.Context(), "n", 7))
		n, err := late.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 7, n)
		if s == nil {
			return
		}
		assert.Equal(t, []string{
			runlog.Started, runlog.Answered, runlog.Slept, runlog.Asked, runlog.Asked, runlog.Answered, runlog.Ended,
		}, kinds(logOf(t, s, "x")))
		log := logOf(t, s, "x")
		for cut := 1; cut < len(log); cut++ { // a resumed run sees the same
			c := orchestrator.Config{Store: stored(t, log[:cut]...)}
			again := begin(t, local(t, c), late, "x")
			pause(2 * time.Hour)
			synctest.Wait()
			if qs := infoOf(t, again).Questions; len(qs) > 0 {
				assert.Equal(t, cut > 1, qs[0].Rejected != "", "%d records", cut)
				require.NoError(t, again.Answer(t.Context(), "n", 7))
			}
			n, err := late.Result(t.Context(), again)
			require.NoError(t, err)
			assert.Equal(t, 7, n)
		}
	})
	everywhere(t, "N6 a second question of a key after an early answer gets it too", func(t *testing.T, s runlog.Store) {
		t.Helper()
		twice := flow("twice", func(c *orchestrator.Context) (int, error) {
			a, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			if err != nil {
				return 0, err
			}
			b, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			return a + b, err
		})
		r := begin(t, local(t, orchestrator.Config{Store: s}), twice, "x")
		require.NoError(t, r.AnswerWith(t.Context(), "n", 4, early))
		n, err := twice.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 8, n)
	})
}

// An answer whose sender does not wait for it may have been kept all the same.
func TestAnswerCutByItsContext(t *testing.T) {
	for _, tt := range []struct {
		name string
		hide func(s runlog.Store) runlog.Store
	}{
		{"on a store with an inbox", func(s runlog.Store) runlog.Store { return s }},
		{"on a store without one", func(s runlog.Store) runlog.Store { return struct{ runlog.Store }{s} }},
	} {
		t.Run("N6 sent again with another value it is not taken twice, "+tt.name, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				mem := runlog.NewMemory()
				d := doubles.New(mem)
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: tt.hide(d.Store())}), asks, "x")
				synctest.Wait()
				d.Only("Append")
				d.Slow(5 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				first := r.Answer(ctx, "n", 7)
				second := r.Answer(t.Context(), "n", 8)
				d.Heal()
				got, err := asks.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, 7, got, "the first one was there first: %v, %v", first, second)
				require.ErrorIs(t, second, orchestrator.ErrAnswered)
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				assert.Equal(t, 1, countOf(t, r, runlog.Answered))
			})
		})
		t.Run("N6 while the store hangs it is kept once, "+tt.name, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				mem := runlog.NewMemory()
				d := doubles.New(mem)
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: tt.hide(d.Store())}), asks, "x")
				synctest.Wait()
				d.Only("Append")
				d.Hang()
				for range 5 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_ = r.Answer(ctx, "n", 7)
					cancel()
				}
				d.Heal()
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				got, err := asks.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, 7, got)
				assert.Equal(t, 1, countOf(t, r, runlog.Answered))
			})
		})
	}
}

// One address decides between an answer and the end of the question's time.
func TestAnswerAgainstExpiry(t *testing.T) {
	everywhere(t, "N6 what Answer says is what the flow got", func(t *testing.T, s runlog.Store) {
		t.Helper()
		var host sync.WaitGroup
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		others := []*orchestrator.Engine{e}
		if s != nil {
			others = append(others, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}))
		}
		for i := range 20 {
			id := "x" + strings.Repeat("x", i)
			r := begin(t, e, asks, id)
			synctest.Wait()
			from := open(t, others[i%len(others)], id)
			host.Go(func() {
				pause(3 * time.Minute) // the same instant
				err := from.Answer(t.Context(), "n", 7)
				n, resultErr := asks.Result(t.Context(), r)
				assert.NoError(t, resultErr)
				if err == nil {
					assert.Equal(t, 7, n)
				} else {
					assert.ErrorIs(t, err, orchestrator.ErrNoQuestion)
					assert.Zero(t, n)
				}
			})
		}
		host.Wait()
	})
}
