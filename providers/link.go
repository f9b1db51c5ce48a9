package providers

import "context"

// link is one model of a chain.
type link struct {
	model Model
	cool  *coolDown // shared by all links to the same service's model
	gate  *gate     // shared by all links to the same provider; nil: there is no limit
}

// enter waits for a place at the provider, and returns a pass. It returns nil when the
// model cools down, or begins to, as [coolDown.enter] does, or when ctx is done.
func (l *link) enter(ctx context.Context) (p *pass, busy <-chan struct{}) {
	for ctx.Err() == nil {
		p, busy = l.cool.enter()
		if p == nil || l.gate == nil || l.queue(ctx, p) {
			return p, busy
		}
		p.end(Canceled)
	}
	return nil, nil
}

// queue waits at the gate. It is false when ctx is done, or when the model begins to cool
// down: then the caller should use the next model instead of waiting.
func (l *link) queue(ctx context.Context, p *pass) bool {
	ctx, leave := l.cool.line(ctx, p)
	defer leave()
	if l.gate.enter(ctx) != nil {
		return false
	}
	if ctx.Err() != nil { // just now
		l.gate.leave()
		return false
	}
	return true
}

// ask makes the call that p was given for.
func (l *link) ask(ctx context.Context, req Request, p *pass) (resp Response, err error) {
	err = Canceled // in case of a panic
	defer func() {
		p.end(err) // first, so that waiting callers see the result
		if l.gate != nil {
			l.gate.leave()
		}
	}()
	return l.model.Generate(ctx, req)
}
