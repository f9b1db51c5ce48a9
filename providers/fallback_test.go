package providers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestFallbackOn(t *testing.T) {
	fails := func(kind providers.Kind, reason providers.Reason) fake.Answer {
		return fake.Answer{Err: &providers.Error{Kind: kind, Reason: reason, Model: "p:first", Message: "no", Usage: providers.Usage{Input: 3}}}
	}
	tests := []struct {
		name  string
		first fake.Answer
		on    []providers.Reason
		moves bool
	}{
		{"overloaded", fails(providers.Transient, providers.Overloaded), []providers.Reason{providers.Overloaded}, true},
		{"overloaded, not chosen", fails(providers.Transient, providers.Overloaded), nil, false},
		{"overloaded, another chosen", fails(providers.Transient, providers.Overloaded), []providers.Reason{providers.Quota}, false},
		{"quota", fails(providers.Permanent, providers.Quota), []providers.Reason{providers.NotFound, providers.Quota}, true},
		{"not found", fails(providers.Permanent, providers.NotFound), []providers.Reason{providers.NotFound}, true},
		{"refused by an error", fails(providers.Invalid, providers.Refused), []providers.Reason{providers.Refused}, true},
		{"refused by an answer", fake.Answer{Text: "no", Stop: providers.StopFilter, Usage: providers.Usage{Input: 3}}, []providers.Reason{providers.Refused}, true},
		{"rate limited", fails(providers.RateLimited, ""), nil, true},
		{"no reason", fails(providers.Transient, ""), []providers.Reason{providers.Overloaded, providers.Unavailable}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := fake.New(t, tt.first)
			second := fake.New(nil)
			second.When(fake.Rule{Answer: fake.Answer{Text: "yes", Usage: providers.Usage{Input: 1}}})
			c, err := providers.NewChain(first, second)
			require.NoError(t, err)
			c.FallbackOn = tt.on
			resp, err := c.Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}})
			if !tt.moves {
				require.Error(t, err)
				assert.Empty(t, second.Requests())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "yes", resp.Text)
			assert.Equal(t, int64(4), resp.Usage.Input, "what the first one charged counts")
			assert.Equal(t, int64(1), resp.Usage.Fallbacks)
			require.Len(t, resp.Before, 1)
			assert.NotEmpty(t, resp.Before[0].Kind)
		})
	}
}

// A refusal of the last model is the answer; its failure is the error.
func TestFallbackOnTheLastModel(t *testing.T) {
	overloaded := fake.Answer{Err: &providers.Error{Kind: providers.Transient, Reason: providers.Overloaded}}
	refusal := fake.Answer{Text: "no", Stop: providers.StopFilter}
	hi := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}
	c, err := providers.NewChain(fake.New(t, overloaded, overloaded), fake.New(t, refusal, overloaded))
	require.NoError(t, err)
	c.FallbackOn = []providers.Reason{providers.Overloaded, providers.Refused}
	resp, err := c.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, providers.StopFilter, resp.Stop)
	_, err = c.Generate(t.Context(), hi)
	require.ErrorIs(t, err, providers.Overloaded)
}

func TestFallbackOnOfRoles(t *testing.T) {
	var c providers.Config
	require.NoError(t, json.Unmarshal([]byte(`{"roles":{"a":["p:m","p:n"],"b":["p:m"]},"fallbackOn":{"":["overloaded"],"a":["quota","refused"]}}`), &c))
	opened := func(s providers.Spec) (providers.Model, error) {
		return providers.ModelFunc(nil), nil
	}
	roles, err := c.Open(opened)
	require.NoError(t, err)
	for role, want := range map[string][]providers.Reason{"a": {providers.Quota, providers.Refused}, "b": {providers.Overloaded}} {
		m, err := roles.Model(role)
		require.NoError(t, err)
		assert.Equal(t, want, m.(*providers.Chain).FallbackOn)
	}
	c.FallbackOn = map[string][]providers.Reason{"x": {"sometimes"}}
	require.ErrorContains(t, c.Validate("p"), `fallbackOn of "x": there is no such role`)
	require.ErrorContains(t, c.Validate("p"), `"sometimes" is none of`)
}

// A model that cools down is passed by, and the answer says so too.
func TestFallbackPastAModelThatCoolsDown(t *testing.T) {
	limit := &providers.Error{Kind: providers.RateLimited, Model: "a:large", Message: "slow down", RetryAfter: time.Minute, Usage: providers.Usage{Input: 3}}
	first, second := fake.New(t, fake.Answer{Err: limit}), fake.New(nil)
	second.When(fake.Rule{Answer: fake.Answer{Text: "yes", Usage: providers.Usage{Input: 1}}})
	c, err := providers.NewChain(first, second)
	require.NoError(t, err)
	for _, input := range []int64{4, 1} { // the limit is charged once
		resp, err := c.Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}})
		require.NoError(t, err)
		assert.Equal(t, input, resp.Usage.Input)
		assert.Equal(t, int64(1), resp.Usage.Fallbacks)
		require.Len(t, resp.Before, 1)
		assert.Equal(t, "slow down", resp.Before[0].Message)
		assert.NoError(t, resp.Before[0].Err)
	}
	assert.Len(t, first.Requests(), 1)
}
