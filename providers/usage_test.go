package providers_test

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
)

// all is a Usage with n in every field.
func all(n int64) (u providers.Usage) {
	for _, field := range reflect.ValueOf(&u).Elem().Fields() {
		field.SetInt(n)
	}
	return u
}

func TestUsageAdd(t *testing.T) {
	t.Run("the sum, or the largest number", rapid.MakeCheck(func(t *rapid.T) {
		n := rapid.Int64Min(0)
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		assert.Equal(t, all(want.Int64()), all(a).Add(all(b)))
	}))
	t.Run("at the edge", func(t *testing.T) {
		assert.Equal(t, all(math.MaxInt64), all(math.MaxInt64-1).Add(all(1)))
		assert.Equal(t, all(math.MaxInt64), all(math.MaxInt64).Add(all(1)))
		assert.Equal(t, all(math.MaxInt64), all(math.MaxInt64).Add(all(0)))
	})
}

func TestUsageNegative(t *testing.T) {
	assert.False(t, providers.Usage{}.Negative())
	assert.False(t, all(1).Negative())
	for i := range reflect.TypeFor[providers.Usage]().NumField() {
		u := all(1)
		reflect.ValueOf(&u).Elem().Field(i).SetInt(-1)
		assert.True(t, u.Negative(), "%+v", u)
	}
}
