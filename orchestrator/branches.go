package orchestrator

import (
	"errors"
	"strconv"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

// Result is what became of one branch.
type Result[T any] struct {
	Key   string // key given to Queue.Go; Map: the item's index
	Value T      // value that the branch returned, also beside an error
	Err   error  // error that it returned, or nil
}

// Values returns the values of rs, and their errors joined.
func Values[T any](rs []Result[T]) ([]T, error) {
	values := make([]T, len(rs))
	errs := make([]error, len(rs))
	for i, r := range rs {
		values[i], errs[i] = r.Value, r.Err
	}
	return values, errors.Join(errs...)
}

// Map runs f for every item, each in a branch of its own, at most limit at once
// (0: all), and waits for all. Results are in item order. One failure stops no
// other; for that, use a Queue. After a cancel no branch starts: its result is the
// error.
func Map[I, O any](c *Context, items []I, limit int, f func(c *Context, item I) (O, error)) []Result[O] {
	out := make([]Result[O], len(items))
	for i := range out {
		out[i] = Result[O]{Key: strconv.Itoa(i), Err: c.Err()}
	}
	if c.branch.Check() != nil {
		return out
	}
	g := c.branch.Group()
	for i := range items {
		for limit > 0 && g.Running() >= limit {
			g.Next()
		}
		if out[i].Err = c.Err(); out[i].Err == nil {
			g.Go(c.use, func(b *sched.Branch) { out[i].Value, out[i].Err = f(c.in(b), items[i]) })
		}
	}
	for {
		if _, ok := g.Next(); !ok {
			return out
		}
	}
}

// in is c for a branch that it started.
func (c *Context) in(b *sched.Branch) *Context {
	return &Context{branch: b, use: c.use, run: c.run, mute: c.mute}
}

// Queue starts branches and hands out what they return in the order in which
// they finish, which is recorded. Only the branch that made it may use it.
type Queue[T any] struct {
	c  *Context
	g  *sched.Group
	rs []Result[T] // results, by index of the branch
}

// NewQueue returns an empty queue.
func NewQueue[T any](c *Context) *Queue[T] {
	q := &Queue[T]{c: c}
	if c.branch.Check() == nil {
		q.g = c.branch.Group()
	}
	return q
}

// Go starts a branch. Keys need not be unique.
func (q *Queue[T]) Go(key string, f func(c *Context) (T, error)) {
	if q.c.branch.Check() != nil {
		return
	}
	i := len(q.rs)
	q.rs = append(q.rs, Result[T]{Key: key})
	q.g.Go(q.c.use, func(b *sched.Branch) {
		v, err := f(q.c.in(b))
		q.rs[i].Value, q.rs[i].Err = v, err
	})
}

// Next waits for the next branch to finish; false: none is left.
func (q *Queue[T]) Next() (Result[T], bool) {
	if err := q.c.branch.Check(); err != nil {
		return Result[T]{Err: err}, false
	}
	i, ok := q.g.Next()
	if !ok {
		return Result[T]{}, false
	}
	r := q.rs[i]
	q.rs[i] = Result[T]{Key: r.Key}
	return r, true
}

// Len is how many branches are running or not yet handed out.
func (q *Queue[T]) Len() int {
	if q.c.branch.Check() != nil {
		return 0
	}
	return q.g.Len()
}

// Cancel cancels the branches of key; Next still hands them out.
func (q *Queue[T]) Cancel(key string) { q.cancel(func(k string) bool { return k == key }) }

// CancelAll cancels all of them.
func (q *Queue[T]) CancelAll() { q.cancel(func(string) bool { return true }) }

func (q *Queue[T]) cancel(chosen func(key string) bool) {
	if q.c.branch.Check() != nil {
		return
	}
	for i := range q.rs {
		if chosen(q.rs[i].Key) {
			q.g.Cancel(i, errBranchCanceled)
		}
	}
}

var errBranchCanceled = &agent.Error{Message: "the flow canceled this branch", Codes: []agent.Code{ErrCanceled, engine.ErrOver}}
