package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// logOf numbers records, a second apart.
func logOf(recs ...runlog.Record) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for i, rec := range recs {
			rec.Run, rec.Seq = "x", int64(i)
			if rec.At.IsZero() {
				rec.At = begun.Add(time.Duration(i) * time.Second)
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func data(v any) json.RawMessage {
	raw, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func started() runlog.Record {
	return runlog.Record{Kind: runlog.Started, Name: "f", Data: data(StartedData{Version: 3, Owner: "e", Input: Input{Data: data(1)}})}
}

func answered(text string) json.RawMessage {
	return data(CalledData{Response: &agent.Response{Text: text}})
}

// called is the answer to the nth call of the root.
func called(n int64, name, prompt, text string) runlog.Record {
	return runlog.Record{Kind: runlog.Called, N: n, Name: name, Hash: RequestHash(name, &agent.Request{Prompt: prompt}), Data: answered(text)}
}

func call(n int64, name, prompt string) *Op {
	return &Op{N: n, Kind: Call, Name: name, Request: &agent.Request{Prompt: prompt}}
}

// heard is an Execution and a live Port that note what they are told.
type heard struct {
	Execution
	log []string
}

func (h *heard) say(format string, args ...any) { h.log = append(h.log, fmt.Sprintf(format, args...)) }

func (h *heard) Complete(c Completion) {
	switch {
	case c.Op == nil:
		h.say("canceled: %v", c.Err)
	case c.Err != nil:
		h.say("%s failed: %v", c.Op.Key(), c.Err)
	case c.Response == nil:
		h.say("%s over", c.Op.Key())
	default:
		h.say("%s = %s", c.Op.Key(), cmp.Or(c.Response.Text, string(c.Response.Data)))
	}
}

func (h *heard) Charge(op *Op, used providers.Usage)    { h.say("charge %s %d", op.Key(), used.Cost) }
func (h *heard) Lose(...*Op)                            { h.say("lose") }
func (h *heard) Start(op *Op)                           { h.say("start %s %v", op.Key(), op.Asked) }
func (h *heard) Cancel(op *Op)                          { h.say("cancel %s", op.Key()) }
func (h *heard) Emit(rec runlog.Record)                 { h.say("emit %s", rec.Kind) }
func (h *heard) Expose(func() (json.RawMessage, error)) {}
func (h *heard) Now() (time.Time, time.Duration)        { return time.Time{}, 0 }
func (h *heard) Recorded(string, int64) Recorded        { return Recorded{Made: true} }

// replay is a Replay of recs.
func replay(t *testing.T, recs ...runlog.Record) (*Replay, *heard) {
	t.Helper()
	p, err := NewReplay("x", logOf(recs...))
	require.NoError(t, err)
	live := &heard{}
	p.Clock, p.Questions, p.Live = &Clock{}, &Questions{}, live
	p.Skip(p.Records[0].At)
	return p, live
}

// steps applies all records.
func steps(p *Replay, h *heard) error {
	for {
		more, err := p.Step(h)
		if err != nil || !more {
			return err
		}
	}
}

func TestReplay(t *testing.T) {
	t.Run("records complete effects in their order, whatever was asked first", func(t *testing.T) {
		p, h := replay(t, started(), called(1, "b", "2", "two"), called(0, "a", "1", "one"))
		p.Start(call(0, "a", "1"))
		p.Start(call(1, "b", "2"))
		require.NoError(t, steps(p, h))
		assert.Equal(t, []string{"1 = two", "0 = one"}, h.log)
		require.NoError(t, p.Leftover())
	})
	t.Run("the clock stands at the last record that was seen, and not over a time without a process", func(t *testing.T) {
		p, h := replay(t, started(), called(0, "a", "1", "one"),
			runlog.Record{Kind: runlog.Resumed, At: begun.Add(time.Hour)},
			runlog.Record{Kind: runlog.Called, N: 1, Name: "a", Data: answered(""), At: begun.Add(time.Hour + time.Minute)})
		p.Start(call(0, "a", "1"))
		_, err := p.Step(h)
		require.NoError(t, err)
		now, worked := p.Now()
		assert.Equal(t, begun.Add(time.Second), now)
		assert.Equal(t, time.Second, worked)
		p.Start(call(1, "a", "2"))
		require.NoError(t, steps(p, h))
		now, worked = p.Now()
		assert.Equal(t, begun.Add(time.Hour+time.Minute), now)
		assert.Equal(t, time.Second+time.Minute, worked)
		assert.Equal(t, begun.Add(time.Hour+time.Minute+time.Second), p.When(worked+time.Second))
	})
	t.Run("behind the log all goes to Live: what is new first, then what has no record", func(t *testing.T) {
		p, h := replay(t, started(), called(0, "a", "1", "one"), runlog.Record{Kind: "step"})
		p.Start(call(0, "a", "1"))
		p.Emit(runlog.Record{Kind: "step"})
		p.Emit(runlog.Record{Kind: "more", N: 1})
		p.Start(call(2, "a", "3"))
		p.Start(&Op{N: 1, Kind: Await, Name: "k"})
		require.NoError(t, steps(p, h))
		require.NoError(t, p.Leftover())
		p.GoLive()
		assert.Equal(t, []string{"0 = one", "emit more", "emit asked", "start 2 true", "start 1 true"}, h.log)
		h.log = nil
		op := call(3, "a", "4")
		p.Start(op)
		p.Cancel(op)
		p.Emit(runlog.Record{Kind: "last"})
		assert.Equal(t, []string{"start 3 false", "cancel 3", "emit last"}, h.log)
		assert.Equal(t, Recorded{}, p.Recorded("", 0), "the log is behind it")
	})
	t.Run("what the flow gave up is not started again", func(t *testing.T) {
		p, h := replay(t, started())
		op := call(0, "a", "1")
		p.Start(op)
		p.Cancel(op)
		require.NoError(t, steps(p, h))
		p.GoLive()
		assert.Empty(t, h.log)
	})
	t.Run("a child that was given up is started, and told", func(t *testing.T) {
		p, h := replay(t, started())
		op := &Op{Kind: Child, Name: "c", Input: &Input{Run: "x/0"}}
		p.Start(op)
		p.Start(call(1, "a", ""))
		p.Cancel(op)
		require.NoError(t, steps(p, h))
		assert.Equal(t, []*Op{op}, p.Children())
		p.GoLive()
		assert.Equal(t, []string{"start 0 true", "start 1 true"}, h.log)
		assert.True(t, op.Canceled)
	})
	t.Run("a call that was left behind may be charged later", func(t *testing.T) {
		left := called(0, "a", "1", "")
		left.Data = data(CalledData{Err: &agent.Error{Message: "late", Codes: []agent.Code{ErrLeft}}})
		p, h := replay(t, started(), left, runlog.Record{Kind: runlog.Used, Name: "a", Data: data(UsedData{providers.Usage{Cost: 7}})})
		p.Start(call(0, "a", "1"))
		require.NoError(t, steps(p, h))
		assert.Equal(t, []string{"0 failed: late", "charge 0 7"}, h.log)
	})
	t.Run("a call that Close cut is charged, lost and made again", func(t *testing.T) {
		p, h := replay(t, started(), runlog.Record{Kind: runlog.Used, Name: "a", Data: data(UsedData{providers.Usage{Cost: 7}})},
			runlog.Record{Kind: runlog.Resumed})
		p.Start(call(0, "a", "1"))
		require.NoError(t, steps(p, h))
		p.Resumed(begun.Add(time.Hour))
		require.NoError(t, steps(p, h))
		p.GoLive()
		assert.Equal(t, []string{"charge 0 7", "lose", "lose", "start 0 true"}, h.log)
	})
	t.Run("questions: an answer before, one after, an expiry that was too late", func(t *testing.T) {
		ask := func(n int64, key string) runlog.Record {
			return runlog.Record{Kind: runlog.Asked, N: n, Name: key}
		}
		answer := func(key string, v any) runlog.Record {
			return runlog.Record{Kind: runlog.Answered, Name: key, Data: data(v)}
		}
		p, h := replay(t, started(), answer("early", 1), called(0, "a", "1", "one"), ask(2, "late"), answer("late", 2), answer("late", 3),
			runlog.Record{Kind: runlog.Expired, N: 2, Name: "late"})
		p.Start(call(0, "a", "1"))
		_, err := p.Step(h)
		require.NoError(t, err)
		p.Start(&Op{N: 1, Kind: Await, Name: "early"})
		p.Start(&Op{N: 2, Kind: Await, Name: "late"})
		require.NoError(t, steps(p, h))
		assert.Equal(t, []string{"0 = one", "1 = 1", "2 = 2"}, h.log)
		require.NoError(t, p.Leftover())
	})
	t.Run("a question that expired, one that was withdrawn", func(t *testing.T) {
		p, h := replay(t, started(), runlog.Record{Kind: runlog.Asked, Name: "k"}, runlog.Record{Kind: runlog.Asked, N: 1, Name: "l"},
			runlog.Record{Kind: runlog.Expired, Name: "k"}, runlog.Record{Kind: runlog.Withdrawn, N: 1, Name: "l"})
		other := &Op{N: 1, Kind: Await, Name: "l"}
		p.Start(&Op{Kind: Await, Name: "k"})
		p.Start(other)
		require.NoError(t, steps(p, h))
		p.Cancel(other)
		require.NoError(t, p.Leftover())
		p.GoLive()
		assert.Equal(t, []string{`0 failed: timeout: no answer to the question "k"`}, h.log)
	})
	t.Run("a cancel is handed over with its reason", func(t *testing.T) {
		p, h := replay(t, started(), runlog.Record{Kind: runlog.Canceled, Data: data("enough")})
		require.NoError(t, steps(p, h))
		assert.Equal(t, []string{"canceled: the run was canceled: enough"}, h.log)
	})
	t.Run("Recorded knows what comes later in the log", func(t *testing.T) {
		held := called(0, "a", "1", "one")
		held.Data = data(CalledData{Response: &agent.Response{}, Reserved: &Amount{Cost: 7}})
		p, _ := replay(t, started(), held, called(1, "a", "2", "two"),
			runlog.Record{Kind: runlog.Refused, N: 2, Name: "a", Data: data(RefusedData{After: 5, Nth: 1})},
			runlog.Record{Kind: runlog.Slept, N: 3})
		assert.Equal(t, Recorded{Made: true, Reserved: Amount{Cost: 7}}, p.Recorded("", 0))
		assert.Equal(t, Recorded{Made: true}, p.Recorded("", 1))
		assert.Equal(t, Recorded{Refused: &RefusedData{After: 5, Nth: 1}}, p.Recorded("", 2))
		assert.Equal(t, Recorded{}, p.Recorded("", 3))
		assert.Equal(t, Recorded{}, p.Recorded("0", 0))
	})
	t.Run("a log with changed requests is accepted once, on record", func(t *testing.T) {
		p, h := replay(t, started(), called(0, "a", "old", "one"))
		p.Accept = true
		p.Start(call(0, "a", "new"))
		require.NoError(t, steps(p, h))
		p.GoLive()
		assert.Equal(t, []string{"0 = one", "emit changed"}, h.log)
		changed := runlog.Record{Kind: runlog.Changed, Name: "a", Hash: RequestHash("a", &agent.Request{Prompt: "new"})}
		for prompt, want := range map[string]bool{"new": true, "old": true, "third": false} {
			p, h := replay(t, started(), called(0, "a", "old", "one"), changed)
			p.Start(call(0, "a", prompt))
			err := steps(p, h)
			assert.Equal(t, want, err == nil, "%s: %v", prompt, err)
			if want {
				require.NoError(t, p.Leftover())
			}
		}
	})
}

// Every way in which a flow can differ from its log says where, and what is there now.
func TestDivergenceSaysWhat(t *testing.T) {
	for name, tt := range map[string]struct {
		recs []runlog.Record
		asks []*Op
		text string // text of a recorded request
		want string
	}{
		"nothing was asked for": {[]runlog.Record{called(0, "a", "1", "")}, nil, "", `record 1 is "called" of effect 0 (a): the flow did not ask for it`},
		"in a branch":           {[]runlog.Record{{Kind: runlog.Slept, Branch: "0.2", N: 1}}, nil, "", `record 1 is "slept" of effect 0.2:1: the flow did not ask for it`},
		"another agent":         {[]runlog.Record{called(0, "a", "1", "")}, []*Op{call(0, "b", "1")}, "", `(a): now the flow asks for a call of agent "b"`},
		"a sleep":               {[]runlog.Record{called(0, "a", "1", "")}, []*Op{{Kind: Sleep}}, "", `now the flow asks for a sleep`},
		"a time limit":          {[]runlog.Record{called(0, "a", "1", "")}, []*Op{{Kind: Limit}}, "", `now the flow asks for a time limit`},
		"a question":            {[]runlog.Record{called(0, "a", "1", "")}, []*Op{{Kind: Await, Name: "k"}}, "", `now the flow asks for an answer to the question "k"`},
		"a child":               {[]runlog.Record{called(0, "a", "1", "")}, []*Op{{Kind: Child, Name: "c"}}, "", `now the flow asks for a child run of flow "c"`},
		"another kind":          {[]runlog.Record{called(0, "a", "1", "")}, []*Op{{}}, "", `now the flow asks for an effect of kind 0`},
		"a call for a sleep":    {[]runlog.Record{{Kind: runlog.Slept}}, []*Op{call(0, "a", "1")}, "", `record 1 is "slept" of effect 0: now the flow asks for a call of agent "a"`},
		"another question":      {[]runlog.Record{{Kind: runlog.Expired, Name: "k"}}, []*Op{{Kind: Await, Name: "l"}}, "", `record 1 is "expired" of effect 0 (k): now the flow asks for an answer to the question "l"`},
		"another request": {
			[]runlog.Record{called(0, "a", "old", "")},
			[]*Op{call(0, "a", "new")},
			"", `now the request to "a" differs (restore it, or set Config.Requests.AcceptChanged to use the recorded answer): recorded was hash ` + RequestHash("a", &agent.Request{Prompt: "old"}) + `, now it is {"prompt":"new"}`,
		},
		"another request whose text is known": {
			[]runlog.Record{called(0, "a", "old", "")},
			[]*Op{call(0, "a", "new")},
			`{"prompt":"old"}`, `recorded was {"prompt":"old"}, now it is {"prompt":"new"}`,
		},
		"usage of a call that nothing asked for": {
			[]runlog.Record{{Kind: runlog.Used, Name: "a", Data: json.RawMessage(`{}`)}}, nil, "", `record 1 is "used" of effect 0 (a): the flow did not ask for it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, h := replay(t, slices.Concat([]runlog.Record{started()}, tt.recs)...)
			p.Request = func(*CalledData) string { return tt.text }
			for _, op := range tt.asks {
				p.Start(op)
			}
			err := steps(p, h)
			require.ErrorIs(t, err, ErrDiverged)
			require.ErrorContains(t, err, `run "x": `)
			require.ErrorContains(t, err, tt.want)
			assert.Empty(t, h.log)
		})
	}
	t.Run("a long request is cut", func(t *testing.T) {
		p, h := replay(t, started(), called(0, "a", "old", ""))
		p.Start(call(0, "a", string(make([]byte, 10_000))))
		err := steps(p, h)
		require.ErrorIs(t, err, ErrDiverged)
		assert.Less(t, len(err.Error()), 1000)
	})
	for name, tt := range map[string]struct {
		recs []runlog.Record
		want string
	}{
		"an effect":               {[]runlog.Record{called(0, "a", "1", "")}, `record 1 is "called" of effect 0 (a): the flow ended before it`},
		"an emission":             {[]runlog.Record{{Kind: "step", Branch: "0.1", N: 4}}, `run "x": recorded was "step" by branch "0.1" (number 4), which the flow did not do again`},
		"the first of several":    {[]runlog.Record{{Kind: "b", N: 1}, {Kind: "a", N: 2}, {Kind: "c", Branch: "1"}}, `recorded was "b" by branch "" (number 1)`},
		"a question":              {[]runlog.Record{{Kind: runlog.Asked, Name: "k"}}, `recorded was "asked" by branch "" (number 0)`},
		"a refusal":               {[]runlog.Record{{Kind: runlog.Refused, Data: json.RawMessage(`{}`)}}, `recorded was "refused" by branch "" (number 0)`},
		"a resumption that lost":  {[]runlog.Record{{Kind: runlog.Lost}}, `recorded was "lost" by branch "" (number 0)`},
		"a withdrawal":            {[]runlog.Record{{Kind: runlog.Withdrawn, Name: "k"}}, `recorded was "withdrawn"`},
		"a change of the request": {[]runlog.Record{{Kind: runlog.Changed, Name: "a", Hash: "0"}}, `recorded was "changed"`},
	} {
		t.Run("the flow ends before "+name, func(t *testing.T) {
			p, h := replay(t, slices.Concat([]runlog.Record{started()}, tt.recs)...)
			if name != "an effect" {
				require.NoError(t, steps(p, h))
			}
			err := p.Leftover()
			require.ErrorIs(t, err, ErrDiverged)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("another emission in its place", func(t *testing.T) {
		p, h := replay(t, started(), runlog.Record{Kind: "step"})
		p.Emit(runlog.Record{Kind: "stop"})
		require.NoError(t, steps(p, h))
		require.ErrorContains(t, p.Leftover(), `recorded was "step"`)
	})
}

func TestHistory(t *testing.T) {
	t.Run("of a run", func(t *testing.T) {
		h, err := NewReplay("x", logOf(started(), called(0, "a", "1", "one")))
		require.NoError(t, err)
		assert.Equal(t, 3, h.Started.Version)
		assert.Equal(t, "x", h.Started.Run)
		assert.Len(t, h.Records, 2)
		assert.Empty(t, h.Stuck)
	})
	t.Run("of none", func(t *testing.T) {
		h, err := NewReplay("x", logOf())
		require.NoError(t, err)
		assert.Nil(t, h)
	})
	t.Run("answers of a long one", func(t *testing.T) {
		recs := []runlog.Record{started()}
		for n := range int64(3 * part) {
			recs = append(recs, called(n, "a", "", fmt.Sprint(n)))
		}
		h, err := NewReplay("x", logOf(recs...))
		require.NoError(t, err)
		for n := range int64(3 * part) {
			require.Equal(t, fmt.Sprint(n), h.answer(n+1).Response.Text)
		}
	})
	stuck := runlog.Record{Kind: runlog.Stuck, Data: data(StuckData{Err: &agent.Error{Message: "ouch"}})}
	for name, tt := range map[string]struct {
		recs []runlog.Record
		want string
	}{
		"stuck":                     {[]runlog.Record{stuck}, "ouch"},
		"stuck, then a call ended":  {[]runlog.Record{stuck, called(0, "a", "", ""), {Kind: runlog.Used, Data: json.RawMessage(`{}`)}}, "ouch"},
		"stuck, then it continued":  {[]runlog.Record{stuck, {Kind: runlog.Resumed}}, ""},
		"stuck, continued, and not": {[]runlog.Record{stuck, {Kind: runlog.Resumed}, called(0, "a", "", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := NewReplay("x", logOf(slices.Concat([]runlog.Record{started()}, tt.recs)...))
			require.NoError(t, err)
			assert.Equal(t, tt.want, h.Stuck)
		})
	}
	broken := func(yield func(runlog.Record, error) bool) {
		for rec := range logOf(started()) {
			if !yield(rec, nil) {
				return
			}
		}
		yield(runlog.Record{}, runlog.ErrDamaged)
	}
	gap := func(yield func(runlog.Record, error) bool) {
		for rec := range logOf(started(), called(0, "a", "", "")) {
			rec.Seq *= 2
			if !yield(rec, nil) {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		log  iter.Seq2[runlog.Record, error]
		want string
	}{
		"an error of the store":        {broken, `log of run "x": runlog: damaged`},
		"a gap":                        {gap, `record 2: runlog: damaged: it is at the place of record 1`},
		"no start":                     {logOf(called(0, "a", "", "")), `record 0: runlog: damaged: it is "called", want "started"`},
		"a start that is no object":    {logOf(runlog.Record{Kind: runlog.Started, Data: json.RawMessage(`7`)}), `record 0: runlog: damaged`},
		"an answer that is no object":  {logOf(started(), runlog.Record{Kind: runlog.Called, Data: json.RawMessage(`7`)}), `record 1: runlog: damaged`},
		"a stuck record without cause": {logOf(started(), runlog.Record{Kind: runlog.Stuck, Data: json.RawMessage(`{}`)}), `record 1: runlog: damaged`},
	} {
		t.Run("damaged: "+name, func(t *testing.T) {
			p, err := NewReplay("x", tt.log)
			assert.Nil(t, p)
			require.ErrorIs(t, err, runlog.ErrDamaged)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("damaged: an answer that is empty, a usage that is no object, a refusal", func(t *testing.T) {
		empty := called(0, "a", "1", "")
		empty.Data = json.RawMessage(`{}`)
		p, h := replay(t, started(), empty)
		p.Start(call(0, "a", "1"))
		require.ErrorContains(t, steps(p, h), `record 1: runlog: damaged: it has neither a response nor an error`)
		p, h = replay(t, started(), runlog.Record{Kind: runlog.Used, Data: json.RawMessage(`7`)})
		p.Start(call(0, "a", "1"))
		require.ErrorContains(t, steps(p, h), `record 1: runlog: damaged`)
		_, err := NewReplay("x", logOf(started(), runlog.Record{Kind: runlog.Refused, Data: json.RawMessage(`7`)}))
		require.ErrorContains(t, err, `record 1: runlog: damaged`)
	})
}

func TestClock(t *testing.T) {
	t.Run("it is not set back, and Skip does not count", func(t *testing.T) {
		var c Clock
		c.Skip(begun)
		c.Tick(begun.Add(time.Minute))
		c.Tick(begun)
		c.Skip(begun.Add(time.Hour))
		c.Tick(begun.Add(time.Hour + time.Second))
		now, worked := c.Now()
		assert.Equal(t, begun.Add(time.Hour+time.Second), now)
		assert.Equal(t, time.Minute+time.Second, worked)
		assert.Equal(t, now.Add(time.Minute), c.When(worked+time.Minute))
	})
}
