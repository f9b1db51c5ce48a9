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
