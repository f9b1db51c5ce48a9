package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

type city struct {
	Name   string `json:"name"`
	People int    `json:"people"`
}

// answers gives responses in turn, a second each, and keeps what it was asked.
type answers struct {
	give  []agent.Response
	asked []agent.Request
}

func (a *answers) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
	a.asked = append(a.asked, req)
	return a.give[len(a.asked)-1], nil
}

// asked is what Ask makes of the answers.
type asked[T any] struct {
	Value T
	Resp  agent.Response
}

func askFor[T any](t *testing.T, a agent.Agent, req agent.Request) (asked[T], error) {
	t.Helper()
	f := flow("ask", func(c *orchestrator.Context) (asked[T], error) {
		v, resp, err := orchestrator.Ask[T](c, "a", req)
		return asked[T]{v, resp}, err
	})
	return f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), none{})
}

func TestAsk(t *testing.T) {
	used := providers.Usage{Calls: 1, Input: 2, Cost: 3}
	said := func(text string) agent.Response { return agent.Response{Text: text, Usage: used} }
	t.Run("the response is the last one, its usage and time those of all", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{said(`{"name":"Rome"}`), said(`{"name":"Rome","people":3}`)}}
			got, err := askFor[city](t, a, agent.Request{Prompt: "a city"})
			require.NoError(t, err)
			assert.Equal(t, city{"Rome", 3}, got.Value)
			assert.JSONEq(t, `{"name":"Rome","people":3}`, got.Resp.Text)
			assert.Equal(t, used.Add(used), got.Resp.Usage)
			assert.Equal(t, 2*time.Second, got.Resp.Elapsed)
		})
	})
	t.Run("N15 the agent learns what was wrong", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{{Data: json.RawMessage(`{"name":"Rome"}`)}, said(`{"name":"Rome","people":3}`)}}
			_, err := askFor[city](t, a, agent.Request{Prompt: "a city", History: []providers.Message{{Role: providers.User, Text: "hi"}}})
			require.NoError(t, err)
			require.Len(t, a.asked, 2)
			assert.Contains(t, a.asked[1].Prompt, "people")
			assert.Equal(t, []providers.Message{
				{Role: providers.User, Text: "hi"}, {Role: providers.User, Text: "a city"}, {Role: providers.Assistant, Text: `{"name":"Rome"}`},
			}, a.asked[1].History)
			assert.Len(t, a.asked[0].History, 1, "the first request is left as it was")
		})
	})
	t.Run("N15 a repair that fails on the way is repeated as it was, and not told of it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var asked []agent.Request
			a := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				asked = append(asked, req)
				switch len(asked) {
				case 1:
					return agent.Response{Text: `{"name":"Rome"}`}, nil
				case 2:
					return agent.Response{}, agent.Transient(errors.New("POST https://models.example: 503"), 0)
				}
				return agent.Response{Text: `{"name":"Rome","people":3}`}, nil
			})
			got, err := askFor[city](t, a, agent.Request{Prompt: "a city"})
			require.NoError(t, err)
			assert.Equal(t, city{"Rome", 3}, got.Value)
			require.Len(t, asked, 3)
			assert.Contains(t, asked[1].Prompt, "people", "what was malformed is work")
			assert.Equal(t, asked[1].Prompt, asked[2].Prompt)
			assert.Equal(t, asked[1].History, asked[2].History)
		})
	})
	t.Run("N15 each repair is a call of its own, and is told only of the answer before it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			says := []string{`{"name":"Rome"}`, `{"people":3}`, `{"name":"Rome","people":3}`}
			var asked []agent.Request
			keys := map[string]bool{}
			a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				asked, keys[agent.InfoFrom(ctx).Key] = append(asked, req), true
				return agent.Response{Text: says[len(asked)-1], Fallbacks: []agent.Fallback{{Model: fmt.Sprint("m", len(asked))}}}, nil
			})
			got, err := askFor[city](t, a, agent.Request{Prompt: "a city", Input: json.RawMessage(`{"in":"Italy"}`), Limits: agent.Limits{Repairs: 2}})
			require.NoError(t, err)
			require.Len(t, asked, 3)
			assert.Len(t, keys, 3)
			assert.Contains(t, asked[1].Prompt, `"people"`)
			assert.Contains(t, asked[2].Prompt, `want {"required":["name"]}`)
			assert.NotContains(t, asked[2].Prompt, "Rome", "what was wrong before is in the History")
			assert.JSONEq(t, `{"in":"Italy"}`, string(asked[2].Input))
			assert.Len(t, asked[2].History, 4, "each question and answer once")
			assert.Equal(t, []agent.Fallback{{Model: "m1"}, {Model: "m2"}, {Model: "m3"}}, got.Resp.Fallbacks, "of all calls")
		})
	})
	t.Run("as many repairs as wanted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{said("no"), said("no"), said("no"), said("no"), said("no")}}
			got, err := askFor[city](t, a, agent.Request{Limits: agent.Limits{Repairs: 3}})
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
			assert.Len(t, a.asked, 4)
			assert.Equal(t, int64(4), got.Resp.Usage.Calls)
			assert.ErrorContains(t, err, `ask "a": malformed`)
		})
	})
	t.Run("each repair is a call of its own under the budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{said("no"), said("no")}}
			f := flow("ask", func(c *orchestrator.Context) (city, error) {
				v, _, err := orchestrator.Ask[city](c.WithBudget(orchestrator.Budget{Calls: 1}), "a", agent.Request{})
				return v, err
			})
			_, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), none{})
			require.ErrorIs(t, err, orchestrator.ErrBudget)
			assert.Len(t, a.asked, 1)
		})
	})
	t.Run("a schema of the caller's is what the agent gets", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{said(`{"name":"Rome","people":3}`)}}
			_, err := askFor[city](t, a, agent.Request{Output: json.RawMessage(`{"type":"object"}`)})
			require.NoError(t, err)
			assert.JSONEq(t, `{"type":"object"}`, string(a.asked[0].Output))
		})
	})
	t.Run("a type without a schema is a fault of the flow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{}
			_, err := askFor[map[int]func()](t, a, agent.Request{})
			require.ErrorIs(t, err, orchestrator.ErrFlow)
			assert.Empty(t, a.asked)
		})
	})
	t.Run("an error of the agent is not repaired", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			_, err := askFor[city](t, agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				calls++
				return agent.Response{}, agent.ErrRefused
			}), agent.Request{})
			require.ErrorIs(t, err, agent.ErrRefused)
			assert.Equal(t, 1, calls)
		})
	})
}

