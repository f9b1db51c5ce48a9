package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// recordsOf makes records of key q from words: "ask", "reject" (an Asked record that says
// why an answer was dropped), "answer=1", "expire", "withdraw".
func recordsOf(words string) (recs []runlog.Record) {
	for word := range strings.FieldsSeq(words) {
		name, data, _ := strings.Cut(word, "=")
		rec := runlog.Record{Name: "q"}
		switch name {
		case "ask":
			rec.Kind, rec.Data = runlog.Asked, json.RawMessage(`{"key":"q"}`)
		case "again":
			rec.Kind, rec.Data = runlog.Asked, json.RawMessage(`{"key":"q","text":"another","again":true}`)
		case "reject":
			rec.Kind, rec.Data = runlog.Asked, json.RawMessage(`{"key":"q","rejected":"want a number"}`)
		case "answer":
			rec.Kind, rec.Data = runlog.Answered, json.RawMessage(data)
		case "expire":
			rec.Kind = runlog.Expired
		case "withdraw":
			rec.Kind = runlog.Withdrawn
		}
		recs = append(recs, rec)
	}
	return recs
}

func stateAfter(words string) QuestionState {
	s := QuestionState{Key: "q"}
	for _, rec := range recordsOf(words) {
		s = s.Note(rec)
	}
	return s
}

func TestQuestionState(t *testing.T) {
	for words, want := range map[string]string{
		"":                                 `0 ""`,
		"ask":                              `0 "asked"`,
		"ask ask":                          `0 "asked"`,
		"expire":                           `0 "expired"`,
		"answer=1":                         `0 "answered"`,
		"answer=1 ask":                     `0 "answered"`,
		"answer=1 expire":                  `0 "answered"`,
		"answer=1 withdraw ask":            `0 "answered"`,
		"answer=1 reject":                  `1 "asked"`,
		"reject":                           `0 "asked"`,
		"answer=1 reject reject":           `1 "asked"`,
		"answer=1 reject answer=2":         `1 "answered"`,
		"ask answer=1 answer=2":            `0 "answered"`,
		"ask expire":                       `0 "expired"`,
		"ask withdraw":                     `0 "withdrawn"`,
		"ask withdraw expire":              `0 "expired"`,
		"ask withdraw answer=1":            `0 "answered"`,
		"ask expire ask":                   `1 "asked"`,
		"ask withdraw ask":                 `1 "asked"`,
		"ask expire ask expire ask":        `2 "asked"`,
		"ask expire ask ask withdraw":      `1 "withdrawn"`,
		"ask expire ask answer=1 reject":   `2 "asked"`,
		"expire reject":                    `1 "asked"`,
		"ask answer=1 reject withdraw ask": `2 "asked"`,
		"again":                            `0 "asked"`,
		"ask again":                        `1 "asked"`,
		"ask answer=1 again":               `1 "asked"`,
		"ask answer=1 again answer=2 ask":  `1 "answered"`,
		"ask expire again":                 `1 "asked"`,
	} {
		s := stateAfter(words)
		assert.Equal(t, want, fmt.Sprintf("%d %q", s.Round, s.Kind), "after %q", words)
	}
	assert.JSONEq(t, `1`, string(stateAfter("ask answer=1 answer=2").Data), "the first answer counts")
}

func TestRejects(t *testing.T) {
	for data, want := range map[string]bool{
		``: false, `{}`: false, `{"rejected":""}`: false, `{"rejected":null}`: false, `"rejected"`: false, `[`: false,
		`{"data":{"rejected":"no"}}`: false, `{"rejected":"no"}`: true, `{"rejected": "x" }`: true,
	} {
		got := QuestionState{Kind: runlog.Answered}.Note(runlog.Record{Kind: runlog.Asked, Data: json.RawMessage(data)})
		assert.Equal(t, want, got.Round == 1 && got.Kind == runlog.Asked, "an answer and then Asked with %s", data)
	}
}

