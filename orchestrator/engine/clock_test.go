package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// later lets virtual time pass, and returns the time then.
func later(d time.Duration) time.Time {
	<-time.After(d)
	return time.Now()
}

func TestTheTimeOfRecords(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"N13 it is the wall clock's, where that is not behind the log": func(t *testing.T) {
			var c Clock
			assert.True(t, c.At(time.Now()).Equal(time.Now()), "a run without a record")
			c.Skip(time.Now().Add(-time.Hour))
			assert.True(t, c.At(later(time.Minute)).Equal(time.Now()))
			var resumed Clock
			resumed.Skip(time.Now().Add(-time.Hour))
			resumed.Tick(time.Now().Add(-time.Minute))
			assert.True(t, resumed.At(time.Now()).Equal(time.Now()))
		},
		"N13 behind the log it goes on from there, and does not stand still": func(t *testing.T) {
			var c Clock
			last := time.Now().Add(time.Hour)
			c.Skip(last)
			assert.Equal(t, last.UTC(), c.At(time.Now()).UTC())
			for range 3 {
				last = last.Add(time.Second)
				at := c.At(later(time.Second))
				assert.True(t, at.Equal(last))
				c.Tick(at)
			}
			_, worked := c.Now()
			assert.Equal(t, 3*time.Second, worked)
		},
		"N13 it follows the wall clock forward": func(t *testing.T) {
			var c Clock
			c.At(time.Now())
			c.run = c.run.Add(-8 * time.Hour) // as if only the wall clock had gone on for 8 h
			assert.True(t, c.At(time.Now()).Equal(time.Now()))
			assert.True(t, c.At(later(time.Second)).Equal(time.Now()))
		},
		"N13 a time that is noted later stays before those that were noted first": func(t *testing.T) {
			var c Clock
			c.Skip(time.Now().Add(time.Hour))
			c.At(time.Now())
			early := later(time.Second)
			c.Tick(c.At(later(time.Second)))
			assert.True(t, c.At(early).Equal(early.Add(time.Hour)))
			assert.True(t, c.At(time.Now()).Equal(time.Now().Add(time.Hour)), "nothing is added up")
		},
		"N13 records have no monotonic part and are in UTC": func(t *testing.T) {
			var c Clock
			for range 2 {
				at := c.At(later(time.Second))
				assert.True(t, at == at.Round(0), "as it is read back") //nolint:staticcheck // == compares the monotonic part too
				assert.Equal(t, time.UTC, at.Location())
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// TestWhatIsLeftOfAWait resumes waits of random lengths by logs whose clocks were ahead or
// behind.
func TestWhatIsLeftOfAWait(t *testing.T) {
	t.Run("N13 never below 0 and never above its length", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			span := rapid.Int64Range(0, int64(48*time.Hour))
			length := time.Duration(span.Draw(rt, "length"))
			before := time.Duration(span.Draw(rt, "worked before it began"))
			after := time.Duration(span.Draw(rt, "worked after it began"))
			down := time.Duration(span.Draw(rt, "not worked on"))
			ahead := time.Duration(span.Draw(rt, "ahead")) - 24*time.Hour
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				var c Clock
				c.Skip(time.Now().Add(ahead))
				c.Tick(time.Now().Add(ahead + before))
				now, _ := c.Now()
				until := now.Add(length)
				c.Tick(now.Add(after))
				pause := before + after + down
				c.Skip(c.At(later(pause)))
				want := max(length-max(after+down-ahead, after), 0)
				if got := c.Left(until); got != want || got > length {
					rt.Fatalf("%v are left, want %v", got, want)
				}
				half := want / 2
				later(half)
				if got := c.Left(until); got != want-half {
					rt.Fatalf("%v are left %v later, want %v", got, half, want-half)
				}
			})
		})
	})
}
