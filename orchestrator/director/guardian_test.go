package director

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// say is a verdict with its tone, as "VERDICT tone".
func say(to Course) string { return strings.TrimSpace(to.Verdict + " " + to.Tone) }

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name          string
		alignments    []float64
		better, other string
	}{
		{"BA41 B84 B82 from 70", []float64{100, 90, 89, 70}, "ON_TRACK", "ON_TRACK"},
		{"BA42 B84 B85 B88 from 50", []float64{69.9, 69, 50}, "ON_TRACK", "DRIFTING gentle"},
		{"BA43 B85 B88 BC11 from 25", []float64{49.9, 49, 25}, "RECOVERING", "DRIFTING direct"},
		{"BA44 B87 B88 BC12 below 25", []float64{24.9, 24, 0}, "RECOVERING", "STALLED firm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, a := range tt.alignments {
				assert.Equal(t, tt.better, say(DefaultCourses.Decide(Conduct{Alignment: a, Trajectory: improving})), a)
				for _, way := range []string{stable, worsening} {
					assert.Equal(t, tt.other, say(DefaultCourses.Decide(Conduct{Alignment: a, Trajectory: way})), "%v %s", a, way)
				}
			}
		})
	}
	for _, tt := range []struct {
		name string
		k    Conduct
		want string
		ends bool
	}{
		{"BA45 B86 BC14 in circles at 95", Conduct{Alignment: 95, Trajectory: stable, Repeating: true}, "BLOCKED gentle", false},
		{"BA46 in circles and improving", Conduct{Alignment: 30, Trajectory: improving, Repeating: true}, "BLOCKED direct", false},
		{"BA47 in circles and lost", Conduct{Alignment: 20, Trajectory: stable, Repeating: true}, "STALLED firm", false},
		{"BA48 one nudge was ignored", Conduct{Alignment: 60, Trajectory: stable, Ignored: 1}, "DRIFTING gentle", false},
		{"BA48 BC13 BC15 two nudges were ignored", Conduct{Alignment: 60, Trajectory: stable, Ignored: 2}, "STALLED gentle", true},
		{"BA49 two, but it improves", Conduct{Alignment: 60, Trajectory: improving, Ignored: 2}, "ON_TRACK", false},
		{"BA50 B87 inactive", Conduct{Alignment: 95, Trajectory: improving, Inactive: true}, "STALLED gentle", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to := DefaultCourses.Decide(tt.k)
			assert.Equal(t, tt.want, say(to))
			assert.Equal(t, tt.ends, to.Ends)
		})
	}
	t.Run("BA49 what was ignored is forgotten when it improves", func(t *testing.T) {
		assert.Zero(t, DefaultCourses.Decide(Conduct{Ignored: 2, Nudged: true, Alignment: 60, Trajectory: improving}).Ignored)
		assert.Equal(t, 2, DefaultCourses.Decide(Conduct{Ignored: 2, Nudged: false, Alignment: 60, Trajectory: stable}).Ignored)
		assert.Zero(t, DefaultCourses.Decide(Conduct{Ignored: 2, Nudged: false, Alignment: 70, Trajectory: worsening}).Ignored)
	})
	t.Run("B85 BC49 bounds may be equal, and are within the scale", func(t *testing.T) {
		for bounds, valid := range map[Courses]bool{
			{Aligned: 100, OffTopic: 100, OffCourse: 100}: true, {}: true, {Aligned: 100.1}: false, {Aligned: 70, OffTopic: 71}: false,
			{OffTopic: 0, OffCourse: 1}: false, {OffCourse: -1}: false, {Nudges: -1}: false,
		} {
			assert.Equal(t, valid, bounds.Validate() == nil, bounds)
		}
		assert.Equal(t, "ON_TRACK", say(DefaultCourses.Decide(Conduct{Alignment: 69.9999999, Trajectory: stable})), "it has six decimals")
		for alignment, valid := range map[float64]bool{0: true, 100: true, 100.5: false, -0.5: false, math.NaN(): false} {
			assert.Equal(t, valid, Assessment{Alignment: alignment}.fault() == nil, alignment)
		}
	})
	t.Run("B87 without nudges an attempt ends that would get one, and no other", func(t *testing.T) {
		none := DefaultCourses
		none.Nudges = 0
		assert.True(t, none.Decide(Conduct{Alignment: 69, Trajectory: stable}).Ends)
		assert.False(t, none.Decide(Conduct{Alignment: 70, Trajectory: worsening}).Ends)
		assert.False(t, none.Decide(Conduct{Alignment: 20, Trajectory: improving}).Ends)
	})
	t.Run("B82 B85 every alignment has a verdict and a tone that fit", rapid.MakeCheck(func(t *rapid.T) {
		k := Conduct{
			Alignment:  rapid.Float64Range(0, 100).Draw(t, "alignment"),
			Trajectory: rapid.SampledFrom([]string{improving, stable, worsening}).Draw(t, "trajectory"),
			Repeating:  rapid.Bool().Draw(t, "repeating"), Ignored: rapid.IntRange(0, 3).Draw(t, "ignored"), Nudged: rapid.Bool().Draw(t, "nudged"),
			Inactive: rapid.Bool().Draw(t, "inactive"),
		}
		to := DefaultCourses.Decide(k)
		if k.Trajectory == improving && !k.Inactive {
			assert.NotEqual(t, stalled, to.Verdict, "one that improves gets time")
			assert.False(t, to.Ends)
		}
		assert.Equal(t, to.Verdict == onTrack || to.Verdict == recovering, to.Tone == "")
		if to.Ends {
			assert.Equal(t, stalled, to.Verdict)
		}
		assert.Empty(t, to.fault())
	}))
}

