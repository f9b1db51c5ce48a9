package engine

import "time"

// Clock is the time of a run, which follows from its log: the time of the last
// record that the flow saw, and for how long the run has been worked on.
type Clock struct {
	now, last time.Time
	worked    time.Duration
}

// Tick moves the clock to the next record.
func (c *Clock) Tick(at time.Time) {
	last := c.last
	c.Skip(at)
	c.worked += c.last.Sub(last)
}

// Skip moves the clock over a time in which no process worked on the run: to its
// start, and to each Resumed record.
func (c *Clock) Skip(at time.Time) {
	if at.Before(c.now) {
		at = c.now // clocks may be set back
	}
	c.now, c.last = at, at
}

// Now is the run's time, and how long it has been worked on.
func (c *Clock) Now() (now time.Time, worked time.Duration) { return c.now, c.worked }

// When is the time at which the run will have been worked on for so long.
func (c *Clock) When(worked time.Duration) time.Time { return c.last.Add(worked - c.worked) }
