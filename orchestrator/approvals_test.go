package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// pays asks what may be paid under one key, and returns what was approved.
func pays(q orchestrator.Question) orchestrator.Flow[none, string] {
	q.Key = "pay"
	return flow("pays", func(c *orchestrator.Context) (string, error) {
		yes, err := orchestrator.Await[bool](c, q)
		if !yes {
			return "", err
		}
		return q.Text, err
	})
}

// What is asked is its text, its options, its data and the type of its answer, and
// neither its time nor who may answer.
func TestQuestionChangesOnReplay(t *testing.T) {
	before := orchestrator.Question{Text: "10 to A", Options: []string{"yes", "no"}, Data: json.RawMessage(`{"sum":10}`)}
	same, other := orchestrator.ErrStopped, orchestrator.ErrDiverged
	for name, tt := range map[string]struct {
		change func(q *orchestrator.Question)
		want   agent.Code
	}{
		"nothing":          {func(*orchestrator.Question) {}, same},
		"its time":         {func(q *orchestrator.Question) { q.Timeout = 100 * time.Hour }, same},
		"who may answer":   {func(q *orchestrator.Question) { q.Only, q.Person = []string{"ann"}, true }, same},
		"its text":         {func(q *orchestrator.Question) { q.Text = "10 to B" }, other},
		"an option":        {func(q *orchestrator.Question) { q.Options = []string{"yes", "never"} }, other},
		"order of options": {func(q *orchestrator.Question) { q.Options = []string{"no", "yes"} }, other},
		"borders":          {func(q *orchestrator.Question) { q.Options = []string{"yesno"} }, other},
		"its data":         {func(q *orchestrator.Question) { q.Data = json.RawMessage(`{"sum":11}`) }, other},
	} {
		t.Run("N12 "+name, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				log := []runlog.Record{
					{Run: "x", Kind: runlog.Started, Name: "pays", Data: json.RawMessage(`{"data":{}}`)},
					{Run: "x", Kind: runlog.Asked, Name: "pay", Data: agent.JSON(engine.Ask{Question: with(before, "pay"), Schema: json.RawMessage(`{"type":"boolean"}`)})},
				}
				q := before
				tt.change(&q)
				e, err := orchestrator.NewLocal(orchestrator.Config{Store: stored(t, log...)})
				require.NoError(t, err)
				r := begin(t, e, pays(q), "x")
				synctest.Wait()
				require.NoError(t, e.Close(t.Context()))
				require.ErrorIs(t, r.Wait(t.Context()), tt.want, "the log has no hash, as those of older programs")
			})
		})
	}
}

func with(q orchestrator.Question, key string) orchestrator.Question {
	q.Key = key
	return q
}

