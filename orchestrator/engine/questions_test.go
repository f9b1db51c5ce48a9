package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// desk is a Port that keeps what is emitted and notes it.
type desk struct {
	Port
	q       *Questions
	emitted []string
}

func (d *desk) Emit(rec runlog.Record) {
	d.emitted = append(d.emitted, rec.Kind+" "+rec.Name)
	d.q.Note(rec)
}

func awaits(key string) *Op {
	return &Op{Kind: Await, Name: key, Ask: json.RawMessage(fmt.Sprintf(`{"key":%q}`, key))}
}

// hashOf is the hash of what awaits asks.
func hashOf(key string) string { return AskHash(awaits(key).Ask) }

// handed are the answers that Next hands over now.
func handed(q *Questions) (all []Completion) {
	for c, ok := q.Next(); ok; c, ok = q.Next() {
		all = append(all, c)
	}
	return all
}

func keysOf(t require.TestingT, q *Questions) (keys []string) {
	open, err := q.Open()
	require.NoError(t, err)
	for _, ask := range open {
		keys = append(keys, ask.Key)
	}
	return keys
}

func TestQuestionsOfAFlow(t *testing.T) {
	var q Questions
	d := &desk{q: &q}
	a, b := awaits("q"), awaits("q")
	assert.Empty(t, handed(&q))
	assert.True(t, q.Ask(d, a))
	assert.True(t, q.Ask(d, b))
	assert.Equal(t, []string{"asked q", "asked q"}, d.emitted)
	assert.Equal(t, []*Op{a, b}, q.Answer("q", hashOf("q"), json.RawMessage(`1`)))
	assert.Nil(t, q.Answer("q", hashOf("q"), json.RawMessage(`2`)), "the first counts")
	got := handed(&q)
	require.Len(t, got, 2)
	assert.Same(t, a, got[0].Op)
	assert.Same(t, b, got[1].Op)
	assert.JSONEq(t, `1`, string(got[1].Response.Data))

	late := awaits("q")
	assert.False(t, q.Ask(d, late), "it is answered")
	got = handed(&q)
	require.Len(t, got, 1)
	assert.JSONEq(t, `1`, string(got[0].Response.Data))

	again := awaits("q")
	again.Reject = "want a number"
	assert.True(t, q.Ask(d, again), "what is rejected does not count")
	assert.Empty(t, handed(&q))
	assert.True(t, q.Ask(d, a))
	assert.Equal(t, []*Op{again, a}, q.Answer("q", hashOf("q"), json.RawMessage(`3`)))
}

// TestQuestionsOfOneKey has two questions of a key, one after the other.
func TestQuestionsOfOneKey(t *testing.T) {
	saying := func(text string) *Op {
		return &Op{Kind: Await, Name: "q", Ask: json.RawMessage(fmt.Sprintf(`{"key":"q","text":%q}`, text))}
	}
	early := json.RawMessage(`{"$answer":1,"early":true}`)
	for _, before := range []bool{true, false} {
		var q Questions
		d := &desk{q: &q}
		first, second := saying("first"), saying("second")
		if before {
			assert.Nil(t, q.Answer("q", "", early))
			assert.False(t, q.Ask(d, first), "an early answer is for the first that is asked")
		} else {
			assert.True(t, q.Ask(d, first))
			assert.Equal(t, []*Op{first}, q.Answer("q", "", early), "it is for the first that was asked")
		}
		assert.Len(t, handed(&q), 1)
		assert.True(t, q.Ask(d, second))
		assert.Equal(t, 1, q.State("q").Round, "another question begins a round")
		assert.Nil(t, q.Answer("q", "", early), "the first has its answer")
		assert.Nil(t, q.Answer("q", AskHash(saying("another").Ask), json.RawMessage(`2`)), "nobody asks that")
		assert.Empty(t, handed(&q))
		assert.Equal(t, []*Op{second}, q.Answer("q", AskHash(second.Ask), json.RawMessage(`3`)))
		assert.Len(t, handed(&q), 1)
	}
}

func TestQuestionsDrop(t *testing.T) {
	var q Questions
	d := &desk{q: &q}
	a, b := awaits("q"), awaits("q")
	assert.False(t, q.Drop(a), "it never asked")
	q.Ask(d, a)
	q.Ask(d, b)
	assert.True(t, q.Drop(a))
	assert.False(t, q.Drop(a))
	assert.Equal(t, []*Op{b}, q.Answer("q", hashOf("q"), json.RawMessage(`1`)))
	assert.False(t, q.Drop(b), "it has its answer")
}

