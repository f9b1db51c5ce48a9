package rehearsal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
)

func TestWords(t *testing.T) {
	tests := []struct {
		request string
		want    []string
	}{
		{"How might a small library attract teenagers?", []string{"small", "library", "attract", "teenagers"}},
		{"Bread, BREAD and bread!", []string{"Bread"}},
		{"the with of", []string{"the", "with", "of"}},
		{"?!", []string{"something"}},
		{"Ein Drache über Köln", []string{"Ein", "Drache", "über", "Köln"}},
		{strings.Repeat("x", 99), []string{strings.Repeat("x", 40)}},
		{"one two three four five six", []string{"one", "two", "three", "four", "five"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, rehearsal.Words(tt.request, 5), "%q", tt.request)
	}
}

func TestMissing(t *testing.T) {
	assert.Equal(t, []string{"Bread", "tea"}, rehearsal.Missing([]string{"Bread", "Jam", "tea"}, "jam, breads & teas"))
	assert.Empty(t, rehearsal.Missing([]string{"Bread"}, "BREAD!"))
}

func TestRatio(t *testing.T) {
	assert.Equal(t, 0.33, rehearsal.Ratio(1, 3))
	assert.Equal(t, 1.0, rehearsal.Ratio(5, 3))
	assert.Equal(t, 1.0, rehearsal.Ratio(0, 0), "nothing of nothing is all")
}

func TestQuoted(t *testing.T) {
	pieces, task := rehearsal.Quoted("Mind this:\n<data name=\"a b\">\none\ntwo\n</data>\n<data name=\"c\">\nthree\n</data>\n\nDo it.\n")
	assert.Equal(t, map[string]string{"a b": "one\ntwo", "c": "three"}, pieces)
	assert.Equal(t, "Mind this:\n\n\n\nDo it.", task)
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, rehearsal.Wait(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, rehearsal.Wait(ctx, time.Hour), context.DeadlineExceeded)
		require.ErrorIs(t, rehearsal.Wait(ctx, 0), context.DeadlineExceeded)
	})
}

func TestDice(t *testing.T) {
	seen := map[int]bool{}
	for i := range 100 {
		text := fmt.Sprint(i)
		n := rehearsal.Dice(text, 6)
		assert.Equal(t, n, rehearsal.Dice(text, 6))
		seen[n] = true
	}
	assert.Len(t, seen, 6, "0 to 5, and no other")
}