func TestQuestionIsAskedAnew(t *testing.T) {
	small, large := pays(orchestrator.Question{Text: "10 to A"}), pays(orchestrator.Question{Text: "10,000 to B"})
	accepting := orchestrator.Requests{AcceptChanged: true}
	for name, answered := range map[string]bool{"that waits": false, "whose answer is in the inbox": true} {
		t.Run("N12 a changed question "+name+" is asked anew where changes are accepted", func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				s := runlog.NewMemory()
				e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
				require.NoError(t, err)
				r := begin(t, e, small, "x")
				synctest.Wait()
				old := infoOf(t, r).Questions[0].Hash
				require.NoError(t, e.Close(t.Context()))
				if answered {
					there := local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}})
					require.NoError(t, open(t, there, "x").AnswerWith(t.Context(), "pay", true, orchestrator.AnswerOptions{Seen: old}))
				}
				for range 2 { // and it stays so
					e, err = orchestrator.NewLocal(orchestrator.Config{Store: s, Requests: accepting})
					require.NoError(t, err)
					r = begin(t, e, large, "x")
					synctest.Wait()
					qs := infoOf(t, r).Questions
					require.Len(t, qs, 1)
					assert.Equal(t, "10,000 to B", qs[0].Text)
					require.ErrorIs(t, r.AnswerWith(t.Context(), "pay", true, orchestrator.AnswerOptions{Seen: old}), orchestrator.ErrChanged)
					require.NoError(t, e.Close(t.Context()))
				}
				r = begin(t, local(t, orchestrator.Config{Store: s, Requests: accepting}), large, "x")
				require.NoError(t, r.Answer(t.Context(), "pay", false))
				got, err := large.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Empty(t, got)
				assert.Equal(t, 1, countOf(t, r, runlog.Changed))
				assert.Equal(t, 2, countOf(t, r, runlog.Asked))
			})
		})
	}
	t.Run("N12 one that was withdrawn or has expired waits for nobody", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			both := func(text string) orchestrator.Flow[none, string] {
				return flow("both", func(c *orchestrator.Context) (string, error) {
					_, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "late", Text: text, Timeout: time.Hour})
					q := orchestrator.NewQueue[bool](c)
					q.Go("pay", func(c *orchestrator.Context) (bool, error) {
						return orchestrator.Await[bool](c, orchestrator.Question{Key: "pay", Text: text})
					})
					_ = c.Sleep(time.Hour)
					q.CancelAll()
					q.Next()
					_, _ = orchestrator.Await[bool](c, orchestrator.Question{Key: "end"})
					return fmt.Sprint(err), nil
				})
			}
			s := runlog.NewMemory()
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			begin(t, e, both("10"), "x")
			pause(3 * time.Hour)
			require.NoError(t, e.Close(t.Context()))
			for range 2 {
				e, err = orchestrator.NewLocal(orchestrator.Config{Store: s, Requests: accepting})
				require.NoError(t, err)
				r := begin(t, e, both("10,000"), "x")
				synctest.Wait()
				qs := infoOf(t, r).Questions
				require.Len(t, qs, 1)
				assert.Equal(t, "end", qs[0].Key)
				require.NoError(t, e.Close(t.Context()))
			}
			r := begin(t, local(t, orchestrator.Config{Store: s, Requests: accepting}), both("10,000"), "x")
			require.NoError(t, r.Answer(t.Context(), "end", true))
			got, err := both("").Result(t.Context(), r)
			require.NoError(t, err)
			assert.Contains(t, got, "no answer")
		})
	})
}

func TestWhoMayAnswerChanges(t *testing.T) {
	t.Run("N12 an answer of somebody who may not give it any more is dropped", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			anybody, ann := pays(orchestrator.Question{Text: "10 to A"}), pays(orchestrator.Question{Text: "10 to A", Only: []string{"ann"}})
			s := runlog.NewMemory()
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			begin(t, e, anybody, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			there := local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}})
			require.NoError(t, open(t, there, "x").AnswerWith(t.Context(), "pay", true, orchestrator.AnswerOptions{By: "bob"}))

			r := begin(t, local(t, orchestrator.Config{Store: s}), ann, "x")
			synctest.Wait()
			qs := infoOf(t, r).Questions
			require.Len(t, qs, 1, "it stays open")
			assert.Contains(t, qs[0].Rejected, `only "ann" may answer it`)
			require.NoError(t, r.AnswerWith(t.Context(), "pay", true, orchestrator.AnswerOptions{By: "ann"}))
			got, err := ann.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "10 to A", got)
		})
	})
}

func TestChangedQuestionOfAFlowThatEnds(t *testing.T) {
	t.Run("N12 a changed question is ErrDiverged, though the flow ends without its answer", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			f := func(text string, d time.Duration) orchestrator.Flow[none, int] {
				return flow("ends", func(c *orchestrator.Context) (int, error) {
					q := orchestrator.NewQueue[bool](c)
					q.Go("pay", func(c *orchestrator.Context) (bool, error) {
						return orchestrator.Await[bool](c, orchestrator.Question{Key: "pay", Text: text})
					})
					q.Go("at once", func(*orchestrator.Context) (bool, error) { return true, nil })
					q.Next()
					if d == 0 {
						return 1, nil
					}
					return 1, c.Sleep(d)
				})
			}
			s := runlog.NewMemory()
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			begin(t, e, f("10 to A", time.Hour), "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			ended := f("10,000 to B", 0)
			_, err = ended.Result(t.Context(), begin(t, local(t, orchestrator.Config{Store: s}), ended, "x"))
			require.ErrorIs(t, err, orchestrator.ErrDiverged)
			require.ErrorContains(t, err, "10,000 to B")
		})
	})
}

