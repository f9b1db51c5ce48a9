// Package mcp makes tools for agents of MCP servers (Model Context Protocol):
// programs on this machine, or services on the network.
//
//	server, err := mcp.Open(ctx, mcp.Command{Args: []string{"acme-mcp"}})
//	…
//	defer server.Close()
//	tools, err := server.Tools(ctx, mcp.Choice{Prefix: "acme_"})
//	…
//	coder := agent.LLM{Model: model, Tools: tools}
//
// A server writes what models read: the names and descriptions of its tools and
// their results. Open only servers that you trust with your agents' conversations,
// and select among their tools.
//
// The package reads no environment variables, neither for a server's environment
// nor for proxies.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/internal/redact"
)

// MaxMessage is how long one message of a server may be, in bytes. A longer one
// ends the connection.
const MaxMessage = 16 << 20

// ErrGone says that the connection to a server ended before a tool's result came: it is
// unknown whether the tool did its work. The next call makes a new connection.
const ErrGone = agent.Code("mcp/gone")

// grace is how long a server may take to end by itself, and a call to end after its context.
const grace = 2 * time.Second

// Server is a connection to an MCP server, which reconnects when it has ended. It is safe
// for concurrent use.
type Server struct {
	dial   func(ctx context.Context) (sdk.Transport, error)
	redact redact.Redactor
	client *sdk.Client
	steps  steps

	close   sync.Once
	closing chan struct{}  // closed by Close
	turn    chan struct{}  // holds a token: its holder may use live
	live    *link          // nil: none yet
	running sync.WaitGroup // goroutines
}

// link is one connection.
type link struct {
	*kept
	session *sdk.ClientSession
	ended   atomic.Bool // or it is about to
}

// Open connects to a server. ctx is only for the connecting: the connection lasts until
// Close. If the server cannot be reached, now or at a reconnect, the error is transient
// (agent.Transient).
func Open(ctx context.Context, d Dialer) (*Server, error) {
	if d == nil {
		return nil, errors.New("mcp: the Dialer is nil")
	}
	s := &Server{dial: d.Dial, closing: make(chan struct{}), turn: make(chan struct{}, 1)}
	if k, ok := d.(interface{ redactor() redact.Redactor }); ok {
		s.redact = k.redactor()
	}
	s.client = sdk.NewClient(&sdk.Implementation{Name: "convene", Version: "1"}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{}, // none: the server may ask for nothing
		ProgressNotificationHandler: s.steps.tell,
	})
	s.turn <- struct{}{}
	if _, err := s.connected(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the connection, and the server if it is a program. Running calls get two
// seconds to end, and so does the program, before it is told to terminate, and again
// before it is killed. When Close returns, nothing runs any more.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closing) })
	<-s.turn
	live := s.live
	s.turn <- struct{}{}
	var err error
	if live != nil {
		err = live.close()
	}
	s.running.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited { // the exit code of a program does not matter
		return errors.New("mcp: close the connection: " + s.redact.Clean(err.Error()))
	}
	return nil
}

var errClosed = errors.New("mcp: the server is closed")

func (s *Server) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// connected returns the connection, a new one if it has ended.
func (s *Server) connected(ctx context.Context) (*link, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("mcp: connect: %w", ctx.Err())
	}
	defer func() { s.turn <- struct{}{} }()
	if s.closed() {
		return nil, errClosed
	}
	if s.live != nil && !s.live.ended.Load() {
		return s.live, nil
	}
	l, err := s.connect(ctx)
	switch {
	case err == nil:
	case s.closed():
		return nil, errClosed
	case ctx.Err() != nil:
		return nil, fmt.Errorf("mcp: connect: %w", ctx.Err())
	default:
		return nil, agent.Transient(errors.New("mcp: connect: "+s.redact.Clean(err.Error())), 0)
	}
	s.live = l
	s.running.Go(func() {
		_ = l.session.Wait() // running calls report why it ended
		l.ended.Store(true)
		_ = l.session.Close() // ends the program, if it is one
	})
	return l, nil
}

// connect makes a connection, unless ctx is done first or the server closed.
func (s *Server) connect(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.running.Go(func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	t, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	k := &kept{Transport: t}
	stop := context.AfterFunc(ctx, k.cut)
	session, err := s.client.Connect(ctx, k, nil)
	if !stop() || err != nil {
		k.cut()
		return nil, errors.Join(err, ctx.Err())
	}
	return &link{kept: k, session: session}, nil
}

// close ends l when its running calls have ended, or else cuts it.
func (l *link) close() error {
	timer := time.AfterFunc(grace, l.cut)
	defer timer.Stop()
	return l.session.Close()
}

// cutIfStuck cuts l if the call of ctx still runs some time after ctx is done, such as in
// a write to a program that does not read. The returned function ends the watch.
func (l *link) cutIfStuck(ctx context.Context) (returned func()) {
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			l.ended.Store(true)
			l.cut()
		}
	})
	return func() {
		close(over)
		stop()
	}
}

// kept is a transport that keeps a reference to its connection.
type kept struct {
	sdk.Transport
	mu   sync.Mutex
	conn sdk.Connection
}

// Connect implements sdk.Transport.
func (k *kept) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := k.Transport.Connect(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn = conn
	return conn, err
}

// cut closes the connection, without waiting for running calls.
func (k *kept) cut() {
	k.mu.Lock()
	conn := k.conn
	k.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // its error does not matter any more
	}
}