// What a model thinks aloud is on record, and no part of its answer: neither for a flow
// that calls nor for one that asks, and the model does not see it again.
func TestThinkingIsNoAnswer(t *testing.T) {
	t.Run("DC35 the first object of a grade is not that of the thoughts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{give: []agent.Response{
				{Text: `<think>{"name":"Rome","people":1}</think>{"name":"Oslo"}`},
				{Text: `<think>{"name":"Rome","people":1}</think>{"name":"Oslo","people":2}`},
				{Text: "<think>Hm.</think>\nGood evening."},
			}}
			store := runlog.NewMemory()
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: store})
			f := flow("aloud", func(c *orchestrator.Context) (city, error) {
				got, _, err := orchestrator.Ask[city](c, "a", agent.Request{Prompt: "a city"})
				require.NoError(t, err)
				resp, err := c.Call("a", agent.Request{Prompt: "hello"})
				assert.Equal(t, "Good evening.", resp.Text)
				return got, err
			})
			r := begin(t, e, f, "aloud")
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, city{"Oslo", 2}, got)
			for _, m := range a.asked[1].History {
				assert.NotContains(t, m.Text, "Rome")
			}
			var log string
			for rec, err := range r.Events(t.Context(), 0) {
				require.NoError(t, err)
				log += string(rec.Data)
			}
			assert.Contains(t, log, "Rome", "the record has all that was said")
		})
	})
}

func TestAwait(t *testing.T) {
	awaits := func(t *testing.T, do func(c *orchestrator.Context) (none, error)) error {
		t.Helper()
		_, err := flow("await", do).Run(t.Context(), local(t, orchestrator.Config{}), none{})
		return err
	}
	t.Run("a question without a key is malformed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := awaits(t, func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Await[bool](c, orchestrator.Question{Text: "Go on?"})
				return none{}, err
			})
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
			assert.ErrorContains(t, err, "Key")
		})
	})
	t.Run("a type without a schema is a fault of the flow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := awaits(t, func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Await[chan int](c, orchestrator.Question{Key: "k"})
				return none{}, err
			})
			require.ErrorIs(t, err, orchestrator.ErrFlow)
		})
	})
	t.Run("data that is not JSON is malformed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := awaits(t, func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "k", Data: json.RawMessage("{")})
				return none{}, err
			})
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
		})
	})
	t.Run("a budget's time gives a question up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := awaits(t, func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Await[bool](c.WithBudget(orchestrator.Budget{Wall: time.Hour}), orchestrator.Question{Key: "k", Timeout: 2 * time.Hour})
				return none{}, err
			})
			require.ErrorIs(t, err, orchestrator.ErrBudget)
		})
	})
	t.Run("a question that was given up is no longer shown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := flow("hedge", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[bool](c)
				q.Go("ask", func(c *orchestrator.Context) (bool, error) {
					return orchestrator.Await[bool](c, orchestrator.Question{Key: "k"})
				})
				_ = c.Sleep(time.Hour)
				q.CancelAll()
				return none{}, c.Sleep(time.Hour)
			})
			r := begin(t, local(t, orchestrator.Config{Store: newPlain()}), f, "x")
			questions := func() int {
				synctest.Wait()
				i, err := r.Info(t.Context())
				require.NoError(t, err)
				return len(i.Questions)
			}
			assert.Equal(t, 1, questions())
			wait := time.NewTimer(90 * time.Minute)
			<-wait.C
			assert.Zero(t, questions())
			require.NoError(t, r.Wait(t.Context()))
		})
	})
}

