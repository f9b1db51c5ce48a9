package cli

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// failing is an outage whose model fails as the kinds say, one after the other; ""
// answers.
func failing(t *testing.T, kinds ...providers.Kind) (ask func() error, cause func() error) {
	t.Helper()
	ctx, suspend := context.WithCancelCause(t.Context())
	calls := 0
	m := &outage{suspend: suspend, model: providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
		kind := kinds[calls]
		calls++
		if kind == "" {
			return providers.Response{Text: "fine"}, nil
		}
		return providers.Response{}, &providers.Error{Kind: kind, Message: "no"}
	})}
	ask = func() error {
		_, err := m.Generate(ctx, providers.Request{})
		return err
	}
	return ask, func() error { return context.Cause(ctx) }
}

func TestOutageOfAService(t *testing.T) {
	var kinds []providers.Kind
	for range mostFailures - 1 {
		kinds = append(kinds, providers.Transient)
	}
	kinds = append(kinds, "")
	for range mostFailures {
		kinds = append(kinds, providers.RateLimited)
	}
	ask, cause := failing(t, kinds...)
	for range mostFailures - 1 {
		require.ErrorContains(t, ask(), "transient: no", "an agent's failure")
	}
	require.NoError(t, ask(), "from here on they are counted anew")
	for range mostFailures - 1 {
		require.ErrorContains(t, ask(), "rate-limited: no")
	}
	require.NoError(t, cause())
	require.ErrorIs(t, ask(), context.Canceled, "nothing to be recorded")
	require.ErrorIs(t, cause(), errOutage)
	assert.ErrorContains(t, cause(), "rate-limited: no")
}

func TestOutageAtOnce(t *testing.T) {
	ask, cause := failing(t, providers.Permanent)
	require.ErrorIs(t, ask(), context.Canceled)
	require.ErrorIs(t, cause(), errOutage)
}

func TestOutageKeepsThePrice(t *testing.T) {
	assert.True(t, (&outage{model: providers.Metered{Spec: providers.Spec{Price: &providers.Price{}}}}).Priced())
	assert.False(t, (&outage{model: providers.Metered{}}).Priced())
	assert.False(t, (&outage{model: providers.ModelFunc(nil)}).Priced())
}
