package engine

import (
	"sync"
	"time"
)

// Clock is the time of a run. It follows from the log: its time is that of the last record
// that the flow saw. Beside it, Clock gives records their times, so that the run's time
// never stands still.
//
// The idea: the first time that a process asks for is its own wall time, or that of the
// log where the log is ahead, as after a clock that was wrong or set back. From then on
// the run's time moves with the monotonic clock. It follows the wall clock only forward.
// So no wait and no budget depends on how far clocks are apart.
//
// The zero value is the Clock of a run that has no record. It is safe for concurrent use,
// and must not be copied.
type Clock struct {
	mu     sync.Mutex
	now    time.Time     // time of the last record that the flow saw
	worked time.Duration // how long processes worked on the run by then

	read time.Time // reading of this process's clock, with its monotonic part; zero: none yet
	run  time.Time // the run's time at that reading
}

// Tick moves the clock to the next record.
func (c *Clock) Tick(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) { // else the log was written with a clock that was set back
		c.worked += at.Sub(c.now)
		c.now = at
	}
}

// Skip moves the clock over a time in which no process worked on the run: to its
// start, and to each Resumed record.
func (c *Clock) Skip(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) {
		c.now = at
	}
}

// Now returns the time of the last record that the flow saw, and how long the run had been
// worked on by then.
func (c *Clock) Now() (now time.Time, worked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, c.worked
}

// When returns the time at which the run will have been worked on for so long.
func (c *Clock) When(worked time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Add(worked - c.worked)
}

// At returns the run's time at t, which is a result of [time.Now] in this process: records
// have it. The first call for a run that is resumed comes behind its last record.
func (c *Clock) At(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, run := t.Round(0).UTC(), c.now // Round takes the monotonic part away
	if !c.read.IsZero() {
		run = c.run.Add(t.Sub(c.read))
	}
	if at.Before(run) {
		at = run
	}
	c.read, c.run = t, at
	return at
}

// Left returns how much is left of a wait until a time of the run; 0: it is over. A wait
// that has just begun has its whole length left. For one that began in another process it
// is the length less the wall time since then, and never more than the length.
func (c *Clock) Left(until time.Time) time.Duration { return max(until.Sub(c.At(time.Now())), 0) }