// The time of a question that was answered is over, too.
func TestTimeOfAnAnsweredQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("question", func(c *orchestrator.Context) (bool, error) {
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: time.Hour})
			if err != nil {
				return ok, err
			}
			return ok, c.Sleep(2 * time.Hour)
		})
		s := newPlain()
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Slept, runlog.Ended}, kinds(logOf(t, s, "x")))
	})
}

// An answer that comes after its question's time is refused, until the question is
// asked again.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("asks again", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.Question{Key: "name", Timeout: time.Hour}
			if _, err := orchestrator.Await[string](c, q); err == nil {
				return "in time", nil
			}
			if err := c.Sleep(time.Hour); err != nil {
				return "", err
			}
			return orchestrator.Await[string](c, q)
		})
		s := newPlain()
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		wait := time.NewTimer(90 * time.Minute)
		<-wait.C
		late := r.Answer(t.Context(), "name", "ann")
		require.ErrorIs(t, late, orchestrator.ErrNoQuestion)
		require.ErrorContains(t, late, `"name" has expired`)
		wait.Reset(time.Hour)
		<-wait.C
		require.NoError(t, r.Answer(t.Context(), "name", "ann"))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "ann", got)

		log := logOf(t, s, "x")
		require.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Expired, runlog.Slept, runlog.Asked, runlog.Answered, runlog.Ended}, kinds(log))
		got, err = again(t, orchestrator.Config{}, f, log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, "ann", got, "the same replayed")
	})
}

// Should two answers be on record, the first one counts.
func TestTwoAnswersOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("question", func(c *orchestrator.Context) (string, error) {
			return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
		})
		later := flow("question", func(c *orchestrator.Context) (string, error) {
			_, _ = orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
			_ = c.Sleep(time.Hour)
			return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
		})
		r := begin(t, local(t, orchestrator.Config{}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "name", "ann"))
		require.NoError(t, r.Wait(t.Context()))
		var log []runlog.Record
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			log = append(log, rec)
		}
		second := log[len(log)-2]
		require.Equal(t, runlog.Answered, second.Kind)
		second.Data = json.RawMessage(`"bob"`)
		got, err := again(t, orchestrator.Config{}, later, append(log[:len(log)-1:len(log)-1], second))
		require.NoError(t, err)
		assert.Equal(t, "ann", got)
	})
}

func TestAnswer(t *testing.T) {
	f := flow("question", func(c *orchestrator.Context) (city, error) {
		return orchestrator.Await[city](c, orchestrator.Question{Key: "city"})
	})
	t.Run("an empty key is malformed and cancels nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, local(t, orchestrator.Config{}), f, "x")
			require.ErrorIs(t, r.Answer(t.Context(), "", true), orchestrator.ErrMalformed)
			synctest.Wait()
			require.NoError(t, r.Answer(t.Context(), "city", city{"Rome", 3}))
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, city{"Rome", 3}, got)
		})
	})
	t.Run("an answer without a JSON form is malformed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, local(t, orchestrator.Config{}), f, "x")
			require.ErrorIs(t, r.Answer(t.Context(), "city", func() {}), orchestrator.ErrMalformed)
		})
	})
	t.Run("a refused answer says what is wrong", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, local(t, orchestrator.Config{}), f, "x")
			synctest.Wait()
			err := r.Answer(t.Context(), "city", map[string]any{"name": 7, "people": 3})
			require.ErrorIs(t, err, orchestrator.ErrMalformed)
			require.ErrorContains(t, err, `"city"`)
			assert.ErrorContains(t, err, "name")
		})
	})
	t.Run("one answer of many counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
			synctest.Wait()
			results := make(chan error)
			for n := range 8 {
				go func() { results <- r.Answer(t.Context(), "city", city{"Rome", n}) }()
			}
			kept := 0
			for range 8 {
				if err := <-results; err == nil {
					kept++
				} else {
					assert.ErrorIs(t, err, orchestrator.ErrAnswered)
				}
			}
			assert.Equal(t, 1, kept)
			require.NoError(t, r.Wait(t.Context()))
			assert.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Ended}, kinds(logOf(t, s, "x")))
		})
	})
}
