package providers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

var kinds = []providers.Kind{
	providers.RateLimited, providers.Transient, providers.Permanent, providers.Invalid, providers.Canceled,
}

func TestErrorIsOfItsKind(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			err := fmt.Errorf("write chapter 2: %w", &providers.Error{Kind: kind, Err: errors.New("cause")})
			for _, other := range kinds {
				assert.Equal(t, other == kind, errors.Is(err, other), other)
			}
			assert.NotErrorIs(t, err, errors.New(string(kind)))
			assert.EqualError(t, kind, string(kind))
		})
	}
}

func TestErrorText(t *testing.T) {
	e := &providers.Error{Kind: providers.RateLimited, Model: "p:m", Status: 429, Message: "slow down", Err: errors.New("sk-secret")}
	assert.EqualError(t, e, "p:m: rate-limited (HTTP 429): slow down")
	assert.EqualError(t, &providers.Error{Kind: providers.Canceled}, "canceled")
}

// A gateway may return a kind by itself.
func TestKindByItself(t *testing.T) {
	busy := providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		return providers.Response{}, fmt.Errorf("gateway: %w", providers.RateLimited)
	})
	resp, err := chainOf(t, busy, fake.New(t, says("second"))).Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, "second", resp.Model)

	_, err = chainOf(t, busy).Generate(t.Context(), hi)
	require.ErrorIs(t, err, providers.RateLimited)
	assert.ErrorContains(t, err, "gateway: rate-limited")
}
