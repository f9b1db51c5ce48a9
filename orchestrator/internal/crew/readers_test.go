package crew_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/internal/crew"
)

func TestReadersHaveNames(t *testing.T) {
	var rs crew.Readers
	var f, other crew.Feed
	assert.Nil(t, rs.Open("r", nil, nil, 0), "nothing to read")
	assert.Nil(t, rs.Open("r", nil, nil, time.Minute))
	r := rs.Open("r", &f, nil, 0)
	require.NotNil(t, r)
	assert.Same(t, r, rs.Open("r", &f, nil, 0))
	assert.Same(t, r, rs.Open("r", &other, nil, 0), "it reads what it began with")
	assert.Same(t, r, rs.Open("r", nil, nil, 0), "the run is not here any more")
	assert.False(t, other.Watching())
	assert.NotSame(t, r, rs.Open("s", &f, nil, 0))
	report(&f, 1, 2)
	assert.Equal(t, []string{"1"}, unread(t, r), "each report once")
	rs.Close("r")
	rs.Close("r")
	rs.Close("nobody")
	report(&f, 2, 3)
	assert.Empty(t, unread(t, r), "it is forgotten")
	assert.True(t, f.Watching(), "the other one is not")
	assert.NotSame(t, r, rs.Open("r", &f, nil, 0))
}

func TestReadersOfOtherProcessesAreForgotten(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"when they did not come back in time": func(t *testing.T) {
			var rs crew.Readers
			var f crew.Feed
			rs.Open("r", &f, nil, time.Minute)
			pass(time.Minute - 1)
			assert.True(t, f.Watching())
			pass(1)
			assert.False(t, f.Watching())
			assert.Nil(t, rs.Open("r", nil, nil, time.Minute))
		},
		"not while they come back": func(t *testing.T) {
			var rs crew.Readers
			var f crew.Feed
			r := rs.Open("r", &f, nil, time.Minute)
			for range 5 {
				pass(59 * time.Second)
				require.Same(t, r, rs.Open("r", nil, nil, time.Minute))
			}
			pass(time.Minute)
			assert.False(t, f.Watching())
		},
		"never without a limit": func(t *testing.T) {
			var rs crew.Readers
			var f crew.Feed
			rs.Open("r", &f, nil, 0)
			pass(1000 * time.Hour)
			assert.True(t, f.Watching())
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
