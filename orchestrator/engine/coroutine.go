package engine

import "iter"

// Pull is the coroutine of package iter. resume runs body until it yields (true)
// or ends (false); stop makes the yield that body is blocked in return false,
// and returns when body has ended. body must then end by runtime.Goexit, which
// stop passes on to its caller.
func Pull(body func(yield func() bool)) (resume func() bool, stop func()) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		body(func() bool { return yield(struct{}{}) })
	})
	return func() bool { _, alive := next(); return alive }, stop
}

// Goroutines is a coroutine made of a goroutine and channels: slower than Pull,
// with the same contract but for Goexit, which stays in body's goroutine. It is
// what engines with goroutines of their own can compare themselves with.
func Goroutines(body func(yield func() bool)) (resume func() bool, stop func()) {
	c := &goroutine{in: make(chan bool), out: make(chan bool), body: body}
	return c.resume, c.stop
}

type goroutine struct {
	body    func(yield func() bool)
	in, out chan bool // in: go on (true) or unwind; out: yielded (true) or ended
	begun   bool
	ended   bool
}

func (c *goroutine) resume() bool {
	if c.ended {
		return false
	}
	if !c.begun {
		c.begun = true
		go c.run() // ended by run's body, or by stop
	} else {
		c.in <- true
	}
	alive := <-c.out
	c.ended = !alive
	return alive
}

func (c *goroutine) run() {
	defer func() { c.out <- false }()
	c.body(func() bool {
		c.out <- true
		return <-c.in
	})
}

func (c *goroutine) stop() {
	if !c.begun || c.ended {
		c.ended = true
		return
	}
	c.in <- false
	for <-c.out { // a deferred function of body that yields again
		c.in <- false
	}
	c.ended = true
}
