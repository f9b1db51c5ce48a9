package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	// requestLimit is how long a request whose context has no deadline waits.
	requestLimit = time.Minute

	// checkOwner is how often a waiting request checks that the engine's session is alive.
	checkOwner = 500 * time.Millisecond
)

// Each session listens to a channel of its own, named after its lock. A message is split
// into notifications of one transaction, so that they arrive together and in order.
const (
	notifySession = "SELECT pg_notify($1, part) FROM unnest($2::text[]) AS part"

	// selectSession is the lock of the engine's session, if it is held.
	selectSession = "SELECT lock FROM @owners o WHERE owner = $1 AND " + isHeld
)

// message is a request, or the reply to one. Its JSON is ASCII.
type message struct {
	ID     string        `json:"id"`
	From   int64         `json:"from,omitempty"`   // lock of the session that gets the reply; 0: this is a reply
	Owner  []byte        `json:"owner,omitempty"`  // the engine that a request is for
	Within time.Duration `json:"within,omitempty"` // how long the sender of a request waits for the reply
	Served bool          `json:"served,omitempty"` // an engine has served the request
	Data   []byte        `json:"data,omitempty"`
}

// parts are the notifications of m. Each has the number of those that follow, which makes
// it unique: Postgres drops equal ones.
func (m message) parts() (parts []string) {
	text, _ := json.Marshal(m) // never fails
	for n := len(text) / tellBytes; n >= 0; n-- {
		size := min(len(text), tellBytes)
		parts = append(parts, fmt.Sprintf("%d:%s", n, text[:size]))
		text = text[size:]
	}
	return parts
}

// messenger sends and receives the requests of this process.
type messenger struct {
	store   *Store
	partial strings.Builder // parts of the message being received; only the session uses it

	mu      sync.Mutex
	servers map[string]*server      // calls of Serve by the name of the engine
	waiting map[string]chan message // where replies go, by the ID of the request; each has room for one
}

// server is a call of Serve.
type server struct {
	ctx    context.Context //nolint:containedctx // the context of Serve
	handle func(ctx context.Context, data []byte) []byte
	work   sync.WaitGroup // calls of handle
}

// inbound is the channel of the session with that lock.
func (s *Store) inbound(lock int64) string { return fmt.Sprintf("%s_%x", s.channel(), lock) }

// Request implements [runlog.Messenger]. It waits a minute at most. If the engine
// dies or loses its session meanwhile, it returns ErrNoReply within a second; while the
// session of this process is lost, replies are lost.
func (s *Store) Request(ctx context.Context, owner string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	m := message{ID: rand.Text(), Owner: []byte(owner), Data: data}
	replied := s.messenger.await(m.ID)
	defer s.messenger.forget(m.ID)
	to, err := s.sessionOf(ctx, owner)
	if err == nil {
		err = s.do(ctx, "request", func(bound context.Context) (err error) {
			if m.From, err = s.session.held(bound); err == nil {
				deadline, _ := ctx.Deadline()
				m.Within = time.Until(deadline)
				err = s.messenger.send(bound, to, m)
			}
			return err
		})
	}
	check := time.NewTicker(checkOwner)
	defer check.Stop()
	for err == nil {
		select {
		case reply := <-replied:
			if !reply.Served {
				return nil, noReply(owner)
			}
			return reply.Data, nil
		case <-check.C:
			var now int64
			if now, err = s.sessionOf(ctx, owner); err == nil && now != to {
				err = noReply(owner)
			}
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.session.life.Done():
			err = s.enter(context.WithoutCancel(ctx))
		}
	}
	return nil, err
}

func noReply(owner string) error {
	return fmt.Errorf("postgres: request: %w: engine %q", runlog.ErrNoReply, owner)
}

// sessionOf returns the lock of the session of an engine.
func (s *Store) sessionOf(ctx context.Context, owner string) (lock int64, err error) {
	err = s.query(ctx, func(row pgx.Rows) error { return row.Scan(&lock) }, s.sql.of(selectSession), toText(owner))
	if err == nil && lock == 0 {
		err = noReply(owner)
	}
	return lock, err
}

func (x *messenger) await(id string) <-chan message {
	x.mu.Lock()
	defer x.mu.Unlock()
	replied := make(chan message, 1)
	x.waiting[id] = replied
	return replied
}

func (x *messenger) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.waiting, id)
}

// Serve implements [runlog.Messenger].
func (s *Store) Serve(ctx context.Context, owner string, handle func(ctx context.Context, data []byte) []byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.session.start()
	s.life.RUnlock() // Close does not wait for it
	serving, stop := context.WithCancel(ctx)
	x, srv := &s.messenger, &server{ctx: serving, handle: handle}
	x.mu.Lock()
	x.servers[owner] = srv
	x.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-s.session.life.Done():
	}
	stop()
	x.mu.Lock()
	delete(x.servers, owner)
	x.mu.Unlock()
	srv.work.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.enter(context.WithoutCancel(ctx))
}

// receive handles a notification on the session's own channel.
func (x *messenger) receive(payload string) {
	left, text, _ := strings.Cut(payload, ":")
	x.partial.WriteString(text)
	if n, err := strconv.Atoi(left); err == nil && n > 0 {
		return
	}
	var m message
	err := json.Unmarshal([]byte(x.partial.String()), &m)
	x.partial.Reset()
	if err != nil {
		return // not from a store
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.From == 0 {
		if replied := x.waiting[m.ID]; replied != nil {
			delete(x.waiting, m.ID)
			replied <- m
		}
		return
	}
	if srv := x.servers[string(m.Owner)]; srv != nil {
		srv.work.Go(func() { x.reply(srv, m) })
		return
	}
	x.store.work.Go(func() { x.answer(m.From, message{ID: m.ID}) })
}

// reply runs the handler on a request. After the end of Serve it sends no reply.
func (x *messenger) reply(srv *server, m message) {
	ctx, cancel := context.WithTimeout(srv.ctx, m.Within)
	defer cancel()
	data := srv.handle(ctx, m.Data)
	reply := message{ID: m.ID}
	if srv.ctx.Err() == nil {
		reply.Served, reply.Data = true, data
	}
	x.answer(m.From, reply)
}

// answer sends a reply. If that fails, the request waits until its context is done.
func (x *messenger) answer(to int64, reply message) {
	ctx, cancel := x.store.bound(context.Background())
	defer cancel()
	_ = x.send(ctx, to, reply)
}

// send notifies the session with that lock.
func (x *messenger) send(ctx context.Context, to int64, m message) error {
	_, err := x.store.cfg.Pool.Exec(ctx, notifySession, x.store.inbound(to), m.parts())
	return err
}
