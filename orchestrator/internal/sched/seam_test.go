package sched_test

// goroutines is a coroutine made of a goroutine and channels, with the contract of
// engine.Pull but for Goexit, which stays in body's goroutine. Engines with
// goroutines of their own look like this.
func goroutines(body func(yield func() bool)) (resume func() bool, stop func()) {
	c := &goroutine{in: make(chan bool), out: make(chan bool), body: body}
	return c.resume, c.stop
}

type goroutine struct {
	body    func(yield func() bool)
	in, out chan bool // in: continue (true) or unwind; out: yielded (true) or ended
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
