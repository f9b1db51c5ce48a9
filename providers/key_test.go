package providers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/providers"
)

func TestKey(t *testing.T) {
	assert.Empty(t, providers.KeyFrom(t.Context()))
	ctx := providers.WithKey(t.Context(), "run/0:3")
	assert.Equal(t, "run/0:3", providers.KeyFrom(ctx))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	assert.Equal(t, "run/0:3", providers.KeyFrom(inner))
	assert.Equal(t, "run/0:4", providers.KeyFrom(providers.WithKey(inner, "run/0:4")), "the innermost counts")
}

func TestOrigin(t *testing.T) {
	assert.Zero(t, providers.OriginFrom(t.Context()))
	o := providers.Origin{Key: "run/0", Agent: "worker", Op: "work", Task: "t-1", Attempt: 2}
	ctx := providers.WithOrigin(t.Context(), o)
	assert.Equal(t, o, providers.OriginFrom(ctx))
	assert.Equal(t, "run/0", providers.KeyFrom(ctx))
	o.Key = "run/0~1"
	assert.Equal(t, o, providers.OriginFrom(providers.WithKey(ctx, "run/0~1")), "another key of the same call")
}
