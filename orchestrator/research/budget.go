package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// timeLeft is the rest of the time; 0: there is no limit, -1: it is up.
func (r *run) timeLeft(c *orchestrator.Context) time.Duration {
	left := c.Left().Wall
	if r.state.Input.Limits.Time <= 0 {
		return left
	}
	rest := r.state.Input.Limits.Time - c.Elapsed()
	if rest < time.Millisecond || left < 0 {
		return -1
	}
	return min(rest, cmp.Or(left, rest))
}

// within returns a wait that is no longer than the rest of the time.
func (r *run) within(c *orchestrator.Context, wait time.Duration) time.Duration {
	if left := r.timeLeft(c); left != 0 {
		return min(wait, max(left, 0))
	}
	return wait
}

// shortage is the bound that is used up, as a code of warnings and in words.
func (r *run) shortage(c *orchestrator.Context) (code, text string) {
	if r.timeLeft(c) < 0 {
		return "time", timeUp
	}
	return "budget", budgetUsed
}

// breaks reports whether the run cannot continue at all: it is canceled, or its flow broke a
// rule of the engine.
func (r *run) breaks(c *orchestrator.Context, err error) bool {
	return c.IsCanceled(err) || orchestrator.IsBroken(err)
}

// room is what a plan may use: the rest of money and time, less what evaluations have used
// so far.
func (r *run) room(c *orchestrator.Context) Room {
	return Room{
		Cost: less(c.Left().Cost, max(r.overhead.Cost, r.state.Input.Limits.Estimate)), Time: less(r.timeLeft(c), r.overhead.Wall),
		StepLimit: r.Bounds.StepLimit,
	}
}

// less is the rest of a bound; 0: there is none, -1: nothing is left.
func less[N ~int64](bound, taken N) N {
	if bound == 0 || bound > taken {
		return max(bound-taken, 0)
	}
	return -1
}

// left is the rest of money and time in words, for people and models.
func (r *run) left(c *orchestrator.Context) string {
	limits, t := r.state.Input.Limits, r.timeLeft(c)
	var parts []string
	if limits.Cost > 0 {
		parts = append(parts, fmt.Sprintf("USD %s of %s", amount(max(c.Left().Cost, 0)), amount(limits.Cost)))
	}
	switch {
	case limits.Time > 0:
		parts = append(parts, fmt.Sprintf("%s of %s minutes", minutes(max(t, 0)), minutes(limits.Time)))
	case t != 0:
		parts = append(parts, minutes(max(t, 0))+" minutes")
	}
	if parts == nil {
		return "money and time are not limited"
	}
	return strings.Join(parts, " and ") + " are left"
}

// short reports whether no further iteration is possible: no critical writer fits the rest
// of money and time. Then it is a warning.
func (r *run) short(c *orchestrator.Context) bool {
	room, code, message := r.room(c), "budget", r.left(c)+": too little for another plan"
	affordable := func(w Worker) bool { return w.writes() && !exceeds(w.EstCost, room.Cost) }
	quick := func(w Worker) bool { return w.writes() && !exceeds(w.EstTime, room.Time) }
	because := budgetUsed
	switch {
	case c.Left().Calls < 0:
		message = "no calls are left"
	case !slices.ContainsFunc(r.Workers, affordable):
	case !slices.ContainsFunc(r.Workers, quick):
		code, because = "time", timeUp
	default:
		return false
	}
	r.because = because
	r.warn(c, code, "", "%s", message)
	return true
}

// amount is money in USD with cents.
func amount(n providers.NanoUSD) string { return fmt.Sprintf("%.2f", dollars(n)) }

func dollars(n providers.NanoUSD) float64 { return float64(n) / float64(providers.USD) }

// minutes is a duration in minutes, with a tenth if it is not whole.
func minutes(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Minutes()), ".0")
}