func TestTakesAndOver(t *testing.T) {
	for _, tt := range []struct {
		words       string
		round       int
		answer      string // fate of an answer: taken, over, or kept for later
		expiry      string
		description string
	}{
		{"", 0, "taken", "taken", "early"},
		{"", 1, "kept", "kept", "of a round that is not on record yet"},
		{"ask", 0, "taken", "taken", "in time"},
		{"ask answer=1", 0, "over", "over", "the second"},
		{"ask expire", 0, "over", "taken over", "late; another branch that waits expires, too"},
		{"ask withdraw", 0, "over", "taken", "late; a branch that still waits expires"},
		{"ask expire ask", 0, "over", "over", "of the round before"},
		{"ask expire ask", 1, "taken", "taken", "of the present round"},
		{"ask expire ask", 2, "kept", "kept", "of the next round"},
		{"ask answer=1 reject", 0, "over", "over", "the answer that was rejected"},
		{"ask answer=1 reject", 1, "taken", "taken", "the next one"},
	} {
		s := stateAfter(tt.words)
		for i, want := range []string{tt.answer, tt.expiry} {
			l := &runlog.Letter{Key: "q", Round: tt.round, Expired: i == 1}
			assert.Equal(t, strings.Contains(want, "taken"), s.Takes(l), "%s: after %q, expired %t: takes", tt.description, tt.words, l.Expired)
			assert.Equal(t, strings.Contains(want, "over"), s.Over(l), "%s: after %q, expired %t: over", tt.description, tt.words, l.Expired)
		}
	}
}

func TestVerdict(t *testing.T) {
	for words, want := range map[string]struct {
		open bool
		err  error
		text string
	}{
		"":                        {err: ErrNoQuestion, text: `the question "q" was not asked (yet)`},
		"ask":                     {open: true},
		"ask answer={\"a\":7}":    {err: ErrAnswered, text: `the question "q" has another answer`},
		"ask answer=7.0":          {},
		"answer=7":                {},
		"ask expire":              {err: ErrNoQuestion, text: `the question "q" has expired`},
		"ask withdraw":            {err: ErrNoQuestion, text: `the question "q" was withdrawn`},
		"ask expire ask":          {open: true},
		"ask answer=7 reject":     {open: true},
		"ask answer=nonsense ask": {err: ErrAnswered, text: "another answer"},
	} {
		open, err := stateAfter(words).Verdict(&Command{Data: json.RawMessage(" 7 "), Hash: hashOf("q")})
		assert.Equal(t, want.open, open, "after %q", words)
		require.ErrorIs(t, err, want.err, "after %q", words)
		if want.err != nil {
			require.ErrorContains(t, err, want.text)
		}
	}
	seen := json.RawMessage(`{"$answer":7,"seen":"another"}`)
	for _, words := range []string{"ask", "ask answer=7", "ask answer=8"} {
		open, err := stateAfter(words).Verdict(&Command{Data: seen, Hash: hashOf("q")})
		assert.False(t, open, "after %q", words)
		require.ErrorIs(t, err, ErrChanged, "after %q", words)
	}
	open, err := stateAfter("ask").Verdict(&Command{Data: json.RawMessage("7"), Hash: hashOf("another")})
	assert.False(t, open)
	require.ErrorIs(t, err, ErrChanged, "it was checked against another question")
}

// slow is the question of one key, decided from the whole history each time: it splits
// the history where a new round begins.
type slow []runlog.Record

func (h slow) rounds() (rounds [][]runlog.Record) {
	rounds = [][]runlog.Record{nil}
	for _, rec := range h {
		present := rounds[len(rounds)-1]
		has := func(kinds ...string) bool {
			return slices.ContainsFunc(present, func(r runlog.Record) bool { return slices.Contains(kinds, r.Kind) })
		}
		if rec.Kind == runlog.Asked {
			rejected := strings.Contains(string(rec.Data), "rejected")
			again := strings.Contains(string(rec.Data), `"again":true`)
			if again && len(present) > 0 || has(runlog.Answered) && rejected || !has(runlog.Answered) && has(runlog.Expired, runlog.Withdrawn) {
				rounds = append(rounds, nil)
			}
		}
		rounds[len(rounds)-1] = append(rounds[len(rounds)-1], rec)
	}
	return rounds
}

