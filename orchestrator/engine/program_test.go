package engine

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/providers"
)

func TestSplit(t *testing.T) {
	whole := Budget{Cost: 100, Tokens: 10, Calls: 3, Wall: time.Hour, AllowUnpriced: true}
	for n, want := range map[int]Budget{
		1:             whole,
		0:             whole,
		-4:            whole,
		math.MinInt:   whole,
		2:             {Cost: 50, Tokens: 5, Calls: 1, Wall: time.Hour, AllowUnpriced: true},
		3:             {Cost: 33, Tokens: 3, Calls: 1, Wall: time.Hour, AllowUnpriced: true},
		4:             {Cost: 25, Tokens: 2, Calls: -1, Wall: time.Hour, AllowUnpriced: true},
		10:            {Cost: 10, Tokens: 1, Calls: -1, Wall: time.Hour, AllowUnpriced: true},
		101:           {Cost: -1, Tokens: -1, Calls: -1, Wall: time.Hour, AllowUnpriced: true},
		math.MaxInt64: {Cost: -1, Tokens: -1, Calls: -1, Wall: time.Hour, AllowUnpriced: true},
	} {
		assert.Equal(t, want, whole.Split(n), "an nth for n = %d", n)
	}
	assert.Equal(t, Budget{}, Budget{}.Split(7), "no limit has no shares")
	assert.Equal(t, Budget{Cost: -1, Tokens: -1, Calls: -1, Wall: -1}, Budget{Cost: -8, Tokens: -1, Calls: -100, Wall: -1}.Split(2), "nothing has none")
	assert.Equal(t, 100, int(whole.Cost), "the whole is not changed")
}

// TestShares checks what each share of a limit has to be: all of them fit into the whole,
// one more unit a share would not, and no share of a limit is without a limit.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.Int64Range(-3, 40), rapid.Int64()).Draw(t, "limit")
		n := rapid.IntRange(1, 50).Draw(t, "n")
		b := Budget{Cost: providers.NanoUSD(limit), Tokens: limit, Calls: limit}.Split(n)
		require.Equal(t, int64(b.Cost), b.Tokens)
		require.Equal(t, b.Tokens, b.Calls)
		left, shares := limit, int64(n)
		switch {
		case limit == 0:
			require.Zero(t, b.Calls)
		case limit < shares:
			require.Equal(t, int64(-1), b.Calls)
		default:
			require.Positive(t, b.Calls)
			for range n {
				left -= b.Calls
			}
			require.GreaterOrEqual(t, left, int64(0), "the shares fit")
			require.Less(t, left, shares, "and leave less than one unit each")
		}
	})
}

// TestStatuses has the words that logs and listings have: none may ever change.
func TestStatuses(t *testing.T) {
	for status, want := range map[Status]string{
		Running: "running", Waiting: "waiting", Suspended: "suspended", Stuck: "stuck", Completed: "completed",
		Partial: "partial", OutOfBudget: "out-of-budget", Canceled: "canceled", Failed: "failed",
	} {
		assert.Equal(t, want, string(status))
	}
}
