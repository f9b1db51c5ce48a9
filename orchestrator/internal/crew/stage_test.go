package crew_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/crew"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/providers"
)

// stage is a Crew with one agent, whose calls do what their tests say.
type stage struct {
	*crew.Crew
	pool  jobs.Pool
	party crew.Party // of all calls, unless they say otherwise
	calls []*client  // by Info.N

	mu     sync.Mutex
	inside int     // calls that are inside the agent, left behind or not
	begun  []int64 // calls that have begun, in that order
}

// The prompts of calls say how the agent takes them.
const (
	obedient = "obedient" // it returns when it may, or when its context is done
	deaf     = "deaf"     // it returns only when it may
)

// client is the Client of one call. It keeps what it is told.
type client struct {
	crew.Call
	s      *stage
	refuse bool          // the agent is not to be called
	may    chan struct{} // closed when the agent may return
	finish func() error  // what the agent does then; nil: nothing
	next   jobs.Job      // what follows for the goroutine that tells of an end

	heed func(what string) // it is called with what the client is told; nil: nothing is

	told []string     // under s.mu
	left *agent.Error // under s.mu
}

// newStage returns a stage with that many places.
func newStage(places int) *stage {
	s := &stage{}
	s.Crew = crew.New(crew.Config{Agents: agent.Roster{"ann": agent.Func(s.answer)}, Parallel: places, Pool: &s.pool})
	return s
}

// answer is the agent.
func (s *stage) answer(ctx context.Context, req agent.Request) (resp agent.Response, err error) {
	c := s.calls[agent.InfoFrom(ctx).N]
	s.count(1)
	defer s.count(-1)
	resp.Usage = providers.Usage{Calls: 7}
	if req.Prompt == deaf {
		<-c.may
	} else {
		select {
		case <-c.may:
		case <-ctx.Done():
			return resp, ctx.Err()
		}
	}
	if c.finish != nil {
		err = c.finish()
	}
	return resp, err
}

func (s *stage) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside += n
}

// call makes a call that is not started yet.
func (s *stage) call(prompt string, limits agent.Limits) *client {
	c := &client{s: s, may: make(chan struct{})}
	c.Client, c.Party = c, &s.party
	c.Info = agent.Info{Agent: "ann", N: int64(len(s.calls))}
	c.Request = &agent.Request{Prompt: prompt, Limits: limits}
	s.calls = append(s.calls, c)
	return c
}

// start starts calls, one behind the other, and waits until nothing happens any more.
func (s *stage) start(calls ...*client) {
	for _, c := range calls {
		if s.Start(&c.Call) {
			s.pool.Do(&c.Call)
		}
		synctest.Wait()
	}
}

// open starts n calls without limits.
func (s *stage) open(n int, prompt string) (calls []*client) {
	for range n {
		c := s.call(prompt, agent.Limits{})
		s.start(c)
		calls = append(calls, c)
	}
	return calls
}

// end lets the agents of calls return.
func (s *stage) end(calls ...*client) {
	for _, c := range calls {
		close(c.may)
		synctest.Wait()
	}
}

// cancel cancels calls together.
func (s *stage) cancel(calls ...*client) {
	cs := make([]*crew.Call, len(calls))
	for i, c := range calls {
		cs[i] = &c.Call
	}
	s.Cancel(cs...)
	synctest.Wait()
}

// order is the calls that have begun, in that order.
func (s *stage) order() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.begun)
}

// busy is how many calls are inside the agent.
func (s *stage) busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside
}

// isOver reports whether the pool can be closed: no counted goroutine is left.
func (s *stage) isOver(t *testing.T) bool {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.pool.Close()
	}()
	synctest.Wait()
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// Begin implements crew.Client.
func (c *client) Begin() bool {
	c.tell("begin")
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.begun = append(c.s.begun, c.Info.N)
	return !c.refuse
}

// Done implements crew.Client.
func (c *client) Done(called bool) jobs.Job {
	return c.tell(map[bool]string{true: "done", false: "not called"}[called])
}

// Left implements crew.Client.
func (c *client) Left(err *agent.Error) jobs.Job {
	c.s.mu.Lock()
	c.left = err
	c.s.mu.Unlock()
	return c.tell("left")
}

// Late implements crew.Client.
func (c *client) Late() jobs.Job { return c.tell("late") }

func (c *client) tell(what string) jobs.Job {
	if c.heed != nil {
		c.heed(what)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.told = append(c.told, what)
	return c.next
}

// heard is what the client was told so far.
func (c *client) heard() []string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return append([]string{}, c.told...)
}

// pass lets time pass in a bubble, and what happens at its end.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// heardAt requires that c hears what it is told last d from now, and not a moment
// before.
func heardAt(t *testing.T, c *client, d time.Duration, told ...string) {
	t.Helper()
	pass(d - 1)
	require.Equal(t, told[:len(told)-1], c.heard(), "a moment before")
	pass(1)
	require.Equal(t, told, c.heard())
}

// exits ends the goroutine of an agent.
func exits() error {
	runtime.Goexit()
	return nil
}

// isLeft requires that c failed because its agent was left behind, after why.
func isLeft(t *testing.T, c *client, why error) {
	t.Helper()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	require.NotNil(t, c.left)
	require.ErrorIs(t, c.left, engine.ErrLeft)
	require.ErrorIs(t, c.left, why)
	require.ErrorContains(t, c.left, `agent "ann" did not return within `+c.Grace().String())
}