func (h slow) state() (round int, kind, data string) {
	rounds := h.rounds()
	last := rounds[len(rounds)-1]
	for _, rec := range last {
		if rec.Kind == runlog.Answered {
			return len(rounds) - 1, rec.Kind, string(rec.Data)
		}
	}
	for _, rec := range last {
		kind, data = rec.Kind, string(rec.Data)
	}
	return len(rounds) - 1, kind, data
}

// TestOpenAsIndexesHaveIt compares the rule of runlog, by which stores keep open questions,
// with the states of questions.
func TestOpenAsIndexesHaveIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var last runlog.AskChange
		state := QuestionState{Key: "q"}
		for _, rec := range recordsOf(anyWords.Draw(t, "words")) {
			if c := runlog.ChangeOf(rec); c.Counts(last) {
				last = c
			}
			state = state.Note(rec)
			assert.Equal(t, state.Kind == runlog.Asked, last.Opens)
		}
	})
}

var anyWords = rapid.Custom(func(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"ask", "ask", "reject", "again", "answer=1", "answer=2", "expire", "withdraw"})
	return strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), " ")
})

func TestQuestionStateAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := anyWords.Draw(t, "log")
		s := stateAfter(words)
		round, kind, data := slow(recordsOf(words)).state()
		if s.Round != round || s.Kind != kind || string(s.Data) != data {
			t.Fatalf("after %q: round %d %q %s, want round %d %q %s", words, s.Round, s.Kind, s.Data, round, kind, data)
		}
	})
}

// TestEachAddressTakesOnce has letters from anywhere: of those with one address, at most
// one is accepted, unless it only says once more that the time is over.
func TestEachAddressTakesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Questions
		answers, expiries := map[int]int{}, map[int]int{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "record") {
				for _, rec := range recordsOf(rapid.SampledFrom([]string{"ask", "reject", "withdraw"}).Draw(t, "word")) {
					q.Note(rec)
				}
				continue
			}
			l := runlog.Letter{Key: "q", Round: rapid.IntRange(0, 4).Draw(t, "round"), Expired: rapid.Bool().Draw(t, "expired"), Data: json.RawMessage(`1`)}
			before := q.State("q")
			switch taken := q.Accept(l); {
			case taken != before.Takes(&l):
				t.Fatalf("Accept(%+v) = %t in state %+v", l, taken, before)
			case !taken && fmt.Sprint(q.State("q")) != fmt.Sprint(before):
				t.Fatalf("a letter that is not accepted moves %+v to %+v", before, q.State("q"))
			case taken && l.Expired:
				expiries[l.Round]++
			case taken:
				answers[l.Round]++
			}
		}
		for round, n := range answers {
			if n > 1 || expiries[round] > 0 {
				t.Fatalf("round %d: %d answers and %d expiries", round, n, expiries[round])
			}
		}
	})
}

func TestLetterRecord(t *testing.T) {
	data := json.RawMessage(`1`)
	assert.Equal(t, runlog.Record{Run: "r", Kind: runlog.Answered, Name: "q", Data: data}, LetterRecord(&runlog.Letter{Run: "r", Key: "q", Round: 3, Data: data}))
	assert.Equal(t, runlog.Record{Run: "r", Kind: runlog.Expired, Name: "q"}, LetterRecord(&runlog.Letter{Run: "r", Key: "q", Expired: true}))
	assert.Equal(t, runlog.Record{Run: "r", Kind: runlog.Canceled, Data: data}, LetterRecord(&runlog.Letter{Run: "r", Data: data}))
}
