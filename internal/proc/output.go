package proc

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// Output is what a program wrote to stdout or to stderr.
type Output struct {
	Head string // all of it, or its beginning
	Tail string // its end, if something between was cut
	Cut  int64  // bytes cut between Head and Tail
}

// String is the output with a line that says what was cut.
func (o Output) String() string {
	if o.Cut == 0 {
		return o.Head
	}
	return fmt.Sprintf("%s\n[cut: %d bytes]\n%s", o.Head, o.Cut, o.Tail)
}

// capture keeps the beginning and the end of what is written to it. It accepts all
// writes, and stops the program when there are too many bytes.
type capture struct {
	half  int
	flood int64
	stop  context.CancelCauseFunc

	mu     sync.Mutex
	head   []byte // at most half bytes
	ring   []byte // the last half bytes of what came behind head
	behind int64  // bytes behind head
}

func newCapture(c Command, stop context.CancelCauseFunc) *capture {
	half := max(1, cmp.Or(c.Output, DefaultOutput)/2)
	return &capture{half: half, flood: cmp.Or(c.Flood, DefaultFlood), stop: stop}
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	first := min(n, c.half-len(c.head))
	c.head = append(c.head, p[:first]...)
	p = p[first:]
	if len(p) > 0 && c.ring == nil {
		c.ring = make([]byte, c.half)
	}
	if skip := len(p) - c.half; skip > 0 {
		c.behind += int64(skip)
		p = p[skip:]
	}
	for len(p) > 0 {
		k := copy(c.ring[c.behind%int64(c.half):], p)
		c.behind += int64(k)
		p = p[k:]
	}
	if int64(len(c.head))+c.behind > c.flood {
		c.stop(&limitError{Flooded, fmt.Sprintf("killed after it wrote more than %d bytes", c.flood)})
	}
	return n, nil
}

// output returns what was kept.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.behind <= int64(c.half) {
		return Output{Head: string(c.head) + string(c.ring[:c.behind])}
	}
	at := c.behind % int64(c.half)
	return Output{
		Head: string(c.head),
		Tail: string(c.ring[at:]) + string(c.ring[:at]),
		Cut:  c.behind - int64(c.half),
	}
}