// A log in which one answer served all questions of a key is repeated as it was.
func TestOldLogOfOneKey(t *testing.T) {
	t.Run("N12 what the flow went on with stays", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := flow("old", func(c *orchestrator.Context) (string, error) {
				a, _ := orchestrator.Await[string](c, orchestrator.Question{Key: "k", Text: "first"})
				b, _ := orchestrator.Await[string](c, orchestrator.Question{Key: "k", Text: "second"})
				x, err := ask(c, "a", a+b)
				if err != nil {
					return "", err
				}
				d, err := orchestrator.Await[string](c, orchestrator.Question{Key: "k", Text: "third"})
				return x + d, err
			})
			log := []runlog.Record{
				{Run: "x", Kind: runlog.Started, Name: "old", Data: json.RawMessage(`{"data":{}}`)},
				{Run: "x", Kind: runlog.Asked, Name: "k", Data: json.RawMessage(`{"key":"k","text":"first","schema":{"type":"string"}}`)},
				{Run: "x", Kind: runlog.Answered, Name: "k", Data: json.RawMessage(`"yes"`)},
				{Run: "x", Kind: runlog.Called, N: 2, Name: "a", Data: agent.JSON(engine.CalledData{Response: &agent.Response{Text: "yesyes"}})},
			}
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": exits}, Store: stored(t, log...)}), f, "x")
			synctest.Wait()
			require.Len(t, infoOf(t, r).Questions, 1)
			assert.Equal(t, "third", infoOf(t, r).Questions[0].Text, "what is asked from here on has an answer of its own")
			require.NoError(t, r.Answer(t.Context(), "k", "no"))
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "yesyesno", got)
		})
	})
}

func TestAnswersOfAgents(t *testing.T) {
	everywhere(t, "N12 an answer in an agent's call is an agent's", func(t *testing.T, s runlog.Store) {
		begun := make(chan *orchestrator.Run, 1)
		refused := make(chan error, 1)
		roster := agent.Roster{"tool": agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			r := <-begun
			refused <- r.Answer(ctx, "person", true)
			return agent.Response{}, r.Answer(ctx, "anybody", true)
		})}
		f := flow("asks", func(c *orchestrator.Context) (bool, error) {
			q := orchestrator.NewQueue[bool](c)
			for _, key := range []string{"person", "anybody"} {
				q.Go(key, func(c *orchestrator.Context) (bool, error) {
					return orchestrator.Await[bool](c, orchestrator.Question{Key: key, Person: key == "person"})
				})
			}
			_ = c.Sleep(time.Minute)
			if _, err := ask(c, "tool", ""); err != nil {
				return false, err
			}
			first, _ := q.Next()
			second, _ := q.Next()
			return first.Value && !second.Value, second.Err
		})
		r := begin(t, local(t, orchestrator.Config{Agents: roster, Store: s}), f, "x")
		begun <- r
		require.ErrorIs(t, <-refused, orchestrator.ErrNotAllowed)
		pause(time.Hour)
		require.NoError(t, r.Answer(t.Context(), "person", false))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.True(t, got)
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			if rec.Kind == runlog.Answered {
				assert.Equal(t, rec.Name == "anybody", engine.AnswerOf(rec.Data).Agent)
			}
		}
	})
	everywhere(t, "N12 the limit of early answers holds when many come at once", func(t *testing.T, s runlog.Store) {
		f := flow("sleeps", func(c *orchestrator.Context) (int, error) { return 0, c.Sleep(time.Hour) })
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		var host sync.WaitGroup
		var mu sync.Mutex
		kept := 0
		for i := range 200 {
			host.Go(func() {
				if r.AnswerWith(t.Context(), fmt.Sprint(i), i, early) == nil {
					mu.Lock()
					defer mu.Unlock()
					kept++
				}
			})
		}
		host.Wait()
		assert.Equal(t, 100, kept)
	})
}
