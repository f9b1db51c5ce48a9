package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Proxy forwards bytes between a server and its clients and simulates network failures.
// It is safe for concurrent use.
type Proxy struct {
	dir, server string
	listener    net.Listener
	loops       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	thaw   chan struct{} // closed: bytes pass
	delay  time.Duration
	closed bool
}

// NewProxy starts a proxy for s, which may stop and start again.
func (s *Server) NewProxy() (*Proxy, error) {
	dir, err := os.MkdirTemp("", "pgproxy")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, filepath.Base(s.Socket())))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: %w", err), os.RemoveAll(dir))
	}
	p := &Proxy{dir: dir, server: s.Socket(), listener: listener, conns: map[net.Conn]bool{}, thaw: make(chan struct{})}
	close(p.thaw)
	p.loops.Go(p.accept)
	return p, nil
}

// DSN is the address of the server through the proxy.
func (p *Proxy) DSN() string { return "host=" + p.dir + " port=5432 user=postgres dbname=postgres" }

// Delay delays all bytes from now on by d, each way.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Freeze holds all bytes, without closing a connection, until Thaw: a cut cable.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
		p.thaw = make(chan struct{})
	default:
	}
}

// Thaw forwards what Freeze held.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
	default:
		close(p.thaw)
	}
}

// Drop closes all connections; new ones can be made.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Close ends the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Thaw()
	p.Drop()
	p.loops.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.add(client, server) {
			return
		}
		p.loops.Go(func() { p.pass(client, server) })
		p.loops.Go(func() { p.pass(server, client) })
	}
}

func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closed
}

// pass forwards what from sends, and at its end closes both.
func (p *Proxy) pass(from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.hold()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{from, to} {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// hold waits as Delay and Freeze demand.
func (p *Proxy) hold() {
	p.mu.Lock()
	delay, thaw := p.delay, p.thaw
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	<-thaw
}
