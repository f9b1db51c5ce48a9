package dialect_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

type (
	benchTry struct {
		Text  string   `json:"text"`
		Score float64  `json:"score"`
		Notes []string `json:"notes,omitempty"`
	}
	benchStep struct {
		ID       string          `json:"id"`
		Number   int             `json:"number"`
		Words    string          `json:"words"`
		DependOn []int           `json:"dependOn,omitempty"`
		Done     bool            `json:"done"`
		Wait     time.Duration   `json:"wait,omitzero"`
		Usage    providers.Usage `json:"usage,omitzero"`
		Tries    []benchTry      `json:"tries,omitempty"`
		Last     *benchTry       `json:"last,omitempty"`
	}
	// benchOutcome is like the Outcomes of teams, without methods.
	benchOutcome struct {
		Status string               `json:"status"`
		At     time.Time            `json:"at"`
		Steps  []benchStep          `json:"steps"`
		Agents map[string]benchStep `json:"agents"`
	}
)

func benchValue() benchOutcome {
	o := benchOutcome{Status: "completed", At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Agents: map[string]benchStep{}}
	for i := range 40 {
		try := benchTry{Text: "a text of some length, as agents write it, \"quoted\"\nin two lines", Score: 72.5, Notes: []string{"one note", "é"}}
		s := benchStep{ID: "p1.s" + strconv.Itoa(i), Number: i, Words: "what is to be done in this step of the plan", DependOn: []int{1, 2}, Done: true, Wait: time.Minute, Tries: []benchTry{try, try}, Last: &try}
		s.Usage.Calls, s.Usage.Cost = 2, providers.Dollars(0.0125)
		o.Steps = append(o.Steps, s)
		if i%10 == 0 {
			o.Agents[s.ID] = s
		}
	}
	return o
}

func BenchmarkEncode(b *testing.B) {
	v := benchValue()
	b.Run("dialect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := dialect.Encode(v)
			require.NoError(b, err)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := json.Marshal(v)
			require.NoError(b, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	ours, err := dialect.Encode(benchValue())
	require.NoError(b, err)
	theirs, err := json.Marshal(benchValue())
	require.NoError(b, err)
	b.Run("dialect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, dialect.Decode(ours, new(benchOutcome)))
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, json.Unmarshal(theirs, new(benchOutcome)))
		}
	})
}
