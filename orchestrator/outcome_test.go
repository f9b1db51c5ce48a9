package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

type paper struct {
	orchestrator.Outcome
	Title string `json:"title"`
}

func TestStatusOfTheEnd(t *testing.T) {
	tests := []struct {
		name string
		out  any
		err  error
		want orchestrator.Status
	}{
		{"no error", "x", nil, orchestrator.Completed},
		{"no budget", "x", fmt.Errorf("no more: %w", orchestrator.ErrBudget), orchestrator.OutOfBudget},
		{"a cancel", "x", orchestrator.ErrCanceled, orchestrator.Canceled},
		{"any other error", "x", errors.New("no"), orchestrator.Failed},
		{"an outcome without a word", paper{}, orchestrator.ErrBudget, orchestrator.OutOfBudget},
		{"an outcome's word", paper{Outcome: orchestrator.Outcome{Status: orchestrator.Partial}}, nil, orchestrator.Partial},
		{"an outcome's word beside an error", paper{Outcome: orchestrator.Outcome{Status: orchestrator.Partial}}, errors.New("no"), orchestrator.Partial},
		{"an outcome by pointer", &paper{Outcome: orchestrator.Outcome{Status: orchestrator.Partial}}, nil, orchestrator.Partial},
		{"no outcome by pointer", (*paper)(nil), nil, orchestrator.Completed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t, local(t, orchestrator.Config{}), flow("ends", func(*orchestrator.Context) (any, error) { return tt.out, tt.err }), "x")
				require.NoError(t, r.Wait(t.Context()), "it ended")
				i, err := r.Info(t.Context())
				require.NoError(t, err)
				assert.Equal(t, tt.want, i.Status)
				if tt.err != nil {
					assert.Equal(t, tt.err.Error(), i.Err)
				}
			})
		})
	}
}

func TestOutcomeIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		score := 0.25
		f := flow("paper", func(*orchestrator.Context) (paper, error) {
			return paper{Title: "Tea", Outcome: orchestrator.Outcome{Score: &score, Unverified: []string{"the year"}, Status: orchestrator.OutOfBudget, Spent: providers.Usage{Cost: 3}}}, orchestrator.ErrBudget
		})
		e := local(t, orchestrator.Config{Store: newPlain()})
		got, err := f.Result(t.Context(), begin(t, e, f, "x"))
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, "Tea", got.Title)
		for listed, err := range e.Runs(t.Context(), orchestrator.RunQuery{}) {
			require.NoError(t, err)
			assert.Equal(t, orchestrator.OutOfBudget, listed.Status)
			r, err := e.Open(t.Context(), listed.ID)
			require.NoError(t, err)
			i, err := r.Info(t.Context())
			require.NoError(t, err)
			want := orchestrator.Outcome{Status: orchestrator.OutOfBudget, Score: &score, Unverified: []string{"the year"}, Spent: providers.Usage{Cost: 3}}
			assert.Equal(t, &want, i.Outcome, "with the status that the run ended with")
		}
	})
}

func TestResultThatDoesNotDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, local(t, orchestrator.Config{}), flow("x", func(*orchestrator.Context) (string, error) { return "text", nil }), "x")
		_, err := flow("x", func(*orchestrator.Context) (int, error) { return 0, nil }).Result(t.Context(), r)
		assert.ErrorContains(t, err, `the output of flow "x" does not decode to a int`)
	})
}

// What an agent or a flow returns as an error reaches the host in one form, in
// memory as well as from a log.
func TestErrorsLoseTheirType(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    orchestrator.Config
	}{
		{"in memory", orchestrator.Config{}},
		{"on a store", orchestrator.Config{Store: newPlain()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var syntax *json.SyntaxError
				tt.c.Agents = agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
					return agent.Response{}, fmt.Errorf("%w: %w", agent.Code("acme/odd"), json.Unmarshal([]byte("{"), &struct{}{}))
				})}
				inFlow := false
				f := flow("odd", func(c *orchestrator.Context) (none, error) {
					_, err := ask(c, "a", "")
					inFlow = errors.As(err, &syntax)
					return none{}, fmt.Errorf("the flow: %w", err)
				})
				_, err := f.Run(t.Context(), local(t, tt.c), none{})
				assert.False(t, inFlow, "in the flow")
				assert.NotErrorAs(t, err, &syntax)
				require.ErrorIs(t, err, agent.Code("acme/odd"))
				var crossed *agent.Error
				require.ErrorAs(t, err, &crossed)
				assert.ErrorContains(t, err, "the flow: acme/odd: unexpected end of JSON input")
			})
		})
	}
}

// An Outcome inside of an interface is found, too.
func TestOutcomeInAnInterface(t *testing.T) {
	f := flow("any", func(*orchestrator.Context) (any, error) {
		return struct{ orchestrator.Outcome }{orchestrator.Outcome{Status: orchestrator.Partial}}, nil
	})
	r := begin(t, local(t, orchestrator.Config{}), f, "x")
	out, err := f.Result(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"status": "partial"}, out)
	info, err := r.Info(t.Context())
	require.NoError(t, err)
	require.NotNil(t, info.Outcome)
	assert.Equal(t, orchestrator.Partial, info.Status)
}

// ownForm is an Out that writes and reads itself.
type ownForm struct {
	says   string
	writes *int
	read   []string
}

func (o ownForm) MarshalJSON() ([]byte, error) { *o.writes++; return []byte(o.says), nil }

func (o *ownForm) UnmarshalJSON(data []byte) error { o.read = append(o.read, string(data)); return nil }

func TestOutWritesAndReadsItselfOnce(t *testing.T) {
	for _, tt := range []struct{ says, read, failure string }{
		{` {"a" : 1} `, `{"a":1}`, ""},
		{`{"a":"<b>"}`, `{"a":"<b>"}`, ""},
		{`{"a":`, "", `the output of flow "own" has no JSON form: json: error calling MarshalJSON for type *orchestrator_test.ownForm: unexpected end of JSON input`},
	} {
		writes := 0
		f := flow("own", func(*orchestrator.Context) (ownForm, error) { return ownForm{says: tt.says, writes: &writes}, nil })
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
		assert.Equal(t, 1, writes, tt.says)
		if tt.failure != "" {
			require.ErrorContains(t, err, tt.failure)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{tt.read}, got.read)
	}
}
