package sqlite

import (
	"errors"
	"sync"
)

// maxIdle is how many connections a pool keeps for later.
const maxIdle = 4

// pool lends connections for reading.
type pool struct {
	open func() (*conn, error)
	mu   sync.Mutex
	idle []*conn
}

// with calls f with a connection. One that saw an error is not used again.
func (p *pool) with(f func(*conn) error) error {
	c, err := p.take()
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		return errors.Join(err, c.close())
	}
	return p.put(c)
}

func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	return p.open()
}

func (p *pool) put(c *conn) error {
	p.mu.Lock()
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, c)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return c.close()
}

// close closes the idle connections; none is lent any more.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, c := range p.idle {
		errs = append(errs, c.close())
	}
	p.idle = nil
	return errors.Join(errs...)
}