func TestSequences(t *testing.T) {
	for _, tt := range []struct {
		name, alignments, want string // an alignment with r behind it is one in circles
	}{
		{"BA51 B83 from 50 to 75", "50 75", "DRIFTING gentle 0; ON_TRACK 0"},
		{"BA52 down to 20", "80 60 40 20", "ON_TRACK 0; DRIFTING gentle 0; DRIFTING direct 1; STALLED firm 2 ends"},
		{"BA53 a recovery from 60", "80 60 65 72", "ON_TRACK 0; DRIFTING gentle 0; ON_TRACK 0; ON_TRACK 0"},
		{"BA54 a recovery from 20", "20 30 45 60", "STALLED firm 0; RECOVERING 0; RECOVERING 0; ON_TRACK 0"},
		{"BA55 20 for ever", "20 20 20", "STALLED firm 0; STALLED firm 1; STALLED firm 2 ends"},
		{"BA56 40 for ever", "40 40 40", "DRIFTING direct 0; DRIFTING direct 1; STALLED direct 2 ends"},
		{"BA57 in circles for ever", "95 95r 95r 95r", "ON_TRACK 0; BLOCKED gentle 0; BLOCKED gentle 1; STALLED gentle 2 ends"},
		{"BA58 in circles, then not", "95 95r 95r 95", "ON_TRACK 0; BLOCKED gentle 0; BLOCKED gentle 1; ON_TRACK 0"},
		{"BA59 B83 BC16 up and down", "30 31 30 29", "DRIFTING direct 0; RECOVERING 0; DRIFTING direct 0; DRIFTING direct 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said []string
			var alignments []float64
			ignored, nudged := 0, false
			for word := range strings.FieldsSeq(tt.alignments) {
				var a float64
				number, repeating := strings.CutSuffix(word, "r")
				_, err := fmt.Sscan(number, &a)
				require.NoError(t, err)
				alignments = append(alignments, a)
				to := DefaultCourses.Decide(Conduct{Alignment: a, Trajectory: trajectoryOf(alignments), Repeating: repeating, Nudged: nudged, Ignored: ignored})
				line := fmt.Sprint(say(to), " ", to.Ignored)
				if to.Ends {
					line += " ends"
				}
				said = append(said, line)
				ignored, nudged = to.Ignored, to.Tone != "" && !to.Ends
			}
			assert.Equal(t, tt.want, strings.Join(said, "; "))
		})
	}
	t.Run("BC16 B83 fewer than two are stable", func(t *testing.T) {
		assert.Equal(t, stable, trajectoryOf(nil))
		assert.Equal(t, stable, trajectoryOf([]float64{5}))
		assert.Equal(t, stable, trajectoryOf([]float64{9, 5, 5}))
		assert.Equal(t, improving, trajectoryOf([]float64{9, 50, 75}))
		assert.Equal(t, worsening, trajectoryOf([]float64{1, 50, 49.9}))
	})
}

func TestCheckDue(t *testing.T) {
	for _, tt := range []struct {
		calls   int
		elapsed time.Duration
		want    bool
	}{
		{14, 59900 * time.Millisecond, false},
		{15, 0, true},
		{0, time.Minute, true},
		{14, time.Minute, true},
		{15, time.Minute, true},
		{16, time.Second, true},
	} {
		t.Run(fmt.Sprintf("BA60 B81 %d calls, %v", tt.calls, tt.elapsed), func(t *testing.T) {
			assert.Equal(t, tt.want, checkDue(tt.calls, 15, tt.elapsed, time.Minute))
		})
	}
	t.Run("BA60 an interval of 0 is none", func(t *testing.T) {
		assert.False(t, checkDue(99, 0, time.Hour, 0))
		assert.True(t, checkDue(99, 1, time.Hour, 0))
		assert.True(t, checkDue(99, 0, time.Hour, 1))
	})
	t.Run("B118 the interval by risk", func(t *testing.T) {
		for risk, want := range map[float64]int{0: 23, 0.25: 19, 0.5: 15, 0.75: 11, 1: 8} {
			got, err := interval(15, &risk)
			require.NoError(t, err)
			assert.Equal(t, want, got, risk)
		}
		got, err := interval(15, nil)
		require.NoError(t, err)
		assert.Equal(t, 15, got)
		got, err = interval(0, nil)
		require.NoError(t, err)
		assert.Equal(t, 1, got)
		for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
			_, err := interval(15, &bad)
			require.ErrorContains(t, err, "want 0 to 1")
		}
	})
}
