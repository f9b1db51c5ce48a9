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