func TestQuestionsOpenInOrder(t *testing.T) {
	var q Questions
	d := &desk{q: &q}
	for _, key := range []string{"c", "a", "b"} {
		q.Ask(d, awaits(key))
	}
	assert.Equal(t, []string{"c", "a", "b"}, keysOf(t, &q))
	assert.True(t, q.Accept(runlog.Letter{Key: "a", Data: json.RawMessage(`1`)}))
	q.Note(runlog.Record{Kind: runlog.Withdrawn, Name: "c"})
	assert.Equal(t, []string{"b"}, keysOf(t, &q))
	q.Ask(d, awaits("c"))
	assert.Equal(t, []string{"b", "c"}, keysOf(t, &q))
	assert.Equal(t, 1, q.State("c").Round)
	q.Note(runlog.Record{Kind: runlog.Asked, Name: "d", Data: json.RawMessage(`{`)})
	_, err := q.Open()
	require.ErrorIs(t, err, runlog.ErrDamaged)
	assert.ErrorContains(t, err, `question "d"`)
}

func TestQuestionsCancel(t *testing.T) {
	var q Questions
	assert.True(t, q.Accept(runlog.Letter{Data: json.RawMessage(`"enough"`)}))
	assert.Equal(t, runlog.Canceled, q.State("").Kind)
	assert.False(t, q.Accept(runlog.Letter{}), "a run is canceled once")
	var loaded Questions
	loaded.Note(runlog.Record{Kind: runlog.Canceled, Name: "the host"})
	assert.False(t, loaded.Accept(runlog.Letter{}))
	assert.True(t, loaded.Accept(runlog.Letter{Key: "the host"}), "the name of a cancel is no key")
}

func TestQuestionsNoteOthers(t *testing.T) {
	var q Questions
	for _, kind := range []string{runlog.Started, runlog.Called, runlog.Slept, runlog.Ended, "mine"} {
		q.Note(runlog.Record{Kind: kind, Name: "q"})
	}
	assert.Nil(t, q.keys, "a run without questions has no map")
	assert.Equal(t, QuestionState{Key: "q"}, q.State("q"))
}

func TestQuestionsWithoutQuestionsCostNothing(t *testing.T) {
	var q Questions
	rec := runlog.Record{Kind: runlog.Called}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		q.Note(rec)
		q.Next()
	}))
}

// TestQuestionsAgainstStates compares with a QuestionState for each key, and with a list
// of the order in which they changed.
func TestQuestionsAgainstStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Questions
		states := map[string]QuestionState{}
		var order []string // keys, in the order of their newest change
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			rec := recordsOf(rapid.SampledFrom([]string{"ask", "reject", "answer=1", "expire", "withdraw"}).Draw(t, "word"))[0]
			rec.Name = key
			if rec.Kind == runlog.Asked {
				rec.Data = json.RawMessage(strings.ReplaceAll(string(rec.Data), `"q"`, fmt.Sprintf("%q", key)))
			}
			before := states[key]
			before.Key = key
			after := before.Note(rec)
			q.Note(rec)
			if fmt.Sprint(after) != fmt.Sprint(before) || rec.Kind == runlog.Asked && after.Kind == runlog.Asked {
				order = append(slices.DeleteFunc(order, func(k string) bool { return k == key }), key)
			}
			states[key] = after
			if got := q.State(key); fmt.Sprint(got) != fmt.Sprint(after) {
				t.Fatalf("key %s is %+v, want %+v", key, got, after)
			}
			want := slices.DeleteFunc(slices.Clone(order), func(k string) bool { return states[k].Kind != runlog.Asked })
			if got := keysOf(t, &q); !slices.Equal(got, want) {
				t.Fatalf("open are %q, want %q", got, want)
			}
		}
	})
}

// TestQuestionsAtOnce has answers, expiries and readers from many goroutines, for the race
// detector too: one letter of each round is accepted.
func TestQuestionsAtOnce(t *testing.T) {
	var q Questions
	d := &desk{q: &q}
	for round := range 20 {
		q.Ask(d, awaits("q"))
		var all sync.WaitGroup
		var mu sync.Mutex
		var accepted []runlog.Letter
		for i := range 8 {
			all.Go(func() {
				l := runlog.Letter{Key: "q", Round: round, Expired: i == 0, Data: json.RawMessage(fmt.Sprint(i))}
				if q.Accept(l) {
					mu.Lock()
					defer mu.Unlock()
					accepted = append(accepted, l)
				}
				q.State("q")
				_, err := q.Open()
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.Len(t, accepted, 1)
		if !accepted[0].Expired {
			again := awaits("q")
			again.Reject, again.Ask = "no", json.RawMessage(`{"key":"q","rejected":"no"}`)
			q.Ask(d, again)
		}
	}
}
